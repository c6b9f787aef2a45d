"""Task ids `4x4/<seed of the map>` and the named sets."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence

from agentenvs.frozenlake.lakes import SIZE, rows_of
from agentenvs.naming import ids_of

__all__ = ["all_ids", "data_version", "seed_of", "task_ids", "task_sets"]

_SETS = {
    "train": "200 maps to learn from",
    "heldout": "100 other maps",
    "mini": "24 maps of `train`",
}
_TRAIN, _HELDOUT, _MINI = 200, 100, 24


def task_sets() -> dict[str, str]:
    """Return the named task sets, each with a one-line description."""
    return dict(_SETS)


def task_ids(tasks: str | Sequence[str] | None = None) -> list[str]:
    """Return the task ids of a named set, of one task, or of a list after checking it.

    Args:
        tasks: a set's name, a task's id, or a list of ids; default "train".

    Raises:
        UnknownName: there is no such set or task, with the closest known name.
        BadArgument: `tasks` is neither a name nor a list of ids.
    """
    return ids_of("train" if tasks is None else tasks, tuple(_SETS), _members, _seeds())


def data_version(tasks: str | Sequence[str] | None = None) -> str:
    """Return a short hash of all maps of all sets.

    Raises:
        UnknownName: there is no such set or task.
    """
    task_ids(tasks)
    return _digest()


def seed_of(task_id: str) -> int:
    """Return the seed of a task's map.

    Raises:
        UnknownName: there is no such task.
        BadArgument: it is no text.
    """
    task_ids([task_id])
    return _seeds()[task_id]


def all_ids() -> tuple[str, ...]:
    """Return every task id: those of `train`, then those of `heldout`."""
    return tuple(_seeds())


def _members(name: str) -> Sequence[str]:
    ids = all_ids()
    if name == "heldout":
        return ids[_TRAIN:]
    return ids[: _TRAIN if name == "train" else _MINI]


@functools.lru_cache(maxsize=1)
def _seeds() -> Mapping[str, int]:
    """Return id -> seed, in order; a seed whose map an earlier one has is passed over."""
    found: dict[tuple[str, ...], int] = {}
    seed = 0
    while len(found) < _TRAIN + _HELDOUT:
        found.setdefault(rows_of(seed), seed)
        seed += 1
    return {f"{SIZE}x{SIZE}/{seed}": seed for seed in found.values()}


@functools.lru_cache(maxsize=1)
def _digest() -> str:
    lines = [f"{name} {'/'.join(rows_of(seed))}" for name, seed in _seeds().items()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
