"""`mini`: a bundled, offline task set in worlds of the project's own, English and Chinese.

It has the categories, the forms and the checkers of the official tasks; people, messages,
menus, flights, function descriptions, questions and references are its own.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from agentenvs.acebench.records import Lang, Task, task_of
from agentenvs.errors import SourceMismatch, UnknownName

__all__ = ["SHELF", "tasks", "version", "world"]

#: what the names of these tasks begin with
SHELF = "mini"
_FILES = (
    "tasks.jsonl",
    "answers.jsonl",
    "functions.json",
    "world.json",
    "users_en.json",
    "users_zh.json",
)


@functools.cache
def tasks() -> Mapping[str, Task]:
    """Return the tasks by `Task.name`, for example "mini/agent_multi_step_0"; dialogues by turn.

    Raises:
        SourceMismatch: a bundled file is damaged; the text names the entry.
    """
    functions = _object("functions.json")
    pairs = zip(_rows("tasks.jsonl"), _rows("answers.jsonl"), strict=True)
    found = [_task(row, answer, functions) for row, answer in pairs]
    return MappingProxyType({task.name: task for task in found})


def world(lang: Lang) -> Mapping[str, Any]:
    """Return what the services start from, in one language; to be read only.

    Raises:
        UnknownName: there is no such language.
    """
    found = _object("world.json")
    if lang not in found:
        raise UnknownName(f"Expected a language, 'en' or 'zh', got {lang!r}.")
    part: Mapping[str, Any] = found[lang]
    return part


@functools.cache
def version() -> str:
    """Return a short hash of the bundled files."""
    digest = hashlib.sha256()
    for name in _FILES:
        digest.update(_text(name).encode("utf-8"))
    return digest.hexdigest()[:12]


def _text(name: str) -> str:
    place = importlib.resources.files("agentenvs.assets") / "mini" / "acebench" / name
    return place.read_text(encoding="utf-8")


@functools.cache
def _object(name: str) -> Mapping[str, Any]:
    return MappingProxyType(json.loads(_text(name)))


def _rows(name: str) -> Iterator[dict[str, Any]]:
    for line in _text(name).splitlines():
        yield json.loads(line)


def _task(row: Mapping[str, Any], answer: Mapping[str, Any], functions: Mapping[str, Any]) -> Task:
    try:
        if row["id"] != answer["id"]:
            raise SourceMismatch(f"Expected the reference of {row['id']!r}, got {answer['id']!r}.")
        lang = row["lang"]
        offered = [{"name": name, **functions[lang][name]} for name in row["function"]]
    except KeyError as missing:
        raise SourceMismatch(f"Expected {missing} in the bundled task {row.get('id')!r}.") from None
    return task_of({**row, "function": offered}, answer, lang, SHELF)
