"""The tasks: official rows from the pinned wheel, and the bundled ones, in one form."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentenvs.bfcl.clone import clone, separated
from agentenvs.bfcl.executor import World
from agentenvs.bfcl.toolbox import ToolClass, official_class, plain_class
from agentenvs.core import Rules, Shared, check_rules
from agentenvs.errors import BadArgument
from agentenvs.naming import ids_of
from agentenvs.sources import Tree, open_source

__all__ = [
    "SPLITS",
    "Task",
    "all_ids",
    "clusters",
    "data_version",
    "is_official",
    "task",
    "task_ids",
    "task_sets",
    "unsolvable",
]

SPLITS = ("base", "miss_func", "miss_param", "long_context")
_SIZE = 200
_SETS = {
    "base": "200 official tasks with everything that is needed",
    "miss_func": "200 official tasks in which a function is handed over late",
    "miss_param": "200 official tasks in which the user leaves something out at first",
    "long_context": "200 official tasks with long tool results",
    "paper": "the 200 tasks of base, as the Sharpening Tax paper used",
    "mini": "bundled tasks of this project in small tool worlds; work offline",
}


class Task(Shared):
    """One task: read only, shared by all episodes that play it.

    Attributes:
        id: unique among all tasks.
        questions: what the user says at the start of each turn; None where withheld functions
            are handed over instead.
        classes: the tool classes involved, by name, in order.
        withheld: turn -> names of the functions that come on offer in it.
        gold: the ground truth, a tuple of call strings a turn.
        official: whether it comes from the wheel.
    """

    def __init__(
        self,
        row: Mapping[str, Any],
        gold: Sequence[Sequence[str]],
        tool_class: Callable[[str], ToolClass],
        official: bool,
    ) -> None:
        self.id: str = row["id"]
        self.questions = tuple(turn[0]["content"] if turn else None for turn in row["question"])
        self.classes = {name: tool_class(name) for name in row["involved_classes"]}
        self.withheld = {
            int(turn): tuple(names) for turn, names in row.get("missed_function", {}).items()
        }
        self.gold = tuple(tuple(turn) for turn in gold)
        self.official = official
        self._config = row["initial_config"]
        if len(self.questions) != len(self.gold):
            raise BadArgument(f"Expected {self.id!r} to have as many answers as turns.")

    @property
    def turns(self) -> int:
        """The number of turns."""
        return len(self.gold)

    @functools.cached_property
    def owners(self) -> Mapping[str, str]:
        """Function name -> name of its class, over all functions of the classes involved."""
        return {name: key for key, item in self.classes.items() for name in item.functions}

    @functools.cached_property
    def docs(self) -> Mapping[str, Mapping[str, Any]]:
        """Function docs by name, in the official order, withheld ones included; read only."""
        return {doc["name"]: doc for item in self.classes.values() for doc in item.docs}

    @functools.cached_property
    def first(self) -> tuple[str, ...]:
        """The functions on offer before any is handed over."""
        late = {name for names in self.withheld.values() for name in names}
        return tuple(name for name in self.docs if name not in late)

    @functools.cached_property
    def offers(self) -> tuple[tuple[str, ...], ...]:
        """The functions on offer in each turn; those handed over come last."""
        now = self.first
        offers = []
        for turn in range(self.turns):
            now += self.withheld.get(turn, ())
            offers.append(now)
        return tuple(offers)

    @functools.cached_property
    def offer_sets(self) -> tuple[frozenset[str], ...]:
        """The same as sets."""
        return tuple(frozenset(names) for names in self.offers)

    @functools.cached_property
    def _first_state(self) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
        """Class name -> attributes that copies share, and those that are copied."""
        long_context = "long_context" in self.id
        first = {}
        for name, item in self.classes.items():
            scenario = clone(self._config.get(name, {}), {})
            first[name] = separated(item.new(scenario, long_context))
        return first

    def world(self, rules: Rules, label: str = "model") -> World:
        """Return the task's world in its first state, independent of every other one."""
        instances = {}
        for name, (shared, copied) in self._first_state.items():
            kind: Any = self.classes[name].type
            instances[name] = instance = kind.__new__(kind)
            state = instance.__dict__
            state.update(shared)
            state.update(clone(copied, {}))
        return World(self.classes, self.owners, instances, rules, f"{label}_{self.id}")


def task_sets() -> dict[str, str]:
    """Return the named task sets, each with a one-line description."""
    return dict(_SETS)


def task_ids(tasks: str | Sequence[str]) -> list[str]:
    """Return the task ids of a named set, of one task, or of a list after checking it.

    Raises:
        UnknownName: there is no such set or task, with the closest known name.
    """
    return ids_of(tasks, _SETS, _ids, _home())


def all_ids() -> tuple[str, ...]:
    """Return every task id there is."""
    return tuple(_home())


def is_official(task_id: str) -> bool:
    """Return whether a task comes from the wheel; raises `UnknownName` as `task_ids` does."""
    task_ids([task_id])
    return _home()[task_id] != "mini"


def task(task_id: str) -> Task:
    """Return a task.

    Raises:
        UnknownName: there is none of that name, with the closest known one.
        SourceError: it is official and the wheel cannot be had.
    """
    task_ids([task_id])
    home = _home()[task_id]
    if home == "mini":
        return _mini()[task_id]
    return _split(home)[task_id]


def data_version(tasks: str | Sequence[str]) -> str:
    """Return a short hash of the data that the tasks come from."""
    homes = {_home()[name] == "mini" for name in task_ids(tasks)}
    versions = [_mini_version()] if True in homes else []
    if False in homes:
        versions.append(open_official().digest[:12])
    return "+".join(versions)


def clusters(tasks: Sequence[str]) -> list[str]:
    """Return a label for each task: the base task that it varies.

    `miss_func`, `miss_param` and `long_context` are the tasks of `base`, number by number, with
    something withheld or added.

    Raises:
        UnknownName: there is no such task.
    """
    homes = ((name, _home()[name]) for name in task_ids(list(tasks)))
    return [name if home == "mini" else name.replace(home, "base") for name, home in homes]


def unsolvable(rules: Rules = "official") -> dict[str, str]:
    """Return the official tasks that cannot be solved, each with the reason.

    Raises:
        BadArgument: unknown rules.
    """
    check_rules(rules)
    why = "its ground truth calls a function before it is handed over"
    return {"multi_turn_miss_func_49": why} if rules == "fixed" else {}


@functools.cache
def open_official() -> Tree:
    """Return the pinned wheel, fetched on first use."""
    return open_source("bfcl")


@functools.cache
def _ids(name: str) -> tuple[str, ...]:
    if name == "mini":
        return tuple(_mini())
    split = "base" if name == "paper" else name
    return tuple(f"multi_turn_{split}_{index}" for index in range(_SIZE))


@functools.cache
def _home() -> Mapping[str, str]:
    """Task id -> split or "mini"."""
    return {task_id: name for name in (*SPLITS, "mini") for task_id in _ids(name)}


@functools.cache
def _split(split: str) -> dict[str, Task]:
    tree = open_official()
    name = f"BFCL_v4_multi_turn_{split}.json"
    rows = _lines(tree, f"bfcl_eval/data/{name}")
    golds = {
        row["id"]: row["ground_truth"]
        for row in _lines(tree, f"bfcl_eval/data/possible_answer/{name}")
    }
    return {row["id"]: Task(row, golds[row["id"]], _official_class, True) for row in rows}


@functools.cache
def _official_class(name: str) -> ToolClass:
    return official_class(open_official(), name)


def _lines(tree: Tree, path: str) -> list[dict[str, Any]]:
    text = tree.read(path).decode()
    return [json.loads(line) for line in text.split("\n") if line.strip()]


@functools.cache
def _mini() -> dict[str, Task]:
    from agentenvs.bfcl import mini

    answers = mini.answers()
    return {row["id"]: Task(row, answers[row["id"]], plain_class, False) for row in mini.rows()}


@functools.cache
def _mini_version() -> str:
    from agentenvs.bfcl import mini

    parts: list[Any] = [mini.rows(), mini.answers(), mini.SYSTEM_PROMPT]
    parts += [[name, mini.docs(name)] for name in mini.worlds()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]
