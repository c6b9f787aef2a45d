"""The void tries of a run, in `voids.jsonl` beside its outcomes, and the rollouts left open.

A line of the file, written as the try ends:

    {"task_id": "base_3", "rollout": 0, "attempt": 0, "reason": "timeout",
     "error": "TimeoutError: ...", "wall_s": 30.1}
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument, RunDamaged
from agentenvs.harness.records import Void
from agentenvs.harness.store.durable import LineWriter, bounded, open_plain
from agentenvs.harness.store.outcomes_file import dump
from agentenvs.harness.store.outcomes_rows import decode, show

__all__ = [
    "VOIDS",
    "VoidWriter",
    "check_void",
    "open_rollouts",
    "part_of",
    "read_voids",
    "void_row",
]

VOIDS = "voids.jsonl"
_FIELDS: Mapping[str, tuple[type, ...]] = {
    "task_id": (str,),
    "rollout": (int,),
    "attempt": (int,),
    "reason": (str,),
    "error": (str,),
    "wall_s": (int, float),
}
# A number in a file must not ask for more than memory has.
_MOST_PLANNED = 10**8


class VoidWriter:
    """Appends void tries to a run folder, each in one unbuffered write.

    The file is made by the first of them; a last line that a kill broke off is cut.

    Args:
        folder: the run folder, which this process has locked.

    Raises:
        RunError: the file cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / VOIDS
        self._lines = LineWriter(self._path) if self._path.exists() else None

    def write(self, void: Void) -> None:
        """Append one.

        Raises:
            RunError: the disk did not take it.
        """
        if self._lines is None:
            self._lines = LineWriter(self._path)
        self._lines.write(dump(void_row(void)))

    def close(self) -> None:
        """Close the file; harmless when repeated."""
        if self._lines is not None:
            self._lines.close()


def void_row(void: Void) -> dict[str, Any]:
    """Return a void try as it stands in the file."""
    task, *rest = void
    return {"task_id": task, **dict(zip(Void._fields[1:], rest, strict=True))}


def read_voids(folder: Path) -> list[dict[str, Any]]:
    """Return the void tries in a run folder, in order; a last line that broke off is left out.

    Raises:
        RunDamaged: a line that is none, with file and number.
    """
    path = folder / VOIDS
    rows: list[dict[str, Any]] = []
    try:
        with open_plain(path) as file:
            for number, line in enumerate(bounded(file), 1):
                try:
                    row = decode(line.decode())
                except (ValueError, RecursionError) as error:
                    if not file.read(1):
                        break
                    raise RunDamaged(f"{path}:{number}: expected JSON: {error}.") from None
                try:
                    rows.append(check_void(row))
                except BadArgument as bad:
                    raise RunDamaged(f"{path}:{number}: {bad}") from None
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise RunDamaged(f"{path}: {error}.") from None
    return rows


def check_void(row: Any) -> dict[str, Any]:
    """Return the row of a void try.

    Raises:
        BadArgument: it is none.
    """
    if not isinstance(row, Mapping):
        raise BadArgument(f"expected an object, got {show(row)}.")
    for name, types in _FIELDS.items():
        if type(row.get(name)) not in types:
            kind = " or ".join(one.__name__ for one in types)
            raise BadArgument(f"expected `{name}` to be {kind}, got {show(row.get(name))}.")
    return dict(row)


def open_rollouts(
    settings: Mapping[str, Any], there: Set[tuple[str, int]]
) -> list[tuple[str, int]]:
    """Return the rollouts that a run was to have and that have no outcome, task by task.

    Args:
        settings: of the run; without a list `task_ids` and a number `n` nothing was planned.
            Of a part (`part_of`) its own rollouts alone were.
        there: the rollouts with an outcome.

    Raises:
        RunDamaged: more are planned than can be.
    """
    tasks, n = settings.get("task_ids"), settings.get("n")
    if not isinstance(tasks, list | tuple) or type(n) is not int or n < 1:
        return []
    names = list(dict.fromkeys(name for name in tasks if isinstance(name, str)))
    if len(names) * n > _MOST_PLANNED:
        raise RunDamaged(
            f"Expected at most {_MOST_PLANNED} rollouts in all, got n={show(n)} for each of "
            f"{len(names)} tasks."
        )
    place = {name: at for at, name in enumerate(names)}
    first, after = part_of(settings, there) or (0, n)
    missing: NDArray[np.bool_] = np.zeros((len(names), n), dtype=np.bool_)
    missing[:, first:after] = True
    for name, rollout in there:
        if name in place and rollout < n:
            missing[place[name], rollout] = False
    return [(names[task], rollout) for task, rollout in np.argwhere(missing).tolist()]


def part_of(settings: Mapping[str, Any], there: Set[tuple[str, int]]) -> tuple[int, int] | None:
    """Return which rollouts of each task a run holds that was to play a part of them.

    Args:
        settings: of the run; `rollouts` are the first of the part and the one after its last.
        there: the rollouts with an outcome. Where some lie outside, parts were played one after
            another into one folder, which is the whole run under way.

    Returns:
        First and after; None for a whole run.
    """
    n, part = settings.get("n"), settings.get("rollouts")
    if not isinstance(part, list | tuple) or len(part) != 2 or type(n) is not int:
        return None
    first, after = part
    if type(first) is not int or type(after) is not int or not 0 <= first < after <= n:
        return None
    if after - first == n or any(not first <= rollout < after for _, rollout in there):
        return None
    return first, after
