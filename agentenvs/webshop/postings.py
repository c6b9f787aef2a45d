"""The search index on disk: how it is built, and how it is read where it lies.

Five NumPy files, opened by memory map. Terms are one blob of UTF-8 in byte order, found by
bisection. A posting is a document number and the saturation `1 + tf / norm` that BM25 divides
by, where `norm` holds the document's length as Lucene keeps it, in one byte: both are known
once the average length is, and a query then reads its postings front to back without looking
anything up by document.

A document's number is its rank by asin, so that equal scores are ordered by number.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument, SourceError
from agentenvs.webshop._store import load_array
from agentenvs.webshop.records import Product
from agentenvs.webshop.tokens import Memo, tokenize

__all__ = ["Postings", "contents", "quantized", "write_index"]

#: BM25's parameters, as the original sets them
K1 = np.float32(0.9)
B = np.float32(0.4)
#: beyond, the saturation of the longest document could round to 1 and hide a hit
MAX_DOCUMENTS = 1 << 24
#: postings held in memory before they are spilled
CHUNK = 1 << 21

FORMAT = 1
_FILES: dict[str, type[np.generic]] = {
    "terms": np.uint8,
    "term_ends": np.int64,
    "posting_ends": np.int64,
    "posting_docs": np.int32,
    "posting_saturations": np.float32,
}


def contents(product: Product) -> str:
    """Return the text that a product is found by.

    Its title, description, first bullet and options (`name: v1, v2, and name2: v1`), joined by
    single spaces and lower-cased.
    """
    options = ", and ".join(
        f"{name}: {', '.join(values)}" for name, values in product.options.items()
    )
    first = product.bullets[0] if product.bullets else ""
    return " ".join((product.title, product.description, first, options)).lower()


def quantized(length: int) -> int:
    """Return a document's length as Lucene's one byte keeps it.

    Exact below 40; above, the four leading bits of what exceeds 24 remain.
    """
    over = length - 24
    if over < 16:
        return length
    dropped = over.bit_length() - 4
    return 24 + (over >> dropped << dropped)


def write_index(folder: Path, docs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Build the index of `docs` in `folder`.

    Documents are read once and never held; postings are spilled to `folder` and inverted
    piece by piece, so that memory grows with the vocabulary alone.

    Args:
        folder: an existing folder.
        docs: (asin, text) in ascending order of asins.

    Returns:
        What `Index.open` wants to be told: counts, and the version of the layout.

    Raises:
        BadArgument: asins out of order or twice, or more than 16,777,216 documents.
    """
    with tempfile.TemporaryDirectory(prefix="spill-", dir=folder) as spill:
        gathered = _Gathered(Path(spill))
        gathered.read(docs)
        return gathered.invert(Path(folder))


class _Numbers(dict[str, int]):
    """Numbers of terms in order of first sight."""

    def __missing__(self, term: str) -> int:
        self[term] = number = len(self)
        return number


class _Gathered:
    """The postings by document, most of them spilled."""

    def __init__(self, spill: Path) -> None:
        self.spill = spill
        self.chunks = 0
        self.numbers = _Numbers()
        self.lengths = array("q")
        self._clear()

    def _clear(self) -> None:
        self.sizes, self.ids, self.counts = array("i"), array("i"), array("i")

    def read(self, docs: Iterable[tuple[str, str]]) -> None:
        memo = Memo(1 << 18)
        number = self.numbers.__getitem__
        last: str | None = None
        for asin, text in docs:
            if last is not None and asin <= last:
                raise BadArgument(
                    f"Expected documents in ascending order of asins, got {asin!r} after {last!r}."
                )
            last = asin
            if len(self.lengths) == MAX_DOCUMENTS:
                raise BadArgument(f"Expected at most {MAX_DOCUMENTS} documents, got more.")
            terms = tokenize(text, memo)
            tally = Counter(terms)
            self.lengths.append(len(terms))
            self.sizes.append(len(tally))
            self.ids.extend(map(number, tally))
            self.counts.extend(tally.values())
            if len(self.ids) >= CHUNK:
                self._spill()
        self._spill()

    def _spill(self) -> None:
        for name in ("sizes", "ids", "counts"):
            np.save(self._path(name, self.chunks), np.array(getattr(self, name), np.int32))
        self.chunks += 1
        self._clear()

    def _path(self, name: str, chunk: int) -> Path:
        return self.spill / f"{name}-{chunk}.npy"

    def _load(self, name: str) -> Iterator[NDArray[np.int32]]:
        for chunk in range(self.chunks):
            yield np.load(self._path(name, chunk))

    def invert(self, folder: Path) -> dict[str, Any]:
        terms = list(self.numbers)
        order = sorted(range(len(terms)), key=terms.__getitem__)
        rank = np.empty(len(terms), np.int64)
        rank[order] = np.arange(len(terms))
        frequencies = np.zeros(len(terms), np.int64)
        for ids in self._load("ids"):
            frequencies += np.bincount(rank[ids], minlength=len(terms))
        ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(frequencies)))
        _write_terms(folder, (terms[number].encode() for number in order), len(terms))
        np.save(folder / "posting_ends.npy", ends)
        tokens, filled = sum(self.lengths), sum(length > 0 for length in self.lengths)
        norms = _norms(self.lengths, tokens, filled)
        shape = (int(ends[-1]),)
        documents, saturations = (
            _room(folder / f"{name}.npy", _FILES[name], shape)
            for name in ("posting_docs", "posting_saturations")
        )
        free, begun = ends[:-1].copy(), 0
        for sizes, ids, counts in zip(
            self._load("sizes"), self._load("ids"), self._load("counts"), strict=True
        ):
            where = rank[ids]
            by_term = np.argsort(where, kind="stable")
            where = where[by_term]
            here = np.bincount(where, minlength=len(terms))
            # A term's postings lie side by side now; how far each is from the first of them
            # says where it goes.
            first = np.cumsum(here) - here
            at = free[where] + (np.arange(len(where)) - first[where])
            owner = np.repeat(np.arange(begun, begun + len(sizes)), sizes)[by_term]
            documents[at] = owner
            saturations[at] = np.float32(1) + counts[by_term].astype(np.float32) * norms[owner]
            free += here
            begun += len(sizes)
        documents.flush()
        saturations.flush()
        return {
            "format": FORMAT,
            "documents": len(self.lengths),
            "filled": filled,
            "terms": len(terms),
            "postings": shape[0],
            "tokens": tokens,
        }


def _room(path: Path, kind: type[np.generic], shape: tuple[int]) -> np.memmap[Any, Any]:
    """Return a new array on disk to be filled.

    Raises:
        OSError: the disk has no room for it.
    """
    made = np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=shape)
    # The file is a hole yet: a write into it on a full disk would end the process.
    if hasattr(os, "posix_fallocate"):
        with open(path, "r+b") as stream:
            os.posix_fallocate(stream.fileno(), 0, os.fstat(stream.fileno()).st_size)
    return made


def _norms(lengths: array[int], tokens: int, filled: int) -> NDArray[np.float32]:
    """Return each document's `1 / (k1 * (1 - b + b * length / average))`, in Lucene's steps."""
    average = np.float32(tokens / max(filled, 1)) or np.float32(1)
    short = {length: quantized(length) for length in set(lengths)}
    kept = np.fromiter(map(short.__getitem__, lengths), np.float32, len(lengths))
    norms: NDArray[np.float32] = np.float32(1) / (K1 * ((np.float32(1) - B) + B * kept / average))
    return norms.astype(np.float32)


def _write_terms(folder: Path, terms: Iterable[bytes], count: int) -> None:
    ends = np.zeros(count + 1, np.int64)
    blob = bytearray()
    for number, term in enumerate(terms):
        blob += term
        ends[number + 1] = len(blob)
    np.save(folder / "terms.npy", np.frombuffer(bytes(blob), np.uint8))
    np.save(folder / "term_ends.npy", ends)


class Postings:
    """An index's postings, read where they lie; nothing is read when they are opened.

    Args:
        folder: where `write_index` wrote.
        meta: what it returned.

    Raises:
        SourceError: a file is missing, or not of the size or layout that `meta` says.
    """

    def __init__(self, folder: Path, meta: Mapping[str, Any]) -> None:
        if meta.get("format") != FORMAT:
            raise SourceError(
                f"Expected a search index of format {FORMAT} in {folder}, "
                f"got {meta.get('format')!r}: compile the catalog again."
            )
        arrays = {name: _opened(folder, name, kind) for name, kind in _FILES.items()}
        terms, postings = meta.get("terms"), meta.get("postings")
        sizes = {
            "term_ends": (terms or 0) + 1,
            "posting_ends": (terms or 0) + 1,
            "posting_docs": postings,
            "posting_saturations": postings,
        }
        for name, size in sizes.items():
            if len(arrays[name]) != size:
                raise SourceError(
                    f"Expected {size} entries in {folder / name}.npy, got {len(arrays[name])}."
                )
        self.docs: NDArray[np.int32] = arrays["posting_docs"]
        self.saturations: NDArray[np.float32] = arrays["posting_saturations"]
        self._terms = _Terms(_view(arrays["terms"]), _view(arrays["term_ends"]))
        self._ends = _view(arrays["posting_ends"])

    def find(self, term: str) -> slice | None:
        """Return where a term's postings are, or None where no document holds it."""
        sought = term.encode()
        place = bisect_left(self._terms, sought)
        if place == len(self._terms) or self._terms[place] != sought:
            return None
        return slice(self._ends[place], self._ends[place + 1])


class _Terms:
    """The terms in byte order, each read where it lies."""

    def __init__(self, blob: memoryview[Any], ends: memoryview[Any]) -> None:
        self._blob = blob
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> bytes:
        return bytes(self._blob[self._ends[number] : self._ends[number + 1]])


def _view(numbers: NDArray[Any]) -> memoryview[Any]:
    # Reads one entry several times faster than an array does.
    return memoryview(numbers)  # type: ignore[arg-type]


def _opened(folder: Path, name: str, kind: type[np.generic]) -> NDArray[Any]:
    found = load_array(folder, name)
    if found.dtype != kind or found.ndim != 1:
        raise SourceError(
            f"Expected one row of {np.dtype(kind)} in {folder / name}.npy, got {found.dtype} "
            f"{found.shape}."
        )
    return found
