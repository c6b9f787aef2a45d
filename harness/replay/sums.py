"""Sums of the rows of a run, the same in whatever order they come."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["MARK", "RowSums"]

#: bytes of a row's mark in a certificate
MARK = 4
_DIGEST = 32


class RowSums:
    """Sums of the rows of one kind, which come in any order."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._task = array("q")
        self._rollout = array("q")
        self._digests = bytearray()

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._task)

    def add(self, task: str, rollout: int, content: bytes) -> None:
        """Take in a row."""
        self._task.append(self._index.setdefault(task, len(self._index)))
        self._rollout.append(rollout)
        self._digests += hashlib.sha256(content).digest()

    def total(self) -> str:
        """Return one sum for all, the same in whatever order they came."""
        names = list(self._index)
        place = np.empty(len(names), dtype=np.int64)
        place[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        task, rollout, digests = self._arrays()
        order = np.lexsort((rollout, place[task]))
        return hashlib.sha256(digests[order].tobytes()).hexdigest()

    def marks(self, task_ids: Sequence[str], n: int) -> NDArray[np.uint32]:
        """Return a number for each rollout, shape (tasks, n); 0 where there is none."""
        task, rollout, digests = self._arrays()
        row = {name: at for at, name in enumerate(task_ids)}
        rows = np.array([row.get(name, -1) for name in self._index], dtype=np.int64)[task]
        marks: NDArray[np.uint32] = np.zeros((len(task_ids), n), dtype="<u4")
        kept = (rows >= 0) & (rollout < n)
        values = digests[kept, :MARK].copy().view("<u4")[:, 0]
        # Nought is for rollouts that are not there.
        marks[rows[kept], rollout[kept]] = np.maximum(values, 1)
        return marks

    def after(self) -> int:
        """Return the number behind the largest of a rollout, at least 1."""
        return max(self._rollout, default=0) + 1

    def outside(self, task_ids: Sequence[str], n: int) -> list[tuple[str, int]]:
        """Return the rollouts of other tasks, or of numbers beyond `n`."""
        known, names = set(task_ids), list(self._index)
        rows = zip(self._task, self._rollout, strict=True)
        return [(names[t], r) for t, r in rows if names[t] not in known or r >= n]

    def keys(self) -> set[tuple[str, int]]:
        """Return the (task, rollout) pairs."""
        names = list(self._index)
        return {(names[t], r) for t, r in zip(self._task, self._rollout, strict=True)}

    def _arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
        digests = np.frombuffer(bytes(self._digests), dtype=np.uint8).reshape(-1, _DIGEST)
        return np.array(self._task, np.int64), np.array(self._rollout, np.int64), digests
