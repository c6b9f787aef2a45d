"""What classes start from, as data: from a JSON file, or read out of Python source, never run."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentenvs.sources._source import Readable

__all__ = ["ClassState", "ClassStates"]

_MOST_JSON = 5_000_000
_MOST_SOURCE = 1_000_000
_MOST_SOURCES = 2_000


@dataclass(frozen=True, slots=True)
class ClassState:
    """One class in one language.

    Attributes:
        lang: the language.
        name: the class.
        attributes: names of what it starts with, in order.
        sha256: of these values as compact JSON, which tells one class of the name from another.
    """

    lang: str
    name: str
    attributes: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class ClassStates:
    """A JSON file `{lang: {class: {"state": {attribute: value}}}}`, made where it is missing.

    It is taken from a file of that name in whatever layout, or from the classes themselves:
    from `self.attribute = literal` in their methods, wherever in the copy their source lies.
    A literal may be the name of one that the module assigns. Source is parsed, never imported.

    Attributes:
        path: the file's path.
        size: bytes of the file.
        sha256: its hash.
        classes: the classes, in order.
        constants: `{class: state}` that stand in the file in every language.
    """

    path: str
    size: int
    sha256: str
    classes: tuple[ClassState, ...]
    constants: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...] = ()

    def work_out(self, place: Readable) -> bytes | None:
        """Return the file's content; see `Made.work_out`."""
        found: dict[ClassState, Mapping[str, Any]] = {}
        given = place.read(self.path, _MOST_JSON)
        if given is not None:
            self._take(_from_json(given), found)
        if len(found) < len(self.classes):
            names = "|".join(sorted({one.name for one in self.classes}))
            mark = re.compile(rf"^\s*class\s+(?:{names})\b".encode(), re.MULTILINE)
            sources = [name for name in place.names() if name.endswith(".py")]
            for name in sources[:_MOST_SOURCES]:
                content = place.read(name, _MOST_SOURCE)
                if content is not None and mark.search(content):
                    self._take(_from_source(content), found)
                if len(found) == len(self.classes):
                    break
            else:
                return None
        return self._content(found)

    def _take(
        self, states: Iterator[tuple[str, Any]], found: dict[ClassState, Mapping[str, Any]]
    ) -> None:
        """Take note of the states that have a pinned hash."""
        for name, state in states:
            for wanted in self.classes:
                if wanted.name == name and wanted not in found:
                    chosen = _chosen(state, wanted)
                    if chosen is not None:
                        found[wanted] = chosen

    def _content(self, found: Mapping[ClassState, Mapping[str, Any]]) -> bytes:
        languages: dict[str, dict[str, Any]] = {}
        for wanted in self.classes:
            if wanted.lang not in languages:
                fixed = {name: {"state": dict(state)} for name, state in self.constants}
                languages[wanted.lang] = fixed
            languages[wanted.lang][wanted.name] = {"state": found[wanted]}
        return _compact(languages)


def _compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _chosen(state: Any, wanted: ClassState) -> Mapping[str, Any] | None:
    """Return the wanted attributes of a state as JSON gives them back, None where others."""
    try:
        values = {name: state[name] for name in wanted.attributes}
        content = _compact(values)
        found: Mapping[str, Any] = json.loads(content)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return found if hashlib.sha256(content).hexdigest() == wanted.sha256 else None


def _from_json(content: bytes) -> Iterator[tuple[str, Any]]:
    try:
        languages = json.loads(content)
    except (ValueError, RecursionError):
        return
    for classes in languages.values() if isinstance(languages, dict) else ():
        for name, item in classes.items() if isinstance(classes, dict) else ():
            if isinstance(item, dict):
                yield name, item.get("state")


def _from_source(content: bytes) -> Iterator[tuple[str, Any]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    known: dict[str, Any] = {}
    for statement in tree.body:
        for target, value in _assigned(statement):
            if isinstance(target, ast.Name):
                _note(known, target.id, value, known)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name, _state(node, known)


def _state(node: ast.ClassDef, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the literals that a class assigns to its attributes, the first one each."""
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    # The first state is what `__init__` gives; other methods count where it gives none.
    methods.sort(key=lambda method: method.name != "__init__")
    state: dict[str, Any] = {}
    for method in methods:
        for statement in ast.walk(method):
            for target, value in _assigned(statement):
                match target:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name) if name not in state:
                        _note(state, name, value, known)
    return state


def _assigned(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Assign(targets=[target], value=value):
            return [(target, value)]
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return [(target, value)]
    return []


def _note(into: dict[str, Any], name: str, value: ast.expr, known: Mapping[str, Any]) -> None:
    if isinstance(value, ast.Name) and value.id in known:
        into[name] = known[value.id]
        return
    try:
        into[name] = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return
