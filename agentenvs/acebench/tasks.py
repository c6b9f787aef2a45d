"""Named task sets and ids, official and bundled; what is scored is one task, dialogues whole."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.acebench.overlay import overlay
from agentenvs.acebench.records import (
    AGENT,
    CATEGORIES,
    DIALOGUES,
    LANGS,
    NORMAL,
    SPECIAL,
    Lang,
    Records,
    Task,
)
from agentenvs.core import Rules, check_rules
from agentenvs.errors import SourceMismatch
from agentenvs.naming import ids_of
from agentenvs.sources import Tree, open_source

__all__ = [
    "PAPER",
    "all_ids",
    "clusters",
    "data_version",
    "initial_state",
    "is_official",
    "open_records",
    "open_tree",
    "task_ids",
    "task_sets",
    "turns_of",
    "unsolvable",
]

_LARGE = ("normal_single_turn_single_function", "normal_single_turn_parallel_function")
_SIZES: Mapping[str, int] = {
    **dict.fromkeys(CATEGORIES, 50),
    **dict.fromkeys(_LARGE, 100),
    "agent_multi_step": 20,
    "agent_multi_turn": 30,
}
#: the 13 categories with one reply a task: 100 + 100 + 8 * 50 + 3 * 50 = 750 English tasks. The
#: other two of the 15 that are judged by reference are dialogues, 50 tasks each.
PAPER = tuple(name for name in (*NORMAL, *SPECIAL) if name not in DIALOGUES)
_LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "Chinese"}
_REFUSED = "the official checker refuses the reference itself"


@functools.cache
def _sets() -> Mapping[str, tuple[str, tuple[tuple[Lang, str], ...]]]:
    """Name -> what it is, and its categories in order."""
    sets: dict[str, tuple[str, tuple[tuple[Lang, str], ...]]] = {}
    sets["paper"] = (
        "750 English single-shot tasks in 13 categories (all normal and special ones without the "
        "two of dialogues) and the 20 of agent_multi_step, as the Sharpening Tax paper used",
        tuple(("en", name) for name in (*PAPER, "agent_multi_step")),
    )
    sets["agent"] = (
        "50 English agent tasks, 20 of agent_multi_step and 30 of agent_multi_turn",
        tuple(("en", name) for name in AGENT),
    )
    sets["agent_zh"] = (
        "50 Chinese agent tasks, 20 of agent_multi_step and 30 of agent_multi_turn",
        tuple(("zh", name) for name in AGENT),
    )
    for lang in LANGS:
        number = sum(_SIZES.values())
        sets[lang] = (
            f"all {number} {_LANGUAGES[lang]} tasks, each dialogue one task",
            tuple((lang, name) for name in CATEGORIES),
        )
    for lang in LANGS:
        for name in CATEGORIES:
            kind = "dialogues" if name in DIALOGUES else "tasks"
            text = f"{_SIZES[name]} {_LANGUAGES[lang]} {kind} of {name}"
            sets[f"{lang}/{name}"] = (text, ((lang, name),))
    return sets


def task_sets() -> dict[str, str]:
    """Return the named task sets, each with a one-line description."""
    mini = "bundled tasks of this project, English and Chinese, of every kind; work offline"
    return {"mini": mini, **{name: text for name, (text, _) in _sets().items()}}


def task_ids(tasks: str | Sequence[str]) -> list[str]:
    """Return the task ids of a named set, of one task, or of a list after checking it.

    Ids are `<lang>/<category>_<n>`, in the bundled set `mini/<category>_<n>`; a dialogue is one
    task: its turns are turns of an episode.

    Raises:
        UnknownName: there is no such set or task, with the closest known name.
        BadArgument: `tasks` is neither a name nor a list of ids.
    """
    return ids_of(tasks, ("mini", *_sets()), _ids, _known())


def all_ids() -> tuple[str, ...]:
    """Return every task id there is."""
    return tuple(_known())


def is_official(task_id: str) -> bool:
    """Return whether a task comes from the source; raises `UnknownName` as `task_ids` does."""
    task_ids([task_id])
    return not task_id.startswith("mini/")


def turns_of(task_id: str) -> tuple[Task, ...]:
    """Return the records of a task in order: one, or one a turn of a dialogue.

    Raises:
        UnknownName: there is none of that name, with the closest known one.
        SourceError: it is official and its file cannot be had.
    """
    if is_official(task_id):
        home = task_id.rpartition("_")[0]
        found = _units(home).get(task_id)
        if found is None:
            raise SourceMismatch(f"Expected a record of {task_id!r} in the official files.")
        return found
    return _mini_units()[task_id]


def initial_state(task_id: str) -> Mapping[str, Any]:
    """Return what the services start from in a task of an agent category; read only.

    Raises:
        UnknownName: there is no such task.
        SourceError: it is official and its services' first state cannot be had.
    """
    (task, *_) = turns_of(task_id)
    if is_official(task_id):
        return open_records().world(task.lang)
    from agentenvs.acebench import mini

    return mini.world(task.lang)


def data_version(tasks: str | Sequence[str]) -> str:
    """Return a short hash of the data that the tasks come from."""
    homes = {is_official(name) for name in task_ids(tasks)}
    versions = [_mini_version()] if False in homes else []
    if True in homes:
        versions.append(open_tree().digest[:12])
    return "+".join(versions)


def clusters(tasks: Sequence[str]) -> list[str]:
    """Return a label for each task, the same where instructions are the same word for word.

    The 50 agent tasks of a language hold 23 or 24 instructions, played from other settings of
    the phone. The label is the first of these tasks with that instruction, in the benchmark's
    order.

    Raises:
        UnknownName: there is no such task.
        SourceError: one is official and its file cannot be had.
    """
    ids = task_ids(list(tasks))
    first: dict[tuple[str, ...], str] = {}
    asked = {name: tuple(turn.question for turn in turns_of(name)) for name in ids}
    for name in sorted(asked, key=_known().__getitem__):
        first.setdefault(asked[name], name)
    return [first[asked[name]] for name in ids]


def unsolvable(rules: Rules = "official") -> dict[str, str]:
    """Return the official tasks that cannot be solved, each with the reason.

    Args:
        rules: under "official" the tasks are added whose own reference the official checker
            refuses; a dialogue is named where one of its turns is so.

    Raises:
        BadArgument: unknown rules.
    """
    check_rules(rules)
    found = {name: tag.reason for name, tag in overlay().unsolvable.items()}
    if rules == "official":
        found = {**dict.fromkeys(overlay().unreachable, _REFUSED), **found}
    named: dict[str, str] = {}
    for name in sorted(found, key=_place):
        unit = _unit_of(name)
        named[unit] = f"{named[unit]} {found[name]}" if unit in named else found[name]
    return named


@functools.cache
def open_tree() -> Tree:
    """Return the pinned official files, fetched on first use."""
    return open_source("acebench")


@functools.cache
def open_records() -> Records:
    """Return the official records.

    Raises:
        SourceError: they are not on this machine and cannot be fetched.
    """
    from agentenvs.acebench.worldstate import reader

    return Records(reader(open_tree()))


@functools.cache
def _ids(name: str) -> tuple[str, ...]:
    if name == "mini":
        return tuple(_mini_units())
    _, parts = _sets()[name]
    return tuple(f"{lang}/{part}_{at}" for lang, part in parts for at in range(_SIZES[part]))


@functools.cache
def _known() -> Mapping[str, int]:
    """Task id -> its place in the order of all."""
    ids = (*_ids("en"), *_ids("zh"), *_ids("mini"))
    return {name: at for at, name in enumerate(ids)}


def _place(record: str) -> tuple[int, str]:
    return _known().get(_unit_of(record), -1), record


def _unit_of(record: str) -> str:
    """Return the task that a record belongs to, by its name."""
    return record if record in _known() else record.rpartition("_")[0]


@functools.cache
def _units(home: str) -> Mapping[str, tuple[Task, ...]]:
    """Task id -> its records, over one file."""
    lang, _, category = home.partition("/")
    rows = open_records().category("zh" if lang == "zh" else "en", category)
    return _grouped(rows.values())


def _grouped(rows: Any) -> Mapping[str, tuple[Task, ...]]:
    units: dict[str, list[Task]] = {}
    for row in rows:
        units.setdefault(row.unit, []).append(row)
    return {
        name: tuple(sorted(turns, key=lambda task: task.turn or 0)) for name, turns in units.items()
    }


@functools.cache
def _mini_units() -> Mapping[str, tuple[Task, ...]]:
    from agentenvs.acebench import mini

    return _grouped(mini.tasks().values())


@functools.cache
def _mini_version() -> str:
    from agentenvs.acebench import mini

    return mini.version()
