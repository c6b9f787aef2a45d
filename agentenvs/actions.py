"""The canonical action text that every environment reads: JSON, strictly."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from agentenvs.core import ToolCall

__all__ = [
    "MAX_CALLS",
    "MAX_DEPTH",
    "Action",
    "canonical",
    "depth_of",
    "read_json_action",
    "refuse_constant",
]

MAX_CALLS = 256
MAX_DEPTH = 64
#: a string of JSON or Python; one in single marks ends with its line
_STRING = re.compile(
    r"""(?sx) "{3}(?:[^"\\]|\\.|"(?!""))*+.{0,3} | '{3}(?:[^'\\]|\\.|'(?!''))*+.{0,3}
    | "(?:[^"\\\n]|\\.)*+.? | '(?:[^'\\\n]|\\.)*+.? """
)
_NO_BRACKETS = re.compile(r"[^\[\](){}]+")
_STEPS = {"[": 1, "{": 1, "(": 1, "]": -1, "}": -1, ")": -1}


@dataclass(frozen=True, slots=True)
class Action:
    """How a text was read.

    Attributes:
        status: "calls" (one or more), "words" (a reply to the user, or an explicit empty list
            of calls), or "malformed" (an attempt at calls that does not read).
        calls: the calls; empty unless status is "calls".
        content: words beside the calls, or the whole text for words.
        reason: what is wrong, for "malformed".
    """

    status: Literal["calls", "words", "malformed"]
    calls: tuple[ToolCall, ...] = ()
    content: str | None = None
    reason: str = ""


def canonical(calls: list[ToolCall] | tuple[ToolCall, ...], content: str | None = None) -> str:
    """Return the canonical action text for `calls` and words beside them."""
    body = {"content": content, "tool_calls": [call.as_dict() for call in calls]}
    return json.dumps(body, ensure_ascii=False)


def depth_of(text: str) -> int:
    """Return the deepest nesting of brackets in `text`, those in strings not counted.

    Strings are JSON's or Python's; one in single marks ends with its line.
    """
    brackets = _NO_BRACKETS.sub("", _STRING.sub("", text))
    return max(0, max(accumulate(map(_STEPS.__getitem__, brackets)), default=0))


def read_json_action(text: str) -> Action | None:
    """Read the canonical JSON action, strictly.

    Args:
        text: `{"content": str | null, "tool_calls": [...]}`, or the list of calls alone;
            each call is `{"name": str, "arguments": {...}}` and nothing else.

    Returns:
        None where `text` is not JSON, or is JSON of another kind than an object with
        `tool_calls` or a list of objects (an empty list counts as words).
    """
    stripped = text.strip()
    if not stripped.startswith(("{", "[")) or not stripped.endswith(("}", "]")):
        return None
    if stripped.count("[") + stripped.count("{") > MAX_DEPTH and depth_of(stripped) > MAX_DEPTH:
        return None
    infinite: list[str] = []

    def finite(digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            infinite.append(digits)
        return number

    try:
        value = json.loads(stripped, parse_constant=refuse_constant, parse_float=finite)
    except (ValueError, RecursionError):
        return None
    action = _action(value)
    if action is not None and action.status == "calls" and infinite:
        reason = f"a number too large for a float: {infinite[0][:24]}"
        return Action("malformed", content=action.content, reason=reason)
    return action


def refuse_constant(name: str) -> float:
    """Raise for NaN and infinities, which Python's JSON decoder reads and JSON does not know."""
    raise ValueError(f"{name} is not JSON")


def _action(value: Any) -> Action | None:
    content: str | None = None
    if isinstance(value, dict):
        if "tool_calls" not in value:
            return None
        said = value.get("content")
        unknown = set(value) - {"content", "tool_calls"}
        if unknown:
            return Action("malformed", reason=f"unknown key {min(unknown)!r} beside tool_calls")
        if said is not None and not isinstance(said, str):
            return Action("malformed", reason="content is neither text nor null")
        content, value = said, value["tool_calls"]
        if value is None:
            value = []
        if not isinstance(value, list):
            return Action("malformed", content=content, reason="tool_calls is not a list")
    elif not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    return _calls(value, content)


def _calls(items: list[Any], content: str | None) -> Action:
    if not items:
        return Action("words", content=content)
    if len(items) > MAX_CALLS:
        return Action("malformed", content=content, reason=f"more than {MAX_CALLS} calls")
    calls: list[ToolCall] = []
    for item in items:
        if not isinstance(item, dict):
            return Action("malformed", content=content, reason="a call is not an object")
        name, arguments = item.get("name"), item.get("arguments", {})
        if not isinstance(name, str) or not name:
            return Action("malformed", content=content, reason="a call has no name")
        if not isinstance(arguments, dict):
            return Action("malformed", content=content, reason=f"arguments of {name} are no object")
        unknown = set(item) - {"name", "arguments"}
        if unknown:
            reason = f"unknown key {min(unknown)!r} in the call of {name}"
            return Action("malformed", content=content, reason=reason)
        calls.append(ToolCall(name, arguments))
    return Action("calls", tuple(calls), content)
