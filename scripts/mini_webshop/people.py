"""Check the instructions in people's own words and write them in the official format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shapes import Item, Wish
from stock import wishes

__all__ = ["human_records"]


def human_records(items: Sequence[Item]) -> dict[str, list[dict[str, Any]]]:
    """Return the instructions by asin, in the catalog's order.

    Raises:
        ValueError: one asks for a product, an attribute or a value that the shop lacks.
    """
    shop = {item.asin: item for item in items}
    records: dict[str, list[dict[str, Any]]] = {}
    for wish in wishes():
        if wish.asin not in shop:
            raise ValueError(f"no product {wish.asin}: {wish.text}")
        records.setdefault(wish.asin, []).append(_record(wish, shop[wish.asin]))
    return {item.asin: records[item.asin] for item in items if item.asin in records}


def _record(wish: Wish, item: Item) -> dict[str, Any]:
    offered = {
        f"{name.lower()}: {value.strip().replace('/', ' | ').lower()}"
        for name, values in item.options.items()
        for value in values or ()
    }
    if not set(wish.attributes) <= set(item.attributes):
        raise ValueError(f"{item.asin} has {item.attributes}, not all of {wish.attributes}")
    if not set(wish.options) <= offered:
        raise ValueError(f"{item.asin} offers {sorted(offered)}, not all of {wish.options}")
    return {
        "asin": item.asin,
        "instruction": wish.text,
        "attributes": list(item.attributes),
        "options": wish.options,
        "instruction_attributes": wish.attributes,
        "instruction_options": [option.split(": ", 1)[1] for option in wish.options],
    }
