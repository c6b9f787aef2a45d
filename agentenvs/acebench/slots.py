"""What a scripted user knows: one table of slots for each instruction, filled from the task.

The tables are our own: they say *where* in an instruction a value stands (patterns with named
groups) and how a person asks for it and tells it. The values themselves are read from the
task's question when a user is made, and no official text comes with this package; a question
that a table was not written for is an error, never a guess.

A file of tables (`assets/acebench/users_en.json`, say) holds what is common to a language, and
under "tables" for each instruction `tasks` (the names it holds for), `read` (the patterns, all
of which must be found), `goals` (`say`, and what must be seen in the world: see `goals`) and
`slots` in the order in which they are told, each with its own `ask` and `say` or, where it has
none, those of its language. Of several wordings the first is the canonical one.
"""

from __future__ import annotations

import importlib.resources
import json
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from agentenvs.acebench.records import Task
from agentenvs.errors import SourceMismatch, UnknownName
from agentenvs.tools import Shared

__all__ = ["Goal", "Slot", "Table", "Words", "scripted_tasks", "table", "words"]

#: files of tables; those of bundled tasks lie with the tasks
_FILES = {
    "en": ("acebench/users_en.json", "mini/acebench/users_en.json"),
    "zh": ("acebench/users_zh.json", "mini/acebench/users_zh.json"),
}


@dataclass(frozen=True, slots=True)
class Slot(Shared):
    """Something that a user tells when it is asked for.

    Attributes:
        name: what it is.
        ask: found in a sentence that asks for it.
        say: wordings, the canonical one first, the values in place.
        value: the value itself, "" where it is told in words of ours alone.
    """

    name: str
    ask: re.Pattern[str]
    say: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True)
class Goal(Shared):
    """Something that a user wants.

    Attributes:
        say: wordings, the canonical one first.
        done: conditions on the world, all of which must hold; see `goals.holds`.
    """

    say: tuple[str, ...]
    done: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Words(Shared):
    """How people talk in one language: patterns to hear by, and wordings.

    Attributes:
        hear: patterns by what they tell: "cue" (a sentence asks or requests something),
            "confirm", "more" (is there anything else), "help" (what is wanted), "claim"
            (something was done), "bags" (a number of them).
        kinds: for slots with few values, a pattern for each value.
        slots: patterns and wordings by slot, for tables that have none of their own.
        say: wordings by occasion: "yes", "go_on", "nudge", "partly", "end", "give_up".
        joint: what stands between two sentences.
        prompt: what a model reads that plays a user: "system" and "greeting".
    """

    hear: Mapping[str, re.Pattern[str]]
    kinds: Mapping[str, Mapping[str, re.Pattern[str]]]
    slots: Mapping[str, tuple[re.Pattern[str], tuple[str, ...]]]
    say: Mapping[str, tuple[str, ...]]
    joint: str
    prompt: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Table(Shared):
    """What the user of one task knows and wants.

    Attributes:
        values: what was read from the instruction, by the name of its group.
        goals: what is wanted, in order.
        slots: what can be asked for, in the order of telling.
        words: the language.
    """

    values: Mapping[str, str]
    goals: tuple[Goal, ...]
    slots: Mapping[str, Slot]
    words: Words


def table(task: Task) -> Table:
    """Return the table of a task, filled from its question.

    Raises:
        UnknownName: there is no table for this task.
        SourceMismatch: the question is not the one that the table was written for.
    """
    return _table(task.lang, task.name, task.question)


@lru_cache(256)
def _table(lang: str, task: str, question: str) -> Table:
    found = _tables(lang).get(task)
    if found is None:
        raise UnknownName(
            f"There is no table of a scripted user for {task!r}; give another `user`."
        )
    values: dict[str, str] = {}
    for pattern in found["read"]:
        match = _compiled(pattern).search(question)
        if match is None:
            raise SourceMismatch(f"Expected {pattern!r} in the question of {task!r}.")
        values.update(match.groupdict())
    # A sentence quoted at the end of a sentence carries a full stop that is not its own.
    values = {name: value.strip().removesuffix(".") for name, value in values.items()}
    language = words(lang)
    slots = {name: _slot(name, own, values, language, task) for name, own in found["slots"].items()}
    goals = tuple(
        Goal(_filled(goal["say"], values), tuple(goal["done"])) for goal in found["goals"]
    )
    return Table(MappingProxyType(values), goals, MappingProxyType(slots), language)


def scripted_tasks(lang: str) -> frozenset[str]:
    """Return the names of the tasks of a language that have a table."""
    return frozenset(_tables(lang))


@lru_cache(2)
def words(lang: str) -> Words:
    """Return how people talk in a language.

    Raises:
        UnknownName: there is no such language.
    """
    if lang not in _FILES:
        raise UnknownName(f"Expected `lang` to be 'en' or 'zh', got {lang!r}.")
    found = _read(_FILES[lang][0])
    heard = ("cue", "confirm", "more", "help", "claim", "bags")
    said = ("yes", "go_on", "nudge", "partly", "end", "give_up")
    kinds = {
        name: MappingProxyType({value: _compiled(text) for value, text in values.items()})
        for name, values in found["kinds"].items()
    }
    slots = {
        name: (_compiled(slot["ask"]), tuple(slot["say"])) for name, slot in found["slots"].items()
    }
    return Words(
        MappingProxyType({name: _compiled(found[name]) for name in heard}),
        MappingProxyType(kinds),
        MappingProxyType(slots),
        MappingProxyType({name: tuple(found[name]) for name in said}),
        found["joint"],
        MappingProxyType(found["prompt"]),
    )


def _slot(
    name: str, own: Mapping[str, Any], values: Mapping[str, str], language: Words, task: str
) -> Slot:
    ask, say = language.slots.get(name, (None, ()))
    if "ask" in own:
        ask = _compiled(own["ask"])
    if "say" in own:
        say = own["say"]
    if ask is None or not say:
        raise SourceMismatch(f"Expected `ask` and `say` for the slot {name!r} of {task!r}.")
    named = {field for _, field, _, _ in string.Formatter().parse(say[0]) if field}
    only = named.pop() if len(named) == 1 else name
    return Slot(name, ask, _filled(say, values), values.get(name, values.get(only, "")))


def _filled(texts: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return wordings with the values in place, beginning as sentences do."""
    filled = [text.format_map(values) for text in texts]
    return tuple([text[:1].upper() + text[1:] for text in filled])


@lru_cache(2)
def _tables(lang: str) -> Mapping[str, Mapping[str, Any]]:
    tables = {}
    for path in _FILES.get(lang, ()):
        for one in _read(path).get("tables", ()):
            for name in one["tasks"]:
                tables[name] = one
    return MappingProxyType(tables)


@lru_cache(8)
def _read(path: str) -> Mapping[str, Any]:
    place = importlib.resources.files("agentenvs.assets")
    for part in path.split("/"):
        place = place / part
    if not place.is_file():
        return MappingProxyType({})
    found: Mapping[str, Any] = json.loads(place.read_text("utf-8"))
    return found


@lru_cache(512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
