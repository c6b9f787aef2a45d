"""Actions that come as data: calls that a server or a library has parsed already."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from agentenvs.core import ToolCall
from agentenvs.errors import BadAction
from agentenvs.wrappers.decoder import MAX_NESTING
from agentenvs.wrappers.parse import Parse
from agentenvs.wrappers.scanner import Scanner
from agentenvs.wrappers.shapes import Said, calls_in
from agentenvs.wrappers.toolset import Toolset
from agentenvs.wrappers.trouble import Unreadable

__all__ = ["parse_structured"]

_EXPECTED = (
    "Expected an action to be text, a list of calls, or a message with `content` and "
    "`tool_calls`; a call is a ToolCall, {'name', 'arguments'} or OpenAI's {'function': {...}}"
)


def parse_structured(action: object, tools: Toolset) -> Parse:
    """Return structured calls as a `Parse`; what the model got wrong in them is data.

    Args:
        action: a call, a list of calls, or an assistant message, as dicts, `ToolCall`s or
            objects with `model_dump` (pydantic). Arguments may be JSON text, as OpenAI
            sends them. A message without calls is words, whatever its content looks like.
        tools: the tools on offer.

    Raises:
        BadAction: it is of another shape than these.
    """
    value = _plain(action, 0)
    content: str | None = None
    if isinstance(value, dict) and ("content" in value or "tool_calls" in value):
        said = value.get("content")
        if said is not None and not isinstance(said, str):
            raise BadAction(f"{_EXPECTED}; the content is {type(said)}.")
        content = said
        value = value.get("tool_calls")
        value = [] if value is None else value
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadAction(f"{_EXPECTED}; got {str(action)[:200]}.")
    scan = Scanner("", room=32 * _size(value))
    try:
        found = calls_in(scan, tools, value, explicit=True)
        if found is None:
            raise Unreadable("no_call", "an object that names no function")
        _check(found[0])
    except (Unreadable, Said) as trouble:
        reason = str(trouble) if isinstance(trouble, Unreadable) else "no_call: a final answer"
        return Parse([], content, [], "malformed", reason, False, "malformed")
    repairs = list(scan.repairs)
    if not found[0]:
        return Parse([], content, repairs, "words")
    return Parse(found[0], content, repairs, "calls", "", not repairs, "structured")


def _plain(value: Any, depth: int) -> Any:
    if depth > 2 * MAX_NESTING:
        raise BadAction(f"{_EXPECTED}; it is nested too deeply.")
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, ToolCall):
        return {"name": value.name, "arguments": _plain(value.arguments, depth + 1)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return _plain(dump(), depth + 1)
    raise BadAction(f"{_EXPECTED}; got {type(value)}.")


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(1 + _size(item) for item in value.values())
    if isinstance(value, list):
        return sum(1 + _size(item) for item in value)
    return 1


def _check(calls: list[ToolCall]) -> None:
    stack: list[tuple[Any, int]] = [(call.arguments, 0) for call in calls]
    while stack:
        item, depth = stack.pop()
        if depth > MAX_NESTING:
            raise Unreadable("too_deep", f"nested deeper than {MAX_NESTING}")
        if isinstance(item, dict):
            stack.extend((inner, depth + 1) for inner in item.values())
        elif isinstance(item, list):
            stack.extend((inner, depth + 1) for inner in item)
        elif isinstance(item, float) and not math.isfinite(item):
            raise Unreadable("not_literal", f"{item} is no JSON number")
