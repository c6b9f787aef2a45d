"""The log of a sampler: one row a group. It replays to the same state, and logs merge."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument

__all__ = ["Events"]

_INTS = ("step", "drawn", "visit", "n", "s", "ref_n", "ref_s")
_POOLED = ("n", "s", "ref_n", "ref_s")
_MOST = 2**31 - 1


def _ints() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


def _floats() -> NDArray[np.float64]:
    return np.zeros(0, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Events:
    """Groups in the order in which a sampler learned of them; columns of equal length.

    Attributes:
        task: ids.
        step: the sampler's step with which the group was told.
        drawn: the step for which its temperature was given.
        visit: how often the task had been told before.
        temperature: what was given; NaN where the sampler was not asked.
        n, s: rollouts and successes of the whole group.
        ref_n, ref_s: those of them at T_ref, 0 without `ref_share`.
    """

    task: Sequence[str | int] = ()
    step: NDArray[np.int64] = field(default_factory=_ints)
    drawn: NDArray[np.int64] = field(default_factory=_ints)
    visit: NDArray[np.int64] = field(default_factory=_ints)
    temperature: NDArray[np.float64] = field(default_factory=_floats)
    n: NDArray[np.int64] = field(default_factory=_ints)
    s: NDArray[np.int64] = field(default_factory=_ints)
    ref_n: NDArray[np.int64] = field(default_factory=_ints)
    ref_s: NDArray[np.int64] = field(default_factory=_ints)

    def __len__(self) -> int:
        return len(self.task)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each group as a dict that is ready for JSON; no temperature is None."""
        columns = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "task"}
        lists = {name: column.tolist() for name, column in columns.items()}
        for at, task in enumerate(self.task):
            row = {"task": task} | {name: values[at] for name, values in lists.items()}
            if math.isnan(row["temperature"]):
                row["temperature"] = None
            yield row

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Events:
        """Return events from rows such as `rows` yields; `drawn` may be missing (it is `step`).

        Raises:
            BadArgument: a field is missing or has another type; names the row.
        """
        return cls._of_read([_row(row, f"row {at}") for at, row in enumerate(rows)])

    @classmethod
    def _of_read(cls, rows: Sequence[Mapping[str, Any]]) -> Events:
        columns = {name: np.array([r[name] for r in rows], dtype=np.int64) for name in _INTS}
        heat = np.array([r["temperature"] for r in rows], dtype=np.float64)
        return cls(task=[r["task"] for r in rows], temperature=heat, **columns)

    @staticmethod
    def join(parts: Iterable[Events]) -> Events:
        """Return the rows of several logs, one log after the other."""
        logs = list(parts)
        if not logs:
            return Events()
        columns = {
            f.name: np.concatenate([getattr(log, f.name) for log in logs])
            for f in fields(Events)
            if f.name != "task"
        }
        return Events(task=[task for log in logs for task in log.task], **columns)

    @staticmethod
    def merge(*parts: Events) -> Events:
        """Return the logs of several workers as the log of one.

        Rows go by step, then visit, then task. Where two workers played a part of the same
        group (task, step and visit alike), the parts are pooled: the past is discounted once.

        Raises:
            BadArgument: such parts were given different temperatures: the workers did not know
                the same.
        """
        rows = [row for part in parts for row in part.rows()]
        pooled: dict[tuple[int, int, str, str | int], dict[str, Any]] = {}
        for row in rows:
            task = row["task"]
            key = (row["step"], row["visit"], type(task).__name__, task)
            have = pooled.setdefault(key, row)
            if have is row:
                continue
            for name in ("temperature", "drawn"):
                if have[name] != row[name]:
                    raise BadArgument(
                        f"Expected one {name} for the group of task {task!r} at step "
                        f"{row['step']}, got {have[name]} and {row[name]}: workers that share "
                        "a task have to know the same when they draw."
                    )
            for name in _POOLED:
                have[name] += row[name]
        return Events.of(pooled[key] for key in sorted(pooled))

    def write(self, path: str | os.PathLike[str], *, append: bool = False) -> None:
        """Write JSON lines."""
        with open(path, "a" if append else "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in self.rows())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Events:
        """Return what `write` wrote.

        Raises:
            BadArgument: no such file, or a line is no such row; names it.
        """
        where = os.fspath(path)
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                lines = enumerate(file, 1)
                return cls._of_read([_line(one, f"line {at} of {where}") for at, one in lines])
        except OSError as error:
            raise BadArgument(f"Expected a log at {where}: {error.strerror or error}.") from None


def _line(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadArgument(f"Expected JSON in {where}: {error}") from None
    return _row(row, where)


def _row(row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise BadArgument(f"Expected an event in {where}, got {row!r:.60}.")
    read = {"drawn": row.get("step"), **row}
    for name in _INTS:
        value = read.get(name)
        if type(value) is not int or not 0 <= value <= _MOST:
            raise BadArgument(
                f"Expected `{name}` of {where} to be a whole number of 0 to {_MOST}, "
                f"got {value!r:.60}."
            )
    if isinstance(read.get("task"), bool) or not isinstance(read.get("task"), str | int):
        raise BadArgument(f"Expected `task` of {where} to be an id, got {read.get('task')!r:.60}.")
    heat = read.get("temperature")
    if heat is None:
        read["temperature"] = math.nan
    elif isinstance(heat, bool) or not isinstance(heat, float | int) or not 0 <= heat <= 3.4e38:
        raise BadArgument(
            f"Expected `temperature` of {where} to be a number of 0 to 3.4e38, or null, "
            f"got {heat!r:.60}."
        )
    return read
