"""What a model is shown: function docs, tools, system prompts and the hand-over of functions.

The official wording is read from the pinned wheel at run time; its constants are read as
literals, never executed.
"""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from agentenvs.bfcl.clone import clone
from agentenvs.bfcl.tasks import Task, open_official
from agentenvs.core import Tool
from agentenvs.errors import SourceMismatch

__all__ = [
    "Docs",
    "handed_over",
    "handover_sentence",
    "offer",
    "schemas",
    "system_prompt",
    "tools",
]

Docs = Literal["official", "compact"]
_HINT_FUNCTION = "_get_language_specific_hint"
_PREFIX_END = "Tool description: "
_LINE = 100
_HANDOVER = "There are further functions now. Please try again with them."
_JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_SHORT_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}


@functools.cache
def tools(item: Task, docs: Docs) -> Mapping[str, Tool]:
    """Return every function of a task as a `Tool`, withheld ones included, by name."""
    known = item.docs if docs == "compact" else _hinted(item)
    return {name: _tool(doc, docs) for name, doc in known.items()}


@functools.cache
def offer(item: Task, turn: int, docs: Docs) -> tuple[Tool, ...]:
    """Return the functions on offer in a turn, the same object each time."""
    known = tools(item, docs)
    return tuple([known[name] for name in item.offers[turn]])


@functools.lru_cache(maxsize=256)
def system_prompt(item: Task, docs: Docs) -> str:
    """Return the system prompt with the functions on offer in the first turn.

    Raises:
        SourceError: the task is official and the wheel cannot be had.
    """
    if docs == "official":
        known = _hinted(item)
        form, functions = "json", json.dumps([known[name] for name in item.first], indent=4)
    else:
        form, functions = "Python", _listing(tools(item, docs)[name] for name in item.first)
    if not item.official:
        from agentenvs.bfcl import mini

        return mini.SYSTEM_PROMPT.replace("{functions}", functions)
    words = _official_words()
    style = words["PROMPT_STYLE_TEMPLATES"]["classic"]
    call_format = style["tool_call_no_tag"].format(
        output_format=words["OUTPUT_FORMAT_MAPPING"]["python"],
        param_types=words["PARAM_TYPE_MAPPING"]["python"],
    )
    text: str = words["_PLAINTEXT_SYSTEM_PROMPT_TEMPLATE"].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=call_format,
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=style["available_tools"].format(format=form, functions=functions),
    )
    return text


def schemas(item: Task, turn: int, docs: Docs) -> list[dict[str, Any]]:
    """Return the functions on offer in a turn as JSON schemas, fresh copies."""
    known = _schemas(item, docs)
    return [clone(known[name], {}) for name in item.offers[turn]]


@functools.cache
def _schemas(item: Task, docs: Docs) -> Mapping[str, dict[str, Any]]:
    return {name: tool.schema() for name, tool in tools(item, docs).items()}


def handover_sentence(item: Task) -> str:
    """Return what the user says when withheld functions are handed over."""
    if not item.official:
        return _HANDOVER
    return str(_official_words()["DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC"])


def handed_over(item: Task, turn: int, docs: Docs) -> str:
    """Return the functions that are handed over in a turn, as the official prompt shows them."""
    names = item.withheld.get(turn, ())
    if docs == "compact":
        return _listing(tools(item, docs)[name] for name in names)
    return str([item.docs[name] for name in names])


def _hinted(item: Task) -> dict[str, Mapping[str, Any]]:
    """Return the docs with the official hint where the official pipeline puts it."""
    hinted = dict(item.docs)
    for name in item.first if item.official else ():
        doc = hinted[name]
        hinted[name] = {**doc, "description": doc["description"] + _official_hint()}
    return hinted


@functools.cache
def _official_hint() -> str:
    """Return what the official pipeline appends to each function on offer at first.

    The wheel has it as the last text that a function returns; that text is read, not run.
    """
    source = open_official().read("bfcl_eval/utils.py").decode()
    hints: list[str] = []
    for function in ast.parse(source).body:
        if isinstance(function, ast.FunctionDef) and function.name == _HINT_FUNCTION:
            for part in ast.walk(function):
                match part:
                    case ast.Return(value=ast.Constant(value=str(text))):
                        hints.append(text)
    found = [hint for hint in hints if "Python" in hint]
    if len(found) != 1:
        raise SourceMismatch(f"Expected {_HINT_FUNCTION} to return one hint about Python.")
    return found[0]


@functools.cache
def _official_words() -> Mapping[str, Any]:
    source = open_official().read("bfcl_eval/constants/default_prompts.py").decode()
    words: dict[str, Any] = {}
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                try:
                    words[name] = ast.literal_eval(value)
                except ValueError:
                    continue
    needed = {
        "DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC",
        "OUTPUT_FORMAT_MAPPING",
        "PARAM_TYPE_MAPPING",
        "PROMPT_STYLE_TEMPLATES",
        "_PLAINTEXT_SYSTEM_PROMPT_TEMPLATE",
    }
    if not needed <= set(words):
        raise SourceMismatch(f"Expected the official prompts to define {sorted(needed)}.")
    return words


def _tool(doc: Mapping[str, Any], docs: Docs) -> Tool:
    description = doc["description"]
    parameters = {"type": "object", **_schema(doc["parameters"], docs)}
    if docs == "compact":
        description = _short(description.partition(_PREFIX_END)[2] or description)
    return Tool(doc["name"], description, parameters)


def _schema(spec: Mapping[str, Any], docs: Docs) -> dict[str, Any]:
    """Return a parameter in JSON schema; BFCL writes dict, float and the string "None"."""
    schema: dict[str, Any] = {}
    kind = spec.get("type")
    if isinstance(kind, str) and kind != "any":
        schema["type"] = _JSON_TYPES.get(kind, kind)
    if "description" in spec:
        words = spec["description"].strip()
        schema["description"] = _short(words) if docs == "compact" else words
    if "enum" in spec:
        schema["enum"] = list(spec["enum"])
    if "default" in spec:
        schema["default"] = None if spec["default"] == "None" else spec["default"]
    if "items" in spec:
        schema["items"] = _schema(spec["items"], docs)
    if isinstance(spec.get("additionalProperties"), Mapping):
        schema["additionalProperties"] = _schema(spec["additionalProperties"], docs)
    if "properties" in spec:
        schema["properties"] = {
            name: _schema(part, docs) for name, part in spec["properties"].items()
        }
    if "required" in spec:
        schema["required"] = list(spec["required"])
    return schema


def _short(text: str) -> str:
    """Return a description on one line, the first sentence alone where it is long."""
    line = " ".join(text.split()).removesuffix(".")
    if len(line) <= _LINE:
        return line
    first, *others = line.split(". ")
    return ". ".join([first, *(part for part in others if _lists_values(part))])


def _lists_values(sentence: str) -> bool:
    return any(word in sentence for word in ("[Enum]", "ptions", "format"))


def _listing(offer: Iterable[Tool]) -> str:
    """Return signatures, one line a function and one a parameter."""
    lines = []
    for tool in offer:
        properties = tool.parameters.get("properties", {})
        required = tool.parameters.get("required", ())
        signature = ", ".join(
            f"{name}: {_short_type(spec)}"
            + ("" if name in required else f" = {spec.get('default')!r}")
            for name, spec in properties.items()
        )
        lines.append(f"{tool.name}({signature}): {tool.description}")
        lines += [
            f"  {name}: {spec.get('description', '')}"
            + (f" (one of {', '.join(map(repr, spec['enum']))})" if "enum" in spec else "")
            for name, spec in properties.items()
            if "description" in spec or "enum" in spec
        ]
    return "\n".join(lines)


def _short_type(spec: Mapping[str, Any]) -> str:
    kind = spec.get("type", "any")
    short = _SHORT_TYPES.get(kind, str(kind))
    inner = spec.get("items", {}).get("type")
    return f"list[{_SHORT_TYPES.get(inner, inner)}]" if kind == "array" and inner else short
