"""The named task sets and the form of a task's id; what there is, before any catalog is opened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentenvs.errors import BadArgument, UnknownName, did_you_mean
from agentenvs.webshop.records import GoalKind

__all__ = ["SETS", "TaskSet", "home_of", "parse_task"]

_ID = re.compile(r"([a-z0-9][a-z0-9._-]{0,99})/(synthetic|human)/(0|[1-9][0-9]{0,8})", re.ASCII)


@dataclass(frozen=True, slots=True)
class TaskSet:
    """One named set.

    Attributes:
        catalog: name of the catalog that it is taken from when none is given.
        kind: which goals.
        start: index of the first, after the shuffle.
        stop: index behind the last; None for all.
        text: what it is, one line.
    """

    catalog: str
    kind: GoalKind
    start: int
    stop: int | None
    text: str


_SPLIT = "of the full catalog's shuffled human goals, split as in princeton-nlp/WebShop#1"

SETS: dict[str, TaskSet] = {
    "mini": TaskSet(
        "mini",
        "human",
        0,
        None,
        "100 goals of the bundled catalog, the human-style ones first; work offline",
    ),
    "paper": TaskSet(
        "1k",
        "synthetic",
        0,
        500,
        "first 500 shuffled synthetic goals of the 1,000 products: the tasks and order of the "
        "Sharpening Tax paper, but with our price caps (the paper's were unseeded)",
    ),
    "test": TaskSet("full", "human", 0, 500, f"goals 0 to 499 {_SPLIT}"),
    "dev": TaskSet("full", "human", 500, 1500, f"goals 500 to 1499 {_SPLIT}"),
    "train": TaskSet("full", "human", 1500, 12_087, f"goals 1500 to 12086 {_SPLIT}"),
    "synthetic": TaskSet(
        "1k",
        "synthetic",
        0,
        None,
        "all synthetic goals of the catalog, by default of the 1,000 products",
    ),
    "human": TaskSet(
        "1k", "human", 0, None, "all human goals of the catalog, by default of the 1,000 products"
    ),
}


def parse_task(task_id: str) -> tuple[str, GoalKind, int]:
    """Return catalog name, kind of goal and index after the shuffle of a task.

    Example:
        >>> parse_task("1k/synthetic/17")
        ('1k', 'synthetic', 17)

    Raises:
        BadArgument: it is no str.
        UnknownName: it does not have the form of a task's id.
    """
    if not isinstance(task_id, str):
        raise BadArgument(f"Expected a task id to be a str, got {type(task_id)}.")
    found = _ID.fullmatch(task_id)
    if found is None:
        if task_id in SETS:
            raise UnknownName(
                f"There is no task {task_id!r}: it is a task set, and goes into `tasks=` alone."
            )
        hint = did_you_mean(task_id, SETS)
        raise UnknownName(
            f"There is no task set or task {task_id[:200]!r}; an id looks like "
            f"'<catalog>/synthetic/17' or '<catalog>/human/3'.{hint}"
        )
    return found[1], "synthetic" if found[2] == "synthetic" else "human", int(found[3])


def home_of(tasks: str | Sequence[str] | None) -> str:
    """Return the name of the catalog that the tasks are taken from when none is given.

    Args:
        tasks: a named set, a task's id, or a list of ids; None for `mini`.

    Raises:
        UnknownName: there is no such set or task.
        BadArgument: something else came, or the tasks are of several catalogs.
    """
    if tasks is None:
        return "mini"
    if isinstance(tasks, str):
        return SETS[tasks].catalog if tasks in SETS else parse_task(tasks)[0]
    if not isinstance(tasks, Sequence):
        raise BadArgument(f"Expected `tasks` to be a name or a list of ids, got {type(tasks)}.")
    names = list(dict.fromkeys(parse_task(task)[0] for task in tasks))
    if not names:
        raise BadArgument("Expected at least one task, got none.")
    if len(names) > 1:
        raise BadArgument(f"Expected tasks of one catalog, got some of {', '.join(names)}.")
    return names[0]
