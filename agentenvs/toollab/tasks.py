"""Task ids `<world>/<errand>/<item>/<count>` and the named sets."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from agentenvs.errors import UnknownName
from agentenvs.naming import ids_of
from agentenvs.toollab.design import (
    COUNTS,
    ERRANDS,
    ITEMS,
    TASKS,
    Design,
    Ints,
    check_world,
)

__all__ = [
    "all_ids",
    "clusters",
    "data_version",
    "index_of",
    "task_ids",
    "task_indices",
    "task_sets",
    "world_of",
]

_SETS = {
    "train": "200 tasks to learn from: 100 pairs of errand and item, 40 of them exceptions",
    "heldout": "120 tasks of the 60 pairs that `train` leaves out, 24 of them exceptions",
    "mini": "24 tasks of `train`, 10 of them exceptions",
    "all": "all 1600 tasks: 4 errands, 40 items, 10 counts",
}


def task_sets() -> dict[str, str]:
    """Return the named task sets, each with a one-line description."""
    return dict(_SETS)


def task_ids(tasks: str | Sequence[str] | None = None, world: int | None = None) -> list[str]:
    """Return the task ids of a named set, of one task, or of a list after checking it.

    Args:
        tasks: a set's name, a task's id, or a list of ids; default "train".
        world: the world that they are of; default 0.

    Raises:
        UnknownName: there is no such set or task in this world, with the closest known name.
        BadArgument: `tasks` is neither a name nor a list of ids, or `world` no number of one.
    """
    world = check_world(0 if world is None else world)
    return ids_of(
        "train" if tasks is None else tasks,
        tuple(_SETS),
        lambda name: [all_ids(world)[at] for at in task_indices(name, world)],
        _places(world),
    )


def task_indices(tasks: str | Sequence[str] | None = None, world: int | None = None) -> Ints:
    """Return the indices, as `Design` has them, of what `task_ids` takes."""
    world = check_world(0 if world is None else world)
    if tasks is None or (isinstance(tasks, str) and tasks in _SETS):
        name = tasks or "train"
        found: Ints = np.arange(TASKS) if name == "all" else getattr(Design.of(world), str(name))
        return found
    places = _places(world)
    return np.array([places[name] for name in task_ids(tasks, world)], dtype=np.int64)


def data_version(tasks: str | Sequence[str] | None = None, world: int | None = None) -> str:
    """Return a short hash of everything that was drawn for a world.

    Raises:
        UnknownName: there is no such set or task in this world.
    """
    task_ids(tasks, world)
    return Design.of(0 if world is None else world).digest


def clusters(tasks: Sequence[str], world: int | None = None) -> list[str]:
    """Return a label for each task: its errand and item, asked for with several counts.

    Raises:
        UnknownName: there is no such task in this world.
    """
    return [name.rpartition("/")[0] for name in task_ids(list(tasks), world)]


def world_of(task_id: str) -> int:
    """Return the world that a task id names.

    Raises:
        UnknownName: it names none.
    """
    number = task_id.partition("/")[0] if isinstance(task_id, str) else ""
    # As it is written out: 00 is no world, and digits of other scripts are none.
    if not (number.isascii() and number.isdecimal() and len(number) < 20):
        raise UnknownName(f"There is no task {task_id!r}; ids are like '0/order/lamp/seven'.")
    return int(number)


def index_of(task_id: str) -> int:
    """Return the index of a task in its world.

    Raises:
        UnknownName: there is no such task.
    """
    world = world_of(task_id)
    task_ids([task_id], world)
    return _places(world)[task_id]


@functools.lru_cache(maxsize=16)
def all_ids(world: int) -> tuple[str, ...]:
    """Return every task id of a world, by index."""
    return tuple(
        f"{world}/{errand}/{item}/{count}"
        for errand in ERRANDS
        for item in ITEMS
        for count in COUNTS
    )


@functools.lru_cache(maxsize=16)
def _places(world: int) -> Mapping[str, int]:
    return {name: at for at, name in enumerate(all_ids(world))}
