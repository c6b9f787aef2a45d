"""The passes that turn official files into the tables of a catalog."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from agentenvs.errors import BadArgument, SourceError
from agentenvs.sources import Progress
from agentenvs.webshop._record import card, encode, entry_of
from agentenvs.webshop._side import SideFile, attributes_of, human_wishes
from agentenvs.webshop._store import Blob, BlobWriter, load_array, write_array, write_groups
from agentenvs.webshop._stream import OnBytes
from agentenvs.webshop._units import (
    MAX_COMBINATIONS,
    combinations,
    human_units,
    synthetic_units,
    write_goals,
)
from agentenvs.webshop.goals import Wishes
from agentenvs.webshop.nouns import Tagger, given_nouns
from agentenvs.webshop.official import OfficialFiles, Rejected, read_products
from agentenvs.webshop.postings import contents, write_index
from agentenvs.webshop.records import Product

__all__ = ["Build"]

_BATCH = 512
_EXAMPLES = 5


class Build:
    """One compilation: the passes in turn, and what each leaves for the next.

    Memory holds small columns and tables; texts pass through a batch at a time.

    Args:
        files: what to read.
        folder: an empty folder to write to.
        tagger: finds the nouns of titles that `files.nouns` says nothing of.
        seed: of prices and price caps.
        limit: take only the first so many records.
        tell: told of the progress.
    """

    def __init__(
        self,
        files: OfficialFiles,
        folder: Path,
        tagger: Tagger,
        seed: int,
        limit: int | None,
        tell: Progress,
    ) -> None:
        self._files = files
        self._folder = folder
        self._given = given_nouns(files.nouns) if files.nouns is not None else {}
        self._tagger = tagger
        self._rng = random.Random(seed)
        self._limit = limit
        self._tell = tell
        self._asins: list[bytes] = []
        self._prices = array("d")
        self._ranged = array("b")
        self._groups: dict[str, dict[str, array[int]]] = {
            "category": {},
            "query": {},
            "attribute": {},
        }
        self._ids: dict[str, int] = {}
        self._synthetic: list[tuple[int, int, tuple[int, ...]]] = []
        self._human: list[tuple[int, int]] = []
        self._left_out: dict[str, dict[str, dict[str, Any]]] = {"rejected": {}, "unusable": {}}
        self._read = 0

    def run(self, scratch: Path) -> dict[str, Any]:
        """Write all tables and return counts, what was left out, and the index's metadata.

        Args:
            scratch: a folder to make and use meanwhile.
        """
        scratch.mkdir()
        self._products(scratch)
        if not self._asins:
            reasons = ", ".join(self._left_out["rejected"]) or "it is empty"
            raise SourceError(f"There is no product in {self._files.products} ({reasons}).")
        self._tables()
        drawn = self._rng.getstate()
        size = len(self._asins)
        self._tell(0, 0, "drawing goals")
        synthetic = synthetic_units(self._synthetic, self._prices, self._rng)
        self._rng.setstate(drawn)
        human = human_units(self._human, self._prices, self._rng)
        goals = {
            "synthetic": write_goals(self._folder, "synthetic", synthetic),
            "human": write_goals(self._folder, "human", human),
        }
        (self._folder / "index").mkdir()
        index = write_index(self._folder / "index", self._documents())
        return {
            "counts": {
                "records": self._read,
                "products": size,
                "ranged": sum(self._ranged),
                "synthetic_goals": goals["synthetic"],
                "synthetic_products": len(synthetic.rows),
                "human_goals": goals["human"],
            },
            **self._left_out,
            "index": index,
        }

    def _products(self, scratch: Path) -> None:
        with ExitStack() as stack:
            sides = {
                role: stack.enter_context(
                    SideFile(path, scratch / role, self._counter(path, f"reading {role}"))
                )
                for role, path in (
                    ("attributes", self._files.attributes),
                    ("human", self._files.human),
                )
            }
            records = stack.enter_context(BlobWriter(self._folder, "records"))
            cards = stack.enter_context(BlobWriter(self._folder, "cards"))
            products = self._accepted()
            while batch := list(islice(products, _BATCH)):
                for product, found in zip(batch, self._nouns(batch), strict=True):
                    self._take(product, found, sides, records, cards)

    def _accepted(self) -> Iterator[Product]:
        on_bytes = self._counter(self._files.products, "reading products")
        for item in read_products(self._files, self._limit, on_bytes):
            self._read += 1
            if isinstance(item, Rejected):
                self._leave_out("rejected", item.reason, item.asin)
            else:
                yield item

    def _nouns(self, products: list[Product]) -> Iterator[tuple[str, ...]]:
        names = [product.title for product in products if product.asin not in self._given]
        found = list(self._tagger.nouns(names))
        if len(found) != len(names):
            raise BadArgument(
                f"Expected the tagger {self._tagger.name!r} to give nouns for {len(names)} names, "
                f"got them for {len(found)}."
            )
        left = iter(found)
        for product in products:
            given = self._given.get(product.asin)
            yield next(left) if given is None else given

    def _take(
        self,
        product: Product,
        nouns: tuple[str, ...],
        sides: dict[str, SideFile],
        records: BlobWriter,
        cards: BlobWriter,
    ) -> None:
        row, asin = len(self._asins), product.asin

        def complain(reason: str) -> None:
            self._leave_out("unusable", reason, asin)

        attributes, synthetic = attributes_of(sides["attributes"].get(asin), complain)
        human = human_wishes(sides["human"].get(asin), complain)
        product = replace(product, attributes=attributes, nouns=nouns)
        self._asins.append(asin.encode())
        ranged = len(product.prices) == 2
        self._ranged.append(ranged)
        self._prices.append(self._rng.uniform(*product.prices) if ranged else product.prices[0])
        for group, keys in (
            ("category", (product.category,)),
            ("query", (product.query,)),
            ("attribute", dict.fromkeys(attributes)),
        ):
            for key in keys:
                self._groups[group].setdefault(key, array("i")).append(row)
        if synthetic is not None:
            count = combinations(product)
            if count > MAX_COMBINATIONS:
                complain(f"more than {MAX_COMBINATIONS} option combinations")
                count = 0
            ids = tuple(self._ids.setdefault(text, len(self._ids)) for text in synthetic.attributes)
            self._synthetic.append((row, count, ids))
        if human:
            self._human.append((row, len(human)))
        records.add(encode(product, Wishes(synthetic, human)))
        cards.add(card(product))

    def _tables(self) -> None:
        write_array(self._folder, "prices", self._prices, "<f8")
        write_array(self._folder, "ranged", self._ranged, "?")
        for name, groups in self._groups.items():
            write_groups(self._folder, name, groups)
        asins = np.array(self._asins)
        order = np.argsort(asins, kind="stable")
        write_array(self._folder, "asins", asins[order], asins.dtype.str)
        write_array(self._folder, "by_asin", order, "<i4")

    def _documents(self) -> Iterator[tuple[str, str]]:
        records = Blob(self._folder, "records")
        order = load_array(self._folder, "by_asin")
        for done, row in enumerate(order.tolist()):
            if done % _BATCH == 0:
                self._tell(done, len(order), "indexing products")
            product = entry_of(records[row])[0]
            yield product.asin, contents(product)

    def _leave_out(self, part: str, reason: str, asin: str) -> None:
        entry = self._left_out[part].setdefault(reason, {"count": 0, "asins": []})
        entry["count"] += 1
        if len(entry["asins"]) < _EXAMPLES:
            entry["asins"].append(asin)

    def _counter(self, path: Path | None, text: str) -> OnBytes:
        total = path.stat().st_size if path is not None else 0
        return lambda done: self._tell(done, total, text)
