"""Compile official files into a folder that opens at once."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from agentenvs.errors import BadArgument, SourceError, SourceMissing
from agentenvs.sources import Progress
from agentenvs.webshop._record import card, encode, entry_of
from agentenvs.webshop._side import SideFile, attributes_of, human_wishes
from agentenvs.webshop._store import Blob, BlobWriter, write_array, write_groups
from agentenvs.webshop.catalog import FORMAT, META, VERSION, read_meta
from agentenvs.webshop.goals import (
    MAX_COMBINATIONS,
    Wishes,
    combinations,
    human_units,
    synthetic_units,
    write_goals,
)
from agentenvs.webshop.nouns import Tagger, given_nouns, heuristic_tagger, tagger_of
from agentenvs.webshop.official import OfficialFiles, Rejected, read_products
from agentenvs.webshop.postings import contents, write_index
from agentenvs.webshop.records import Product

__all__ = ["compile_catalog"]

_BATCH = 512
_EXAMPLES = 5
_CHUNK = 1 << 20
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_UNNAMEABLE = re.compile(r"[^a-z0-9._-]+")


def compile_catalog(
    src: str | PathLike[str] | OfficialFiles,
    dst: str | PathLike[str],
    *,
    name: str | None = None,
    seed: int = 0,
    nouns: str | Tagger = "auto",
    limit: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Compile official WebShop files into a catalog folder and return the folder.

    The folder appears whole or not at all. One that already holds the same catalog is left as
    it is, one that holds another is replaced, and any other folder is refused. Records that
    make no product are counted in `meta.json` by reason, with the first few asins.

    Args:
        src: a folder with official files, a products file, or the files by name.
        dst: the folder to write.
        name: what task ids begin with; by default made from the products file's name.
        seed: of the purchase prices of ranged products and of the price caps.
        nouns: "auto" takes the `nouns.json` beside the products where there is one, else spaCy
            where it is installed, else the heuristic; "spacy" and "heuristic" insist; or a
            tagger.
        limit: take only the first so many records, counted before any is dropped.
        progress: told of bytes read and of what is being done.

    Raises:
        BadArgument: an argument out of range, or a folder that is no catalog.
        SourceMissing: a file is missing.
        SourceError: a file is truncated or malformed, or there is no product in it.
    """
    files = src if isinstance(src, OfficialFiles) else OfficialFiles.find(src)
    if name is None:
        name = _UNNAMEABLE.sub("-", files.products.stem.lower()).strip("._-")[:100] or "catalog"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadArgument(f"Expected `name` to match {_NAME.pattern}, got {name!r}.")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise BadArgument(f"Expected `seed` to be an int, got {seed!r}.")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise BadArgument(f"Expected `limit` to be a positive int or None, got {limit!r}.")
    if not isinstance(nouns, str) and not hasattr(nouns, "nouns"):
        raise BadArgument(f"Expected `nouns` to be a str or a tagger, got {nouns!r}.")
    given = nouns == "auto" and files.nouns is not None
    if not given:
        files = OfficialFiles(files.products, files.attributes, files.human)
    tagger = nouns if not isinstance(nouns, str) else None if given else tagger_of(nouns)
    target = Path(dst).absolute()
    tell = progress or _silent
    sources = {role: _source(path, tell) for role, path in files.named().items()}
    kind = "given" if tagger is None else tagger.name.split()[0]
    settings = {
        "version": VERSION,
        "sources": {role: source["sha256"] for role, source in sources.items()},
        "seed": seed,
        "limit": limit,
        "nouns": "given" if tagger is None else tagger.name,
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    if _holds(target, digest, name):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        built = temporary / "catalog"
        built.mkdir()
        made = _Build(files, built, tagger, seed, limit, tell).run(temporary / "scratch")
        meta: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "name": name,
            "digest": digest,
            "sources": sources,
            "seed": seed,
            "limit": limit,
            "nouns": {"kind": kind, "tagger": settings["nouns"]},
            **made,
        }
        meta["files"] = {
            path.relative_to(built).as_posix(): path.stat().st_size
            for path in sorted(built.rglob("*"))
            if path.is_file()
        }
        (built / META).write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")
        _place(built, target, temporary, digest, name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _silent(done: int, total: int, text: str) -> None:
    pass


def _source(path: Path, tell: Progress) -> dict[str, Any]:
    digest = hashlib.sha256()
    try:
        size = path.stat().st_size
        with open(path, "rb") as stream:
            done = 0
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                done += len(chunk)
                tell(done, size, f"checking {path.name}")
    except FileNotFoundError:
        raise SourceMissing(f"There is no file {path}.") from None
    except OSError as error:
        raise SourceError(f"Could not read {path}: {error}") from error
    return {"file": path.name, "size": done, "sha256": digest.hexdigest()}


def _holds(target: Path, digest: str, name: str) -> bool:
    if not target.exists():
        return False
    if not target.is_dir():
        raise BadArgument(f"Expected {target} to be a folder or nothing yet, got a file.")
    if not any(target.iterdir()):
        return False
    try:
        meta = read_meta(target)
    except SourceMissing as error:
        raise BadArgument(
            f"{target} holds other things than a catalog and is left alone: name another folder."
        ) from error
    except SourceError:
        return False
    return bool(meta.get("digest") == digest and meta.get("name") == name)


def _place(built: Path, target: Path, temporary: Path, digest: str, name: str) -> None:
    try:
        if target.exists():
            os.replace(target, temporary / "old")
        os.replace(built, target)
    except OSError:
        # Another process may have placed the same catalog meanwhile.
        if not _holds(target, digest, name):
            raise


class _Build:
    """One compilation: the passes in turn, and what each leaves for the next."""

    def __init__(
        self,
        files: OfficialFiles,
        folder: Path,
        tagger: Tagger | None,
        seed: int,
        limit: int | None,
        tell: Progress,
    ) -> None:
        self._files = files
        self._folder = folder
        self._given = given_nouns(files.nouns) if files.nouns is not None else {}
        self._tagger = tagger or heuristic_tagger()
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
        order = np.load(self._folder / "by_asin.npy")
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

    def _counter(self, path: Path | None, text: str) -> Any:
        total = path.stat().st_size if path is not None else 0
        return lambda done: self._tell(done, total, text)
