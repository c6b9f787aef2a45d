"""Read the words that the catalog is made of, from the TOML files in `words`."""

from __future__ import annotations

import hashlib
import string
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from shapes import Item, Leaf, Trait, Wish

__all__ = ["ROOTS", "SEED", "asin_of", "leaves", "placed_items", "pools", "trait", "wishes"]

SEED = 20

#: coarse category -> first part of its breadcrumbs
ROOTS = {
    "beauty": "Beauty & Care",
    "electronics": "Electronics & Gadgets",
    "garden": "House & Garden",
    "fashion": "Fashion",
    "grocery": "Grocery",
}

_WORDS = Path(__file__).parent / "words"
_LETTERS = string.digits + string.ascii_uppercase
#: where an attribute is looked up that its category says nothing of
_ORDER = ("any", "garden", "electronics", "beauty", "fashion", "grocery")


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((_WORDS / f"{name}.toml").read_text(encoding="utf-8"))


def leaves(category: str) -> list[Leaf]:
    """Return the leaves of a coarse category."""
    return [Leaf(**record) for record in _read(f"leaves_{category}")["leaf"]]


def pools(kind: str) -> dict[str, list[str]]:
    """Return lists of words: "brands" and "extras" by category, "drawn" and "ordered" by name."""
    found: dict[str, list[str]] = _read("pools")[kind]
    return found


def trait(attribute: str, category: str) -> Trait:
    """Return what the catalog says of an attribute within a category."""
    for name in (category, *_ORDER):
        if attribute in _read(f"traits_{name}"):
            return Trait(**_read(f"traits_{name}")[attribute])
    raise KeyError(f"no trait {attribute!r} for {category}")


def wishes() -> list[Wish]:
    """Return the instructions in people's own words."""
    return [Wish(**record) for record in _read("people")["wish"]]


def placed_items() -> list[Item]:
    """Return the products written by hand; each says in `awkward.toml` what it is there for."""
    return [_placed(record) for record in _read("awkward")["product"]]


def _placed(record: dict[str, Any]) -> Item:
    return Item(
        asin=asin_of(f"{SEED}/awkward/{record['key']}"),
        category=record["category"],
        query=record["query"],
        crumb=(ROOTS[record["category"]], *record["crumb"].split(" > ")),
        name=record["name"],
        bullets=[f"{bullet} " for bullet in record["bullets"]],
        description=record["description"],
        pricing=record["pricing"],
        options=dict(record.get("options", {})),
        truths=tuple(record["attributes"]),
        attributes=tuple(record["attributes"]),
        wanted=tuple(record["wanted"]),
    )


def asin_of(key: str) -> str:
    """Return the id of a product: "M0" and eight letters or digits that follow from `key`."""
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
    letters = ""
    for _ in range(8):
        number, digit = divmod(number, 36)
        letters += _LETTERS[digit]
    return "M0" + letters
