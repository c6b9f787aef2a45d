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
#: with more hits than this, repeats counted, they are added up term by term
_BATCH = 1 << 20
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
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
        Index.open(folder, meta).top("the red table", 50)  # [1, 0]

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
            SourceError: a file is missing or of another layout or size.
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
        return _numbers(self._best(query, k))

    def scored(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return what `top` does, each with its score."""
        keys = self._best(query, k)
        scores = (keys >> _HALF).astype(np.uint32).view(np.float32)
        return list(zip(_numbers(keys), scores.tolist(), strict=True))

    def _best(self, query: str, k: int) -> NDArray[np.uint64]:
        """Return the keys of the best `k` documents, in order; see `_ranked`."""
        if not isinstance(query, str):
            raise BadArgument(f"Expected `query` to be a str, got {type(query)}.")
        if isinstance(k, bool) or not isinstance(k, int) or k < 0:
            raise BadArgument(f"Expected `k` to be a whole number of at least 0, got {k!r:.80}.")
        found: list[tuple[_Term, int]] = []
        total = 0
        for text, times in Counter(tokenize(query, self._memo)).items():
            term = self._term(text)
            if term is not None:
                found.append((term, times))
                total += len(term.docs)
        if not found or not k:
            return np.empty(0, np.uint64)
        if total > _BATCH:
            return _ranked(None, _add_up_all(found, self._documents), k)
        docs = np.concatenate([term.docs for term, _ in found])
        scores = np.concatenate([_scores(*item) for item in found])
        if total * _SPARSE < self._documents:
            return _ranked(*_add_up_few(docs, scores), k)
        return _ranked(None, np.bincount(docs, scores).astype(np.float32), k)

    def _find(self, text: str) -> _Term | None:
        place = self._postings.find(text)
        if place is None:
            return None
        frequency = place.stop - place.start
        weight = np.float32(
            math.log(1 + (self._filled - frequency + 0.5) / (frequency + 0.5)),
        )
        saturations = self._postings.saturations[place]
        term = _Term(weight, self._postings.docs[place], saturations, None)
        return term._replace(scores=_scores(term, 1)) if frequency <= _RARE else term


def _scores(term: _Term, times: int) -> NDArray[np.float32]:
    """Return what a term that the query holds so many times adds to each of its documents."""
    if times == 1 and term.scores is not None:
        return term.scores
    weight = np.float32(times) * term.weight
    # Lucene's order of operations; `weight * (1 - 1 / saturations)` rounds differently.
    scores: NDArray[np.float32] = weight - weight / term.saturations
    return scores


def _add_up_few(
    docs: NDArray[np.int32], scores: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the documents hit and their scores, at a cost that hits alone decide.

    Lucene, too, adds up in double precision.
    """
    order = np.argsort(docs, kind="stable")
    docs = docs[order]
    first = np.concatenate(([True], docs[1:] != docs[:-1])).nonzero()[0]
    sums = np.add.reduceat(scores[order], first, dtype=np.float64)
    return docs[first], sums.astype(np.float32)


def _add_up_all(found: list[tuple[_Term, int]], documents: int) -> NDArray[np.float32]:
    """Return the scores of all documents, in memory that the query's length does not change."""
    sums = np.zeros(documents)
    for term, times in found:
        sums[term.docs] += _scores(term, times)
    return sums.astype(np.float32)


def _ranked(docs: NDArray[Any] | None, scores: NDArray[np.float32], k: int) -> NDArray[np.uint64]:
    """Return the best `k` by score, then by number, as keys: scores' bits, then `~number`.

    Bits of positive floats are in the order of their values, so that sorting the keys sorts
    by both. A hit's score is above 0 (see `MAX_DOCUMENTS`).

    Args:
        docs: the numbers of the documents, None where they are 0, 1, 2, ...
        scores: theirs.
        k: how many at most.
    """
    if len(scores) > k:
        blocks = len(scores) // _BLOCK
        peaks = scores
        if blocks > k:
            # `k` blocks reach at least the `k`-th best peak, so that nothing below it counts.
            peaks = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
        least = np.partition(peaks, len(peaks) - k)[len(peaks) - k]
        at = (scores >= least if least > 0 else scores).nonzero()[0]
    else:
        at = scores.nonzero()[0]
    numbers = at if docs is None else docs[at]
    keys = scores[at].view(np.uint32).astype(np.uint64) << _HALF
    keys |= np.bitwise_xor(numbers, 0xFFFFFFFF, dtype=np.int64).view(np.uint64)
    if len(keys) > 4 * k:
        keys.partition(len(keys) - k)
        keys = keys[len(keys) - k :]
    keys.sort()
    return keys[: -k - 1 : -1]


def _numbers(keys: NDArray[np.uint64]) -> list[int]:
    numbers: list[int] = (~keys & _LOW).tolist()
    return numbers
