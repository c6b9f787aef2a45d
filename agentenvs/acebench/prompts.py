"""What a model is shown of a task: system prompt, policy, functions as tools, and the request."""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from agentenvs.acebench.records import AGENT, CATEGORIES, LANGS, NORMAL, Task
from agentenvs.acebench.wording import WORDS
from agentenvs.core import Message, Tool
from agentenvs.errors import BadArgument, did_you_mean
from agentenvs.tools import Shared

__all__ = ["PLACEHOLDERS", "Prompts", "Shown", "added", "said", "schemas", "tools"]

#: what a template may hold in braces
PLACEHOLDERS = ("functions", "history", "policy", "profile", "time")
_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TURN = re.compile(r"^(user|system):[ \t]?", re.MULTILINE)
_TYPES: Mapping[str, str] = {
    "dict": "object",
    "float": "number",
    "list": "array",
    "tuple": "array",
    "bool": "boolean",
    "int": "integer",
    "str": "string",
}
_MAX_TEMPLATE = 100_000
_SCHEMAS = ("parameters", "arguments", "_arguments")


class Shown(NamedTuple):
    """How a task, or a turn of a dialogue, is put to a model.

    Attributes:
        system: the system prompt, functions included.
        policy: the rules and facts in it, without the form of a reply.
        user: the first thing said to the model.
    """

    system: str
    policy: str
    user: str


class Prompts(Shared):
    """The wording of requests: our own, or a user's for some categories.

    A template is a text for the system prompt, or `{"system": ..., "user": ...}`. It may hold
    `{functions}`, `{history}` (the transcript, or the task's question), `{time}`, `{profile}`
    and `{policy}` (our own rules); `{functions}` has to stand in one of the two. Other braces
    stay as they are.

    Args:
        templates: by category ("normal_atom_bool"), for one language "zh/normal_atom_bool".

    Raises:
        BadArgument: an unknown category or placeholder, or a template that lacks what it needs.
    """

    __slots__ = ("_templates",)

    def __init__(self, templates: Mapping[str, str | Mapping[str, str]] | None = None) -> None:
        self._templates: dict[str, tuple[str | None, str | None]] = {}
        if templates is None:
            return
        if not isinstance(templates, Mapping):
            raise BadArgument(
                f"Expected `prompts` to be a dict of templates by category, got {type(templates)}."
            )
        known = [*CATEGORIES, *(f"{lang}/{name}" for lang in LANGS for name in CATEGORIES)]
        for name, template in templates.items():
            if name not in known:
                hint = did_you_mean(name, known)
                raise BadArgument(f"Expected `prompts` by category, got {name!r}.{hint}")
            self._templates[name] = _checked(name, template)

    def show(self, task: Task) -> Shown:
        """Return how a task is put to a model, of a dialogue the turn with what came before."""
        words = WORDS[task.lang]
        kind = _kind(task)
        values = {
            "functions": _listing(task),
            "history": task.question.rstrip("\n"),
            "profile": task.profile,
            "time": task.time,
            "domain": _domain(task),
        }
        policy_kind = "preference" if task.category == "normal_preference" else kind
        values["policy"] = policy = _filled(words.policy[policy_kind], values)
        own = self._templates.get(f"{task.lang}/{task.category}")
        system, user = own or self._templates.get(task.category) or (None, None)
        if user is None:
            user = "{history}" if task.category in AGENT else words.history
        if system is None:
            system = words.system[kind]
        return Shown(_filled(system, values), policy, _filled(user, values))


@functools.lru_cache(maxsize=4096)
def _listing(task: Task) -> str:
    return str(list(task.functions))


def _checked(name: str, template: object) -> tuple[str | None, str | None]:
    """Return the system and the user text of a template."""
    parts = {"system": template} if isinstance(template, str) else template
    if not isinstance(parts, Mapping) or not parts or not set(parts) <= {"system", "user"}:
        raise BadArgument(
            f"Expected the prompt of {name!r} to be a text, or a dict with 'system' and 'user', "
            f"got {template!r:.80}."
        )
    for text in parts.values():
        if not isinstance(text, str) or len(text) > _MAX_TEMPLATE:
            raise BadArgument(
                f"Expected the prompt of {name!r} to be text of at most {_MAX_TEMPLATE} characters."
            )
        for place in _PLACE.findall(text):
            if place not in PLACEHOLDERS:
                known = ", ".join(f"{{{one}}}" for one in PLACEHOLDERS)
                raise BadArgument(
                    f"Expected only the placeholders {known} in the prompt of {name!r}, "
                    f"got {{{place}}}."
                )
    system, user = parts.get("system"), parts.get("user")
    if system is not None and "{functions}" not in system + (user or ""):
        raise BadArgument(f"Expected {{functions}} in the prompt of {name!r}.")
    if user is not None and "{history}" not in user:
        raise BadArgument(f"Expected {{history}} in the user's part of the prompt of {name!r}.")
    return system, user


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Fill in a template; lines that stay empty in the place of a value are taken out."""
    lines = [
        line
        for line in template.split("\n")
        if not (place := _PLACE.fullmatch(line)) or values.get(place[1], line)
    ]
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), "\n".join(lines))


def _kind(task: Task) -> str:
    if task.category in AGENT:
        return task.category
    return "normal" if task.category in NORMAL else "special"


def _domain(task: Task) -> str:
    words = WORDS[task.lang]
    parts = []
    if "BaseApi" in task.involved_classes:
        parts.append(words.phone)
    if "Travel" in task.involved_classes:
        parts.append(words.airline)
    return "\n".join(parts)


def said(transcript: str) -> list[Message]:
    """Return a transcript as role-tagged messages.

    What the assistant said last after calls of its own stands for their results ("tool").
    """
    messages: list[Message] = []
    marks = list(_TURN.finditer(transcript))
    head = transcript[: marks[0].start() if marks else None].strip()
    if head:
        messages.append({"role": "user", "content": head})
    ends = [mark.start() for mark in marks[1:]] + [len(transcript)]
    called = False
    for mark, end in zip(marks, ends, strict=False):
        content = transcript[mark.end() : end].strip()
        if mark[1] == "user":
            messages.append({"role": "user", "content": content})
            called = False
        elif called:
            messages.append({"role": "tool", "content": content})
        else:
            called = _is_call(content)
            messages.append({"role": "assistant", "content": content})
    return messages


def _is_call(content: str) -> bool:
    return content.startswith("[") and content.endswith("]") and "(" in content


def added(before: Task, after: Task) -> str:
    """Return what a turn's transcript adds to the one before, the calls in between left out.

    Raises:
        BadArgument: the transcript does not go on from the one before.
    """
    start = before.question.rstrip("\n")
    if not after.question.startswith(start):
        raise BadArgument(f"Expected {after.id!r} to go on from {before.id!r}.")
    rest = after.question[len(start) :].lstrip("\n")
    marks = list(_TURN.finditer(rest))
    if len(marks) > 1 and marks[0][1] == "system":
        end = marks[1].start()
        if _is_call(rest[marks[0].end() : end].strip()):
            rest = rest[end:]
    return rest.rstrip("\n")


@functools.lru_cache(maxsize=4096)
def tools(task: Task) -> tuple[Tool, ...]:
    """Return the functions of a task as tools, the same object each time."""
    return tuple(_tool(function) for function in task.functions)


def _tool(function: Mapping[str, Any]) -> Tool:
    """Return a description in JSON schema, nothing in it left out.

    Some descriptions say `arguments` for `parameters`; what else they hold (`results`,
    `tags`) goes into the description, as JSON.
    """
    schema: Any = next((function[key] for key in _SCHEMAS if function.get(key)), {})
    parameters = _schema(schema) if isinstance(schema, Mapping) else {}
    if not isinstance(parameters.get("properties"), dict):
        parameters["properties"] = {}
    text = str(function.get("description") or "")
    for key, value in function.items():
        if key not in ("name", "description", *_SCHEMAS):
            text += f" {key}: {json.dumps(value, ensure_ascii=False)}"
    return Tool(str(function["name"]), text.strip(), {**parameters, "type": "object"})


def _schema(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy with JSON schema's names of types."""
    schema: dict[str, Any] = {}
    for key, value in spec.items():
        match key, value:
            case "type", str():
                if value != "any":
                    schema[key] = _TYPES.get(value, value)
            case (("properties" | "patternProperties"), Mapping()):
                schema[key] = {
                    name: _schema(part) if isinstance(part, Mapping) else part
                    for name, part in value.items()
                }
            case (("items" | "additionalProperties"), Mapping()):
                schema[key] = _schema(value)
            case _:
                schema[key] = copy.deepcopy(value)
    return schema


def schemas(task: Task) -> list[dict[str, Any]]:
    """Return the functions of a task as JSON schemas, fresh copies."""
    return [_copied(schema) for schema in _schemas(task)]


@functools.lru_cache(maxsize=4096)
def _schemas(task: Task) -> tuple[dict[str, Any], ...]:
    return tuple([tool.schema() for tool in tools(task)])


def _copied(value: Any) -> Any:
    """Return a copy of JSON data."""
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value
