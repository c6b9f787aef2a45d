"""Model text as calls under the mended rules: literals only, wherever the list stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.acebench.literal import MAX_BRACKETS
from agentenvs.acebench.quick import Call, quick_calls
from agentenvs.actions import MAX_CALLS, read_json_action
from agentenvs.core import Tool
from agentenvs.syntax import (
    MAX_TEXT,
    CallNode,
    NameNode,
    UnreadableCall,
    bind,
    parse_call_list,
)

__all__ = ["answer_text", "bracketed", "read_calls"]

_START = re.compile(r"\[\s*[^\W\d][\w.]*+\s*\(")
_PIECE = re.compile(r"""(?s)'(?:[^'\\]|\\.)*+'?|"(?:[^"\\]|\\.)*+"?|[\[\]]""")
_CONSTANTS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
#: how many beginnings of a list are tried
_MAX_TRIES = 8


def answer_text(text: str) -> str:
    """Return the text after the model's own thinking, where that is marked.

    Raises:
        UnreadableCall: the text is longer than 100,000 characters.
    """
    if len(text) > MAX_TEXT:
        raise UnreadableCall(f"longer than {MAX_TEXT} characters")
    return text.rpartition("</think>")[2]


def bracketed(text: str, start: int) -> str | None:
    """Return the list that begins at `start`, or None where it has no end; quotes count."""
    depth = 0
    for piece in _PIECE.finditer(text, start):
        if piece[0] == "[":
            depth += 1
        elif piece[0] == "]":
            depth -= 1
            if depth == 0:
                return text[start : piece.end()]
    return None


def read_calls(text: str, functions: Sequence[Mapping[str, Any]]) -> list[Call]:
    """Read the first list of calls in the text, whatever stands around it.

    Values are literals; `true`, `false` and `null` are taken for what they mean in JSON, any
    other bare name for text. Arguments by position are bound in the order of the description.
    The canonical JSON of this package is read as well.

    Args:
        text: the whole output of a model.
        functions: the descriptions on offer.

    Raises:
        UnreadableCall: there is no such list; the reason is that of the first beginning of one.
    """
    text = answer_text(text).strip()
    if sum(map(text.count, "[({")) > MAX_BRACKETS:
        raise UnreadableCall(f"more than {MAX_BRACKETS} opening brackets")
    plain = quick_calls(text, once=True)
    if plain is not None and len(plain) <= MAX_CALLS:
        return plain
    action = read_json_action(text)
    if action is not None and action.status == "calls":
        return [Call(call.name, dict(call.arguments)) for call in action.calls]
    problem: UnreadableCall | None = None
    for tries, start in enumerate(_START.finditer(text)):
        if tries == _MAX_TRIES:
            break
        found = bracketed(text, start.start())
        if found is None:
            problem = problem or UnreadableCall("a list without an end")
            continue
        try:
            return _calls(found, functions)
        except UnreadableCall as reason:
            problem = problem or reason
    raise problem or UnreadableCall("no list of calls")


def _calls(text: str, functions: Sequence[Mapping[str, Any]]) -> list[Call]:
    nodes = parse_call_list(text, nested=True)
    tools = {
        function["name"]: Tool(function["name"], parameters=function.get("parameters") or {})
        for function in functions
        if any(node.args for node in nodes)
    }
    calls = []
    for node in nodes:
        args = tuple(_value(value) for value in node.args)
        kwargs = tuple((key, _value(value)) for key, value in node.kwargs)
        call = bind(CallNode(node.name, args, kwargs), tools)
        calls.append(Call(call.name, dict(call.arguments)))
    return calls


def _value(value: Any) -> Any:
    match value:
        case NameNode(name=name):
            return _CONSTANTS.get(name, name)
        case list() | tuple():
            return [_value(item) for item in value]
        case dict():
            return {key: _value(item) for key, item in value.items()}
        case str() | int() | float() | None:
            return value
    raise UnreadableCall(f"a {type(value).__name__} where a literal was expected")
