"""BM25 with Lucene's arithmetic: the same documents in the same order, in microseconds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.core import Shared
from agentenvs.errors import BadArgument
from agentenvs.webshop.postings import Postings
from agentenvs.webshop.tokens import Memo, tokenize

__all__ = ["Index"]

#: terms whose place is remembered
_TERMS = 4096
#: of terms in so few documents the scores are remembered, too
_RARE = 1024
#: a query with fewer hits than a so-manieth of the documents is added up without a table
_SPARSE = 16
#: documents in a block when the best are sought
_BLOCK = 256


class _Term(NamedTuple):
    """What a query needs of one term: views into the index, but for `scores`."""

    weight: np.float32
    docs: NDArray[np.int32]
    saturations: NDArray[np.float32]
    scores: NDArray[np.float32] | None


class Index(Shared):
    """A search index, opened where it lies; many threads and processes may share it.

    Example:
        meta = write_index(folder, [("A1", "a red chair"), ("A2", "red tables")])
        Index.open(folder, meta).top("tables and chairs", 50)  # [1, 0]

    Args:
        folder: where `write_index` wrote.
        meta: what it returned.
    """

    def __init__(self, folder: Path, meta: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.meta = dict(meta)
        self._postings = Postings(self.folder, meta)
        self._documents = int(meta["documents"])
        self._filled = int(meta["filled"])
        self._memo = Memo()
        self._term = lru_cache(_TERMS)(self._find)

    @classmethod
    def open(cls, folder: Path, meta: Mapping[str, Any]) -> Index:
        """Open the index that `write_index` wrote in `folder` with the answer `meta`.

        Raises:
            SourceMismatch: a file is missing or of another layout or size.
        """
        return cls(folder, meta)

    def __len__(self) -> int:
        """Return the number of documents."""
        return self._documents

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel by path: another process maps the same files."""
        return Index, (self.folder, self.meta)

    def top(self, query: str, k: int) -> list[int]:
        """Return the numbers of the best `k` documents, best first, equal ones by number.

        A term that the query repeats counts as often. Any number of distinct terms is taken.

        Raises:
            BadArgument: `query` is no text, or `k` no number from 0.
        """
        return self._best(query, k)[0]

    def scored(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return what `top` does, each with its score."""
        docs, scores = self._best(query, k)
        return list(zip(docs, scores, strict=True))

    def _best(self, query: str, k: int) -> tuple[list[int], list[float]]:
        if not isinstance(query, str):
            raise BadArgument(f"Expected `query` to be a str, got {type(query)}.")
        if isinstance(k, bool) or not isinstance(k, int) or k < 0:
            raise BadArgument(f"Expected `k` to be a whole number of at least 0, got {k!r:.80}.")
        docs, scores = [], []
        for text, times in Counter(tokenize(query, self._memo)).items():
            term = self._term(text)
            if term is None:
                continue
            docs.append(term.docs)
            if times == 1 and term.scores is not None:
                scores.append(term.scores)
            else:
                scores.append(_scores(np.float32(times) * term.weight, term.saturations))
        if not docs or not k:
            return [], []
        total = sum(map(len, docs))
        add_up = _add_up_few if total * _SPARSE < self._documents else _add_up_many
        return _ranked(*add_up(docs, scores, k), k)

    def _find(self, text: str) -> _Term | None:
        place = self._postings.find(text)
        if place is None:
            return None
        frequency = place.stop - place.start
        weight = np.float32(
            math.log(1 + (self._filled - frequency + 0.5) / (frequency + 0.5)),
        )
        saturations = self._postings.saturations[place]
        scores = _scores(weight, saturations) if frequency <= _RARE else None
        return _Term(weight, self._postings.docs[place], saturations, scores)


def _scores(weight: np.float32, saturations: NDArray[np.float32]) -> NDArray[np.float32]:
    # Lucene's order of operations; `weight * (1 - 1 / saturations)` rounds differently.
    scores: NDArray[np.float32] = weight - weight / saturations
    return scores


def _add_up_few(
    docs: list[NDArray[np.int32]], scores: list[NDArray[np.float32]], k: int
) -> tuple[NDArray[np.integer[Any]], NDArray[np.float32]]:
    """Return the documents hit and their scores, at a cost that hits alone decide."""
    hits = np.concatenate(docs)
    order = np.argsort(hits, kind="stable")
    hits = hits[order]
    first = np.flatnonzero(np.concatenate(([True], hits[1:] != hits[:-1])))
    sums = np.add.reduceat(np.concatenate(scores)[order], first, dtype=np.float64)
    return hits[first], sums.astype(np.float32)


def _add_up_many(
    docs: list[NDArray[np.int32]], scores: list[NDArray[np.float32]], k: int
) -> tuple[NDArray[np.integer[Any]], NDArray[np.float32]]:
    """Return at least the best `k` documents and their scores, through a table of all.

    Lucene, too, adds up in double precision.
    """
    sums = np.bincount(np.concatenate(docs), np.concatenate(scores)).astype(np.float32)
    blocks = len(sums) // _BLOCK
    if blocks <= k:
        found = np.flatnonzero(sums)
    else:
        # `k` blocks hold a document of at least this score, so that no other can matter.
        peaks = sums[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
        least = np.partition(peaks, blocks - k)[blocks - k]
        found = np.flatnonzero(sums >= least) if least > 0 else np.flatnonzero(sums)
    return found, sums[found]


def _ranked(
    docs: NDArray[np.integer[Any]], scores: NDArray[np.float32], k: int
) -> tuple[list[int], list[float]]:
    """Return the best `k` by score, then by number."""
    # Bits of positive floats are in the order of their values: one integer holds the score
    # and, reversed, the number, and sorting needs no second array.
    keys = scores.view(np.uint32).astype(np.uint64) << np.uint64(32)
    keys |= np.bitwise_xor(docs, 0xFFFFFFFF, dtype=np.int64).view(np.uint64)
    if len(keys) > 4 * k:
        keys.partition(len(keys) - k)
        keys = keys[len(keys) - k :]
    keys.sort()
    best = keys[: -k - 1 : -1]
    numbers = (best & np.uint64(0xFFFFFFFF)) ^ np.uint64(0xFFFFFFFF)
    values = (best >> np.uint64(32)).astype(np.uint32).view(np.float32)
    return numbers.tolist(), values.tolist()
