"""What the official checker wants of a task's calls, worked out once a task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from agentenvs.acebench.records import Task
from agentenvs.tools import Shared

__all__ = ["Expected", "Parameter", "expected", "norm", "plain_name"]

_TYPES: Mapping[str, type] = MappingProxyType(
    {
        "string": str,
        "integer": int,
        "number": int,
        "float": float,
        "boolean": bool,
        "array": list,
        "list": list,
        "tuple": tuple,
        "dict": dict,
        "object": dict,
        "any": str,
    }
)
_SUFFIX = re.compile(r"_\d+$")
_DROPPED = str.maketrans({**dict.fromkeys(" ,./-_*^", ""), "'": '"'})


@dataclass(frozen=True, slots=True)
class Parameter(Shared):
    """A parameter that the reference gives and the description knows.

    Attributes:
        kind: the type's name in the description.
        type: the Python type that this stands for.
        wanted: the value in the reference.
        text: the value as it is looked for: a text without what does not count, else as
            Python writes it; "" for a list that does not even pass itself.
        is_text: whether it is a text that passes itself.
        is_objects: whether a list is compared as a list of objects.
    """

    kind: str
    type: Any
    wanted: Any
    text: str
    is_text: bool
    is_objects: bool


@dataclass(frozen=True, slots=True)
class Expected(Shared):
    """A call of the reference.

    Attributes:
        name: the name that an output call must have: without a final number.
        function: the name of the function whose description applies.
        is_empty: whether that function has no description of parameters at all.
        required: what it requires.
        parameters: what an output call may give.
        arguments: the reference's arguments.
    """

    name: str
    function: str
    is_empty: bool
    required: tuple[str, ...]
    parameters: Mapping[str, Parameter]
    arguments: Mapping[str, Any]


def norm(text: str) -> str:
    """Return a text without what does not count: some punctuation, spaces, case."""
    return text.translate(_DROPPED).lower()


@lru_cache(8192)
def plain_name(name: str) -> str:
    """Return a name without the number by which the reference tells repeated calls apart."""
    return _SUFFIX.sub("", name)


@lru_cache(4096)
def expected(task: Task) -> tuple[tuple[Expected, ...], ...]:
    """Return the alternatives of a normal task's reference, each a tuple of calls."""
    answers = task.answer if isinstance(task.answer, list) else [task.answer]
    return tuple(
        tuple(_expected(task, name, arguments) for name, arguments in answer.items())
        for answer in answers
    )


def _expected(task: Task, name: str, arguments: Mapping[str, Any]) -> Expected:
    described = next((item for item in task.functions if item["name"] in name), {})
    schema = described.get("parameters", {})
    known = schema.get("properties", {})
    return Expected(
        plain_name(name),
        described.get("name", plain_name(name)),
        not schema,
        tuple(schema.get("required", ())),
        {key: _parameter(known[key], arguments[key]) for key in arguments if key in known},
        arguments,
    )


def _parameter(schema: Mapping[str, Any], wanted: Any) -> Parameter:
    kind = str(schema.get("type", ""))
    items = schema.get("items", {"type": "object"})
    text = norm(wanted) if isinstance(wanted, str) else str(wanted)
    is_text = isinstance(wanted, str) and wanted not in ("true", "false")
    is_objects = items.get("type") in ("object", "dict")
    if is_objects and isinstance(wanted, list) and not all(type(one) is dict for one in wanted):
        text = ""
    return Parameter(kind, _TYPES.get(kind, str), wanted, text, is_text, is_objects)
