"""Calls that a server has parsed already."""

from __future__ import annotations

import json
import math
from typing import Any

from agentenvs.actions import MAX_CALLS, MAX_DEPTH, depth_of, refuse_constant
from agentenvs.core import ToolCall
from agentenvs.harness.policies.endpoint.body import Names

__all__ = ["as_malformed", "read_calls", "whole"]


def whole(text: str) -> str:
    """Join halves of surrogate pairs, and mark those that have no other half.

    A model whose tokens are pieces of characters may stop between two of them.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_calls(listed: list[Any], names: Names) -> tuple[ToolCall, ...] | None:
    """Read `tool_calls` of a message.

    Args:
        listed: objects `{"function": {"name": str, "arguments": str}}`; arguments are an object
            as JSON text, an object as it is, or nothing.
        names: as which tools were offered.

    Returns:
        The calls, or None where one of them cannot be read.
    """
    if len(listed) > MAX_CALLS:
        return None
    calls = [_read(item, names) for item in listed]
    known = tuple(call for call in calls if call is not None)
    return known if len(known) == len(calls) else None


def _read(item: Any, names: Names) -> ToolCall | None:
    function = item.get("function") if isinstance(item, dict) else None
    if not isinstance(function, dict):
        return None
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not name:
        return None
    if arguments is None or arguments == "":
        arguments = {}
    elif not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    if isinstance(arguments, str):
        arguments = _object(arguments)
    return None if arguments is None else ToolCall(names.own(name), arguments)


def _object(text: str) -> dict[str, Any] | None:
    if text.count("[") + text.count("{") > MAX_DEPTH and depth_of(text) > MAX_DEPTH:
        return None
    try:
        value = json.loads(text, parse_constant=refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if "\\u" in text:
        value = json.loads(whole(json.dumps(value, ensure_ascii=False)))
    return dict(value)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large for a float")
    return number


def as_malformed(listed: list[Any], content: str) -> str:
    """Return calls that cannot be read as text that no parser takes for words.

    The arguments stay the text that they came as, where canonical action text has an object.
    """
    shown = []
    for item in listed[: MAX_CALLS + 1]:
        function = item.get("function") if isinstance(item, dict) else None
        body = function if isinstance(function, dict) else {}
        arguments = body.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        shown.append({"name": body.get("name"), "arguments": text})
    return json.dumps({"content": content or None, "tool_calls": shown}, ensure_ascii=False)
