"""Task sets of WebShop: which goals of which catalog, by name or by id."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import SupportsIndex, overload

from agentenvs.core import TaskIds
from agentenvs.errors import BadArgument, UnknownName
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.locate import open_catalog
from agentenvs.webshop.records import GoalKind
from agentenvs.webshop.sets import SETS, TaskSet, home_of, parse_task

__all__ = ["GoalIds", "all_ids", "clusters", "data_version", "task_ids", "task_sets"]

_MINI = 100
_MINI_HUMAN = 54


class GoalIds(TaskIds):
    """Ids of stretches of a catalog's goal lists, each made when it is asked for.

    Args:
        catalog: name of the catalog.
        stretches: (kind of goals, index of the first, index behind the last), in order.
    """

    __slots__ = ("catalog", "stretches")

    def __init__(self, catalog: str, stretches: Sequence[tuple[GoalKind, int, int]]) -> None:
        self.catalog = catalog
        self.stretches = tuple(
            (kind, start, stop) for kind, start, stop in stretches if stop > start
        )

    def __len__(self) -> int:
        return sum(stop - start for _, start, stop in self.stretches)

    @overload
    def __getitem__(self, index: SupportsIndex) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: SupportsIndex | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = operator.index(index)
        left = place + len(self) if place < 0 else place
        if left >= 0:
            for kind, start, stop in self.stretches:
                if left < stop - start:
                    return f"{self.catalog}/{kind}/{start + left}"
                left -= stop - start
        raise IndexError(f"There are {len(self)} tasks, none at {place}.")

    def __contains__(self, task: object) -> bool:
        if not isinstance(task, str):
            return False
        try:
            catalog, kind, index = parse_task(task)
        except UnknownName:
            return False
        return catalog == self.catalog and any(
            kind == which and start <= index < stop for which, start, stop in self.stretches
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GoalIds):
            return NotImplemented
        return (self.catalog, self.stretches) == (other.catalog, other.stretches)

    def __hash__(self) -> int:
        return hash((self.catalog, self.stretches))

    def __repr__(self) -> str:
        parts = ", ".join(f"{kind} {start} to {stop - 1}" for kind, start, stop in self.stretches)
        return f"<{len(self)} tasks of {self.catalog}: {parts or 'none'}>"


def task_sets() -> dict[str, str]:
    """Return the named task sets, each with a one-line description."""
    return {name: entry.text for name, entry in SETS.items()}


def task_ids(
    tasks: str | Sequence[str] | None = None,
    *,
    catalog: str | os.PathLike[str] | Catalog | None = None,
) -> Sequence[str]:
    """Return the task ids of a named set, of one task, or of a list after checking it.

    Args:
        tasks: a name from `task_sets()`, a task's id, or a list of ids of one catalog. Default
            `mini`; with `catalog` its synthetic goals, or its human ones where it has no others.
        catalog: take the set from this catalog, see `open_catalog`; default the one that the
            set is defined on.

    Returns:
        The ids in order; of a whole goal list each is made when it is asked for.

    Raises:
        UnknownName: there is no such set or task.
        BadArgument: the catalog has too few goals for the set, or none of the kind.
        SourceError: the catalog cannot be had.
    """
    if tasks is None and catalog is None:
        tasks = "mini"
    if tasks is not None and (not isinstance(tasks, str) or tasks not in SETS):
        return _checked(tasks, catalog)
    if catalog is None and tasks is not None:
        entry = SETS[tasks]
        if entry.stop is not None:
            # The official catalogs are pinned, so what these sets hold is known without them.
            return GoalIds(entry.catalog, [(entry.kind, entry.start, entry.stop)])
    opened = open_catalog(catalog, tasks)
    if tasks is None:
        return _whole(opened, "synthetic" if len(opened.goals("synthetic")) else "human")
    if tasks == "mini":
        return _mini(opened)
    return _stretch(opened, tasks, SETS[tasks])


def all_ids(catalog: Catalog) -> GoalIds:
    """Return the ids of all goals of a catalog, the synthetic ones first."""
    return GoalIds(
        catalog.name,
        [
            ("synthetic", 0, len(catalog.goals("synthetic"))),
            ("human", 0, len(catalog.goals("human"))),
        ],
    )


def data_version(
    tasks: str | Sequence[str] | None = None,
    *,
    catalog: str | os.PathLike[str] | Catalog | None = None,
) -> str:
    """Return a short hash of the catalog's data and settings, and how its nouns were found."""
    return open_catalog(catalog, tasks).version


def clusters(
    tasks: Sequence[str], *, catalog: str | os.PathLike[str] | Catalog | None = None
) -> list[str]:
    """Return a label for each task: the product that its goal was made from.

    Raises:
        UnknownName: there is no such task.
        SourceError: the catalog cannot be had.
    """
    ids = _checked(list(tasks), catalog)
    opened = open_catalog(catalog, ids)
    places = (parse_task(name) for name in ids)
    return [
        f"{opened.name}/{opened.asin(opened.goals(kind).row(index))}" for _, kind, index in places
    ]


def _checked(
    tasks: str | Sequence[str], catalog: str | os.PathLike[str] | Catalog | None
) -> list[str]:
    ids = [tasks] if isinstance(tasks, str) else tasks
    name = home_of(ids)
    opened = open_catalog(catalog, ids)
    if name != opened.name:
        raise UnknownName(
            f"The catalog {opened.name!r} has no tasks of {name!r}, such as {ids[0]!r}."
        )
    known = all_ids(opened)
    for task in ids:
        if task not in known:
            raise UnknownName(f"There is no task {task!r}: {_sizes(opened)}.")
    return list(ids)


def _whole(catalog: Catalog, kind: GoalKind) -> GoalIds:
    size = len(catalog.goals(kind))
    if not size:
        raise BadArgument(f"Expected a catalog with {kind} goals: {_sizes(catalog)}.")
    return GoalIds(catalog.name, [(kind, 0, size)])


def _stretch(catalog: Catalog, name: str, entry: TaskSet) -> GoalIds:
    if entry.stop is None:
        return _whole(catalog, entry.kind)
    if entry.stop > len(catalog.goals(entry.kind)):
        raise BadArgument(
            f"Expected a catalog with {entry.stop:,} {entry.kind} goals for {name!r} (goals "
            f"{entry.start} to {entry.stop - 1}): {_sizes(catalog)}."
        )
    return GoalIds(catalog.name, [(entry.kind, entry.start, entry.stop)])


def _mini(catalog: Catalog) -> GoalIds:
    human = min(_MINI_HUMAN, len(catalog.goals("human")))
    synthetic = _MINI - human
    if synthetic > len(catalog.goals("synthetic")):
        raise BadArgument(
            f"Expected a catalog with {_MINI} goals, at most {_MINI_HUMAN} of them human, for "
            f"'mini': {_sizes(catalog)}."
        )
    return GoalIds(catalog.name, [("human", 0, human), ("synthetic", 0, synthetic)])


def _sizes(catalog: Catalog) -> str:
    counts = (f"{len(catalog.goals(kind)):,} {kind}" for kind in ("synthetic", "human"))
    return f"the catalog {catalog.name!r} has {' and '.join(counts)} goals"
