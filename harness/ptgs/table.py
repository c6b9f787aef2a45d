"""The numbers kept for each task, as growing arrays: 20 bytes a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument

__all__ = ["Rows", "Table"]

_COLUMNS: dict[str, type[np.generic]] = {
    "success": np.float32,
    "failure": np.float32,
    "visits": np.uint32,
    "held": np.float32,
    "drawn": np.uint32,
}
_EMPTY = {"held": np.nan}


class Rows(NamedTuple):
    """What is kept of some tasks, copied out, each (m,)."""

    success: NDArray[np.float64]
    failure: NDArray[np.float64]
    visits: NDArray[np.int64]
    held: NDArray[np.float64]
    drawn: NDArray[np.int64]


class Table:
    """Five numbers a task.

    Attributes:
        success, failure: discounted counts, whole ones exact up to 2**24.
        visits: groups told so far.
        held: the temperature that was given and not yet updated, NaN for none.
        drawn: the step for which it was given.
    """

    success: NDArray[np.float32]
    failure: NDArray[np.float32]
    visits: NDArray[np.uint32]
    held: NDArray[np.float32]
    drawn: NDArray[np.uint32]

    def __init__(self) -> None:
        for name, kind in _COLUMNS.items():
            setattr(self, name, np.zeros(0, dtype=kind))

    def grow(self, size: int) -> None:
        """Make room for `size` tasks, with some to spare."""
        have = len(self.success)
        if size <= have:
            return
        room = max(size, 3 * have // 2)
        for name, kind in _COLUMNS.items():
            grown = np.full(room, _EMPTY.get(name, 0), dtype=kind)
            grown[:have] = getattr(self, name)
            setattr(self, name, grown)

    def rows(self, slots: NDArray[np.int64]) -> Rows:
        """Return what is kept of tasks; a slot of -1, or beyond the end, is a task never seen."""
        return Rows(*(self.column(name, slots) for name in _COLUMNS))

    def column(self, name: str, slots: NDArray[np.int64]) -> NDArray[Any]:
        """Return one column of tasks, in 64 bits; as `rows`."""
        stored: NDArray[Any] = getattr(self, name)
        wide = np.int64 if issubclass(_COLUMNS[name], np.integer) else np.float64
        size = len(stored)
        if not len(slots) or (slots.min() >= 0 and slots.max() < size):
            return stored[slots].astype(wide)
        column = np.full(len(slots), _EMPTY.get(name, 0), dtype=wide)
        known = np.flatnonzero((slots >= 0) & (slots < size))
        column[known] = stored[slots[known]]
        return column

    def take(self, slots: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return copies of the columns of some tasks."""
        return {name: getattr(self, name)[slots] for name in _COLUMNS}

    def put(self, slots: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        """Set the columns of some tasks."""
        for name, column in columns.items():
            getattr(self, name)[slots] = column

    def load(self, arrays: Mapping[str, Any], size: int) -> None:
        """Take over the columns of `size` tasks, as `take` gave them.

        Raises:
            BadArgument: a column is missing, has another type or length, or numbers that no sampler
            comes to.
        """
        columns = {}
        for name, kind in _COLUMNS.items():
            if name not in arrays:
                raise BadArgument(f"Expected the state to have `{name}`, got {sorted(arrays)}.")
            column = np.asarray(arrays[name])
            if column.dtype != kind or column.shape != (size,):
                raise BadArgument(
                    f"Expected `{name}` of the state to be {np.dtype(kind)} of shape ({size},), "
                    f"got {column.dtype} of shape {column.shape}."
                )
            columns[name] = column.copy()
        for name, good in (
            ("success", np.isfinite(columns["success"]) & (columns["success"] >= 0)),
            ("failure", np.isfinite(columns["failure"]) & (columns["failure"] >= 0)),
        ):
            if not good.all():
                odd = columns[name][~good][0]
                raise BadArgument(
                    f"Expected `{name}` of the state to hold discounted counts, got {odd}."
                )
        for name, column in columns.items():
            setattr(self, name, column)
