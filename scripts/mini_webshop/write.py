"""Write products, attributes and instructions in the official format."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shapes import Item
from stock import SEED, asin_of, trait

__all__ = ["ins_record", "instruction", "product_record", "write_list", "write_map"]

_PICTURES = "https://mini.invalid/images/"


def product_record(item: Item) -> dict[str, Any]:
    """Return a product as it stands in an official products file."""
    rng = random.Random(f"{SEED}/{item.asin}/record")
    record: dict[str, Any] = {
        "name": item.name,
        "full_description": item.description,
        "pricing": item.pricing,
        "images": _pictures(item.asin, rng.choice((1, 2, 2, 3))),
        "product_category": " \u203a ".join(item.crumb),
        "average_rating": "" if rng.random() < 0.36 else round(rng.triangular(3.1, 5, 4.5), 1),
        "small_description": item.bullets,
        "customization_options": _options(item, rng) if item.options else "",
        "asin": item.asin,
        "category": item.category,
        "query": item.query,
        "page": rng.randrange(1, 60),
    }
    if rng.random() < 0.2:
        letters = "".join(rng.choice("BDFGKLMPRSTVXZ") for _ in range(2))
        record["model"] = f"\u200e{letters}-{rng.randrange(100, 9999)}"
    return record


def _pictures(key: str, count: int) -> list[str]:
    return [f"{_PICTURES}{asin_of(f'{key}/{n}')[2:]}.jpg" for n in range(count)]


def _options(item: Item, rng: random.Random) -> dict[str, list[dict[str, Any]] | None]:
    groups: dict[str, list[dict[str, Any]] | None] = {}
    for name, values in item.options.items():
        if values is None:
            groups[name] = None
            continue
        groups[name] = [
            _size(item, value, n, rng) if name == "Size" else _value(item, name, n, len(values))
            for n, value in enumerate(values)
        ]
    return groups


def _size(item: Item, value: str, number: int, rng: random.Random) -> dict[str, Any]:
    return {
        "is_selected": number == 0,
        "is_available": number == 0 or rng.random() < 0.85,
        "value": value,
        "asin": item.asin if number == 0 else asin_of(f"{item.asin}/{value}"),
    }


def _value(item: Item, name: str, number: int, count: int) -> dict[str, Any]:
    values = item.options[name] or []
    value = values[number]
    pictured = name in ("Color", "Style")
    price = _price(item.pricing, number / max(count - 1, 1))
    return {
        "is_selected": number == 0,
        "url": None if number == 0 else f"/dp/{asin_of(f'{item.asin}/{value}')}",
        "value": value,
        "price_string": f"${price:,.2f}" if price else "",
        "price": price,
        "image": f"{_PICTURES}{asin_of(f'{item.asin}/{value}/i')[2:]}.jpg" if pictured else None,
    }


def _price(pricing: str, place: float) -> float:
    """Return the price at a place from 0 to 1 within a range; 0 where there is none."""
    ends = [float(part.replace(",", "")) for part in pricing.replace(" - ", "").split("$")[1:]]
    return round(ends[0] + (ends[-1] - ends[0]) * place, 2) if ends else 0


def ins_record(item: Item) -> dict[str, Any]:
    """Return the attribute record of a product."""
    record: dict[str, Any] = {"attributes": list(item.attributes)}
    if item.wanted:
        record["instruction"] = instruction(item)
        record["instruction_attributes"] = list(item.wanted)
    return record


def instruction(item: Item) -> str:
    """Return "Find me A1, A2 QUERY with A3, A4 for A5" for the attributes that are asked for."""
    places: dict[str, list[str]] = {"is": [], "with": [], "for": []}
    for attribute in item.wanted:
        places[trait(attribute, item.category).place].append(attribute)
    text = "Find me " + ", ".join(places["is"])
    text = f"{text} {item.query}" if places["is"] else text + item.query
    for place in ("with", "for"):
        if places[place]:
            text += f" {place} {', '.join(places[place])}"
    return text


def write_list(path: Path, records: Sequence[Any]) -> None:
    """Write a JSON array, one record a line."""
    lines = ",\n".join(_line(record) for record in records)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8", newline="\n")


def write_map(path: Path, records: Mapping[str, Any]) -> None:
    """Write a JSON object, one record a line."""
    lines = ",\n".join(f"{_line(key)}: {_line(record)}" for key, record in records.items())
    path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8", newline="\n")


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)
