"""The official files: where they lie, and products cleaned as the original cleans them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from os import PathLike
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument, SourceMissing
from agentenvs.webshop._stream import OnBytes, array
from agentenvs.webshop.records import Product

__all__ = [
    "LONGEST_ASIN",
    "NO_ATTRIBUTES",
    "OfficialFiles",
    "Rejected",
    "clean",
    "plain",
    "read_products",
]

#: what a product without a record in the attribute file has
NO_ATTRIBUTES = ("DUMMY_ATTR",)
#: a record with a longer asin makes no product
LONGEST_ASIN = 10
_NO_PRICE = 100.0
_PRODUCTS = "items_shuffle"
_ATTRIBUTES = "items_ins_v2"
_HUMAN = "items_human_ins"
_NOUNS = "nouns.json"
_NOT_A_PRICE = re.compile(r"[^\d.]")


@dataclass(frozen=True, slots=True)
class OfficialFiles:
    """The files that a catalog is made from.

    Attributes:
        products: JSON array of products.
        attributes: JSON object, asin -> attributes and instruction; without it no product
            has attributes and there are no synthetic goals.
        human: JSON object, asin -> instructions by people; without it there are no human goals.
        nouns: JSON object, asin -> nouns of the title, where somebody tagged them before.
    """

    products: Path
    attributes: Path | None = None
    human: Path | None = None
    nouns: Path | None = None

    @classmethod
    def find(cls, src: str | PathLike[str]) -> OfficialFiles:
        """Return the files in a folder, or those that belong to a products file.

        `items_shuffle_1000.json` goes with `items_ins_v2_1000.json` and
        `items_human_ins_1000.json`, or with those without `_1000` where they are missing. A
        `nouns.json` beside them gives the nouns.

        Raises:
            SourceMissing: there is no products file, or no attribute file beside it.
            BadArgument: a folder with several products files.
        """
        path = Path(os.path.abspath(Path(src).expanduser()))
        if path.is_dir():
            found = sorted(path.glob(f"{_PRODUCTS}*.json"))
            if not found:
                raise SourceMissing(f"Expected {_PRODUCTS}*.json in {path}, found none.")
            if len(found) > 1:
                listed = ", ".join(file.name for file in found)
                raise BadArgument(f"Expected one products file in {path}, found {listed}: name it.")
            path = found[0]
        if not path.is_file():
            raise SourceMissing(f"There is no file or folder {path}.")
        folder = path.parent
        kind = path.stem.removeprefix(_PRODUCTS)
        attributes = _first(folder, f"{_ATTRIBUTES}{kind}.json", f"{_ATTRIBUTES}.json")
        if attributes is None:
            raise SourceMissing(f"Expected {_ATTRIBUTES}{kind}.json beside {path}, found none.")
        human = _first(folder, f"{_HUMAN}{kind}.json", f"{_HUMAN}.json")
        return cls(path, attributes, human, _first(folder, _NOUNS))

    def named(self) -> dict[str, Path]:
        """Return the files that there are, by the name of their attribute here."""
        pairs = {
            "products": self.products,
            "attributes": self.attributes,
            "human": self.human,
            "nouns": self.nouns,
        }
        return {name: path for name, path in pairs.items() if path is not None}


def _first(folder: Path, *names: str) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that makes no product.

    Attributes:
        reason: why, one of few.
        asin: its asin where it has one, else its place in the file as "#17".
    """

    reason: str
    asin: str


def read_products(
    files: OfficialFiles, limit: int | None = None, on_bytes: OnBytes | None = None
) -> Iterator[Product | Rejected]:
    """Yield the products in the order of the file; `attributes` and `nouns` are left open.

    The rules are those of the original, which drops a record whose asin is "nan", longer than
    ten characters or seen before; a record that would make the original fail is rejected too.

    Args:
        files: where to read.
        limit: read only so many records, counted before any is dropped.
        on_bytes: told the number of bytes read so far, now and then.

    Raises:
        SourceMissing: the products file is gone.
        SourceError: it is truncated or no JSON array.
    """
    if limit is not None and limit < 1:
        raise BadArgument(f"Expected `limit` to be positive, got {limit}.")
    seen: set[str] = set()
    for place, record in enumerate(array(files.products, on_bytes)):
        if place == limit:
            return
        product = clean(record)
        if isinstance(product, str):
            asin = record.get("asin") if isinstance(record, dict) else None
            yield Rejected(product, asin[:40] if isinstance(asin, str) and asin else f"#{place}")
        elif product.asin in seen:
            yield Rejected("asin seen before", product.asin)
        else:
            seen.add(product.asin)
            yield product


def clean(record: object) -> Product | str:
    """Return the product that an official record describes, or why it describes none.

    Texts that are null are read as empty ones; a lone surrogate becomes U+FFFD.
    """
    try:
        return _clean(record)
    except _Unfit as problem:
        return problem.args[0] if problem.args else "unfit"


class _Unfit(Exception):
    """Raised inside this module when a record makes no product; says why."""


def _clean(record: object) -> Product:
    if not isinstance(record, dict):
        raise _Unfit("record is no object")
    asin = record.get("asin")
    if not isinstance(asin, str) or not asin:
        raise _Unfit("no asin")
    if asin == "nan" or len(asin) > LONGEST_ASIN:
        raise _Unfit("asin is 'nan' or longer than ten characters")
    if not asin.isprintable():
        raise _Unfit("asin with unprintable characters")
    query = record.get("query")
    if query is None:
        raise _Unfit("no query")
    bullets = record.get("small_description")
    if isinstance(bullets, str):
        bullets = [bullets]
    if bullets is not None and not isinstance(bullets, list):
        raise _Unfit("small_description is no list")
    prices, tag = _prices(record.get("pricing"))
    return Product(
        asin=asin,
        title=_text(record, "name"),
        description=_text(record, "full_description"),
        bullets=tuple(_str(bullet, "small_description") for bullet in bullets or ()),
        prices=prices,
        price_tag=tag,
        options=_options(record.get("customization_options")),
        attributes=NO_ATTRIBUTES,
        category=_text(record, "category"),
        query=_str(query, "query").lower().strip(),
        product_category=_text(record, "product_category"),
        image=_image(record.get("images")),
    )


def _text(record: Mapping[str, Any], key: str) -> str:
    if key not in record:
        raise _Unfit(f"no {key}")
    value = record[key]
    return "" if value is None else _str(value, key)


def _str(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise _Unfit(f"{key} is no text")
    return plain(value)


def plain(text: str) -> str:
    """Return `text` with U+FFFD in place of lone surrogates, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _prices(pricing: object) -> tuple[tuple[float, ...], str]:
    if not pricing:
        return (_NO_PRICE,), f"${_NO_PRICE}"
    if not isinstance(pricing, str):
        raise _Unfit("pricing is no text")
    pieces = pricing.split("$")[1:]
    if not pieces:
        raise _Unfit("pricing without $")
    try:
        prices = tuple(float(Decimal(_NOT_A_PRICE.sub("", piece))) for piece in pieces)
    except (InvalidOperation, OverflowError):
        raise _Unfit("pricing without a number") from None
    if not all(map(math.isfinite, prices)):
        raise _Unfit("pricing without a number")
    if len(prices) == 1:
        return prices, f"${prices[0]}"
    return prices[:2], f"${prices[0]} to ${prices[1]}"


def _image(images: object) -> str:
    if not isinstance(images, list) or not images:
        raise _Unfit("no image")
    return _str(images[0], "image")


def _options(groups: object) -> dict[str, tuple[str, ...]]:
    if not groups:
        return {}
    if not isinstance(groups, dict):
        raise _Unfit("customization_options is no object")
    options: dict[str, tuple[str, ...]] = {}
    for name, values in groups.items():
        if values is None:
            continue
        if not isinstance(values, list):
            raise _Unfit("option values are no list")
        options[_str(name, "option name").lower()] = tuple(_value(value) for value in values)
    return options


def _value(value: object) -> str:
    if not isinstance(value, dict):
        raise _Unfit("option value is no object")
    text = _str(value.get("value"), "option value")
    return text.strip().replace("/", " | ").lower()
