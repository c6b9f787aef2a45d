"""A compiled catalog, opened by memory map and shared by everything that reads it."""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable, Mapping
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from agentenvs.errors import BadArgument, SourceError, SourceMismatch, SourceMissing
from agentenvs.tools import Shared
from agentenvs.webshop._record import Card, card_of, entry_of
from agentenvs.webshop._store import Blob, Groups, load_array
from agentenvs.webshop.bm25 import Index
from agentenvs.webshop.goals import Goals, Wishes
from agentenvs.webshop.kept import Kept
from agentenvs.webshop.nouns import Tagger, tagger_of
from agentenvs.webshop.official import LONGEST_ASIN
from agentenvs.webshop.records import GoalKind, Product

__all__ = ["FORMAT", "META", "VERSION", "Catalog", "read_meta"]


FORMAT = "agentenvs webshop catalog"
VERSION = 1
META = "meta.json"
_MAX_META = 16 << 20
_PRODUCTS_KEPT = 2048
_CARDS_KEPT = 16384
_ROWS_KEPT = 16384
_SEARCHES_KEPT = 1024
_LONGEST_KEPT = 1000


def read_meta(folder: Path) -> dict[str, Any]:
    """Return what a compiled catalog says of itself.

    Raises:
        SourceMissing: there is no such folder, or no compiled catalog in it.
        SourceError: it is damaged, foreign, or of another version of the format.
    """
    path = folder / META
    try:
        with open(path, "rb") as stream:
            text = stream.read(_MAX_META + 1)
        meta = json.loads(text) if len(text) <= _MAX_META else None
    except FileNotFoundError:
        raise SourceMissing(f"Expected a compiled catalog in {folder}, found none.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"Could not read {path}: {error}") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise SourceError(f"Expected {path} to describe a compiled catalog; it does not.")
    if meta.get("version") != VERSION:
        raise SourceError(
            f"Expected a catalog of format version {VERSION} in {folder}, got version "
            f"{meta.get('version')!r}: compile it again."
        )
    return meta


class Catalog(Shared):
    """Products, goals and search of one compiled folder; read-only, safe to read in threads.

    Rows are numbers from 0 in the order of the source. Copies and forks share one object;
    pickles hold the folder's path alone.

    Attributes:
        folder: where it lies.
        name: what task ids begin with.
        meta: sources with their sizes and hashes, counts, what was rejected, the tagger.
        digest: short hash of the sources and of all that compiling was told.
    """

    def __init__(self, folder: Path, meta: dict[str, Any]) -> None:
        self.folder = folder
        self.meta = meta
        try:
            self.name = str(meta["name"])
            self.digest = str(meta["digest"])
            self._length = int(meta["counts"]["products"])
            sizes = dict(meta["files"])
            index = dict(meta["index"])
            self._kind = str(meta["nouns"]["kind"])
            for name, size in sizes.items():
                _check_size(folder / name, size)
            self._index = Index.open(folder / "index", index)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise SourceError(f"{folder / META} is damaged: {error!r}") from error
        self._records = Blob(folder, "records")
        self._cards = Blob(folder, "cards")
        self._prices = load_array(folder, "prices")
        self._ranged = load_array(folder, "ranged")
        self._asins = load_array(folder, "asins")
        self._by_asin = load_array(folder, "by_asin")
        self._groups = {name: Groups(folder, name) for name in ("category", "query", "attribute")}
        columns = (self._prices, self._ranged, self._asins, self._by_asin)
        rows = {len(self._records), len(self._cards), *map(len, columns)}
        if {*rows, index["documents"]} != {self._length}:
            raise SourceError(
                f"{folder} is damaged: its tables are not of {self._length} products."
            )
        self._tagger: Tagger | None = None
        self._lock = threading.Lock()
        self._tagging = threading.Lock()
        self._kept: dict[Hashable, Kept[Any, Any]] = {}
        # Caches belong to the object, so that they go with it.
        self._entries = lru_cache(_PRODUCTS_KEPT)(self._read_entry)
        self._card = lru_cache(_CARDS_KEPT)(self._read_card)
        self._row = lru_cache(_ROWS_KEPT)(self._find_row)
        self._hits = lru_cache(_SEARCHES_KEPT)(self._search)
        self._goals: dict[GoalKind, Goals] = {
            "synthetic": Goals(folder, "synthetic", self),
            "human": Goals(folder, "human", self),
        }

    @classmethod
    def open(cls, folder: str | PathLike[str]) -> Catalog:
        """Open a compiled folder; nothing that grows with the catalog is read.

        Raises:
            SourceMissing: there is no compiled catalog.
            SourceError: it is damaged, foreign, or of another version of the format.
        """
        path = Path(folder).absolute()
        return cls(path, read_meta(path))

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (str(self.folder), self.digest)

    def __repr__(self) -> str:
        return f"<Catalog {self.name} {self.digest}: {len(self)} products>"

    def __len__(self) -> int:
        return self._length

    def row(self, asin: str) -> int:
        """Return the row of `asin`, -1 where there is no such product."""
        # Nothing longer is kept, so that long texts cannot fill the memory.
        return self._row(asin) if len(asin) <= LONGEST_ASIN else -1

    def asin(self, row: int) -> str:
        """Return the asin of a row."""
        return self.card(row)[0]

    def card(self, row: int) -> Card:
        """Return asin, title and price tag of a row: what a result page shows."""
        return self._card(self._checked(row))

    def product(self, row: int) -> Product:
        """Return the product of a row.

        Raises:
            BadArgument: there is no such row.
            SourceError: the record is damaged.
        """
        return self.entry(row)[0]

    def entry(self, row: int) -> tuple[Product, Wishes]:
        """Return the product of a row and what its record says about goals."""
        return self._entries(self._checked(row))

    def price(self, row: int, prices: Mapping[str, float] | None = None) -> float:
        """Return what buying the product costs, in dollars.

        Args:
            row: which product.
            prices: asin -> price; replaces the seeded draw of a product with a price range.
        """
        if prices is not None and self.price_range(row):
            given = prices.get(self.asin(row))
            if given is not None:
                return float(given)
        return float(self._prices[self._checked(row)])

    def price_range(self, row: int) -> bool:
        """Return whether the product has a price range, and its price was drawn from it."""
        return bool(self._ranged[self._checked(row)])

    def top(self, query: str, k: int) -> list[int]:
        """Return the rows of the `k` best hits, best first."""
        if len(query) > _LONGEST_KEPT:
            return list(self._search(query, k))
        return list(self._hits(query, k))

    def in_category(self, text: str) -> list[int]:
        """Return the rows of the products of a category."""
        return self._groups["category"].rows(text)

    def with_query(self, text: str) -> list[int]:
        """Return the rows of the products that were found under a leaf name."""
        return self._groups["query"].rows(text)

    def with_attribute(self, text: str) -> list[int]:
        """Return the rows of the products with an attribute."""
        return self._groups["attribute"].rows(text)

    def goals(self, kind: GoalKind) -> Goals:
        """Return the goals of one kind, in the shuffled order."""
        if kind not in self._goals:
            raise BadArgument(f"Expected `kind` to be 'synthetic' or 'human', got {kind!r}.")
        return self._goals[kind]

    def kept(self, what: Hashable) -> Kept[Any, Any]:
        """Return the cache of that name: for what is made of products and goes with them."""
        with self._lock:
            return self._kept.setdefault(what, Kept())

    @property
    def version(self) -> str:
        """The digest and how nouns were told apart, which the reward depends on."""
        return f"{self.digest}-{self._kind}"

    def nouns_of(self, name: str) -> tuple[str, ...]:
        """Return the nouns of a name that is not one of the catalog's titles.

        They are found as the catalog's were, if that tagger is installed; where the catalog
        was given its nouns, by the best tagger that is.
        """
        with self._tagging:
            if self._tagger is None:
                self._tagger = tagger_of("heuristic" if self._kind == "heuristic" else "auto")
            return next(iter(self._tagger.nouns([name])))

    def _checked(self, row: int) -> int:
        if not 0 <= row < self._length:
            raise BadArgument(f"Expected a row from 0 to {self._length - 1}, got {row}.")
        return row

    def _read_entry(self, row: int) -> tuple[Product, Wishes]:
        return entry_of(self._records[row])

    def _read_card(self, row: int) -> Card:
        return card_of(self._cards[row])

    def _find_row(self, asin: str) -> int:
        wanted = asin.encode("utf-8", "replace")
        # A longer key would make NumPy copy the table.
        if len(wanted) > self._asins.dtype.itemsize:
            return -1
        place = int(np.searchsorted(self._asins, np.array(wanted, dtype=self._asins.dtype)))
        if place == self._length or bytes(self._asins[place]) != wanted:
            return -1
        return int(self._by_asin[place])

    def _search(self, query: str, k: int) -> tuple[int, ...]:
        # One look into the mapped file costs less than one for each hit.
        return tuple(self._by_asin[self._index.top(query, k)].tolist())


def _check_size(path: Path, size: object) -> None:
    try:
        found = path.stat().st_size
    except OSError as error:
        raise SourceError(f"The catalog lacks a file: {error}") from error
    if found != size:
        raise SourceError(f"{path} is damaged: expected {size} bytes, got {found}.")


def _reopen(folder: str, digest: str) -> Catalog:
    catalog = Catalog.open(folder)
    if catalog.digest != digest:
        raise SourceMismatch(
            f"Expected the catalog {digest} in {folder}, got {catalog.digest}: it was replaced."
        )
    return catalog
