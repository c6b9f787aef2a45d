"""From a reply to calls: the native grammar, and the quirks of the official text decoder."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentenvs.actions import Action, read_json_action
from agentenvs.core import Tool
from agentenvs.syntax import CallNode, UnreadableCall, bind, parse_call_list, parse_expression

__all__ = ["Decoding", "Reading", "decode", "official_calls"]

Decoding = Literal["native", "official"]
_BARE = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*\(")
_LISTED = re.compile(r"\[\s*(?:\]$|[A-Za-z_][A-Za-z0-9_.]*\s*\()")
_LINES = 1_000
_MARKS = ("<tool_call", "<function", "<TOOLCALL", "[TOOL_CALLS]", "<|python_tag|>")


@dataclass(frozen=True, slots=True)
class Reading:
    """How a reply was read.

    Attributes:
        status: "calls", "words" (a reply to the user) or "malformed" (calls that do not read).
        calls: call strings of the official decoder, or calls read by the native grammar.
        reason: what is wrong, for "malformed".
    """

    status: Literal["calls", "words", "malformed"]
    calls: tuple[str | CallNode, ...] = ()
    reason: str = ""

    @property
    def parse(self) -> dict[str, str]:
        """The entry of `info`."""
        return {"status": self.status, "reason": self.reason}


def decode(text: str, decoding: Decoding, tools: Mapping[str, Tool]) -> Reading:
    """Read a reply; never raises on text.

    Args:
        text: the reply.
        decoding: "native" reads the canonical JSON action, or one Python-style list of calls
            or one such call, with nothing around it, positional values bound by doc order;
            "official" reads what the official text decoder reads, in the way it does.
        tools: every function of the task by name.
    """
    try:
        reading = _official(text) if decoding == "official" else _native(text, tools)
    except UnreadableCall as problem:
        reading = Reading("malformed", (), str(problem))
    except RecursionError:
        reading = Reading("malformed", (), "nested too deeply")
    if reading is not None and (reading.status != "malformed" or decoding == "native"):
        return reading
    if _tries(text, tools):
        reason = "calls with other text around them" if reading is None else reading.reason
        return Reading("malformed", (), reason)
    return Reading("words")


def _tries(text: str, names: Collection[str]) -> bool:
    """Whether a text that does not read looks like an attempt at calls, not like words."""
    stripped = text.strip("`\n\t ")
    if stripped.startswith(("{", "[{")) and ('"name"' in stripped or '"tool_calls"' in stripped):
        return True
    if any(mark in text for mark in _MARKS):
        return True
    return any(_is_call_line(line, names) for line in text.split("\n", _LINES)[:_LINES])


def _is_call_line(line: str, names: Collection[str]) -> bool:
    """Whether a line begins like a list of calls, or looks like a call from end to end."""
    body = line.strip("`\r\t ")
    if not body.startswith("[") and not body.endswith((")", "]")):
        return False
    match = _BARE.match(body.lstrip("[\t "))
    return match is not None and match[1] in names


def _native(text: str, tools: Mapping[str, Tool]) -> Reading | None:
    action = read_json_action(text)
    if action is not None:
        return _from_action(action)
    stripped = text.strip()
    bare = _BARE.match(stripped)
    if bare is not None:
        if bare[1] not in tools or not stripped.endswith(")"):
            return None
    elif _LISTED.match(stripped) is None:
        return None
    nodes = parse_call_list(stripped)
    if not nodes:
        return Reading("words")
    return Reading("calls", tuple(_bound(node, tools) for node in nodes))


def _from_action(action: Action) -> Reading:
    calls = tuple(CallNode(call.name, (), tuple(call.arguments.items())) for call in action.calls)
    return Reading(action.status, calls, action.reason)


def _bound(node: CallNode, tools: Mapping[str, Tool]) -> CallNode:
    """Return the call with keywords alone where they fit; the executor says what does not."""
    try:
        call = bind(node, tools)
    except UnreadableCall:
        return node
    return CallNode(call.name, (), tuple(call.arguments.items()))


def _official(text: str) -> Reading:
    calls = official_calls(text)
    return Reading("calls", tuple(calls)) if calls else Reading("words")


def official_calls(text: str) -> list[str]:
    """Return the call strings that the official text decoder makes of a reply.

    It keeps keyword arguments alone, reads every unary operator as minus and every bare name
    as a string, and takes a dict of dicts for a call. Operators between values, which it
    evaluates as Python, are not read here.

    Raises:
        UnreadableCall: it fails on the text, which ends the turn.
    """
    body = text.strip("`\n ")
    if not body.startswith("["):
        body = "[" + body
    if not body.endswith("]"):
        body = body + "]"
    tree = parse_expression(body)
    if isinstance(tree, ast.Call):
        items: list[ast.expr] = [tree]
    elif isinstance(tree, ast.List | ast.Tuple | ast.Set):
        items = tree.elts
    else:
        raise UnreadableCall(f"a {type(tree).__name__} where a list of calls was expected")
    calls = []
    for item in items:
        if not isinstance(item, ast.Call):
            raise UnreadableCall(f"a {type(item).__name__} where a call was expected")
        name, arguments = _resolved_call(item)
        calls.append(_call_text(name, arguments))
    return calls


def _resolved_call(node: ast.Call) -> tuple[str, dict[Any, Any]]:
    parts = []
    function = node.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    arguments = {keyword.arg: _resolved(keyword.value) for keyword in node.keywords}
    return ".".join(reversed(parts)), arguments


def _resolved(node: ast.expr | None) -> Any:
    match node:
        case ast.Constant(value=value):
            return "..." if value is ... else value
        case ast.UnaryOp(operand=ast.Constant(value=int() | float() | complex() as value)):
            return -value
        case ast.List(elts=elts):
            return [_resolved(part) for part in elts]
        case ast.Tuple(elts=elts):
            return tuple([_resolved(part) for part in elts])
        case ast.Dict(keys=keys, values=values):
            try:
                pairs = zip(keys, values, strict=True)
                return {_resolved(key): _resolved(value) for key, value in pairs}
            except TypeError:
                raise UnreadableCall("a dict key that is not a plain value") from None
        case ast.Name(id=name):
            return name
        case ast.Call(keywords=[]):
            return ast.unparse(node)
        case ast.Call():
            name, arguments = _resolved_call(node)
            return {name: arguments}
        case ast.Subscript(value=inner, slice=index):
            return f"{ast.unparse(inner)}[{ast.unparse(index)}]"
    raise UnreadableCall(f"a {type(node).__name__} where a value was expected")


def _call_text(name: Any, arguments: Mapping[Any, Any]) -> str:
    return f"{name}({', '.join(f'{key}={_value_text(v)}' for key, v in arguments.items())})"


def _value_text(value: Any) -> str:
    if not isinstance(value, dict):
        try:
            return repr(value)
        except ValueError as problem:
            raise UnreadableCall(str(problem)) from None
    if not value:
        raise UnreadableCall("an empty dict")
    if all(isinstance(part, dict) for part in value.values()):
        name = next(iter(value))
        return _call_text(name, value[name])
    return "{" + ", ".join(f"'{key}': {_value_text(part)}" for key, part in value.items()) + "}"
