"""Calls in JSON's shapes: every pair of key names that published formats use."""

from __future__ import annotations

from typing import Any

from agentenvs.core import ToolCall
from agentenvs.wrappers.pycalls import bind, quoted_calls
from agentenvs.wrappers.scanner import Scanner
from agentenvs.wrappers.toolset import Toolset
from agentenvs.wrappers.trouble import Unreadable

__all__ = ["Said", "arguments_of", "calls_in"]

_NAMES = (
    "name",
    "tool_name",
    "function_name",
    "tool",
    "function",
    "action",
    "api",
    "api_name",
    "recipient_name",
)
_ARGUMENTS = (
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "action_input",
    "tool_input",
    "kwargs",
    "parameter",
    "function_args",
    "tool_args",
)
_LISTS = ("tool_calls", "function_calls", "calls", "actions", "tool_uses")
_BESIDE = frozenset(
    {"type", "id", "index", "call_id", "tool_call_id", "thought", "thoughts", "reasoning", "role"}
)
_FINAL = frozenset({"final answer", "final_answer"})


class Said(Exception):
    """Raised where a JSON object is a reply in words: LangChain's "Final Answer"."""


def calls_in(
    scan: Scanner, tools: Toolset, value: Any, *, explicit: bool
) -> tuple[list[ToolCall], str | None] | None:
    """Return the calls that a JSON value holds and the words beside them.

    Args:
        scan: the scanner that read `value`; knows what the end of the text left open.
        tools: the tools on offer.
        value: what was read.
        explicit: it stands inside the marks of a call, so that it must be one.

    Returns:
        None where it is no call.

    Raises:
        Unreadable: it is an attempt at a call that does not read.
        Said: it is a final answer in words.
    """
    content: str | None = None
    if isinstance(value, dict):
        for key in _LISTS:
            if isinstance(value.get(key), list | dict) and key not in tools:
                said = value.get("content")
                content = said if isinstance(said, str) else None
                value = value[key]
                break
        else:
            if "tool_calls" in value and value["tool_calls"] is None:
                said = value.get("content")
                return [], said if isinstance(said, str) else None
    items = value if isinstance(value, list) else [value]
    if items and all(isinstance(item, str) for item in items):
        quoted = quoted_calls(scan, tools, items) if isinstance(value, list) else None
        return None if quoted is None else (quoted, content)
    calls: list[ToolCall] = []
    for item in items:
        if isinstance(item, list) and len(items) == 1:
            return calls_in(scan, tools, item, explicit=explicit)
        if not isinstance(item, dict):
            return None
        found = _calls_of(scan, tools, item, explicit=explicit)
        if found is None:
            return None
        calls.extend(found)
    return calls, content


def _calls_of(
    scan: Scanner, tools: Toolset, item: dict[str, Any], *, explicit: bool
) -> list[ToolCall] | None:
    inner = item.get("function", item.get("function_call"))
    if isinstance(inner, dict) and ("name" in inner or explicit):
        item = inner
    for key in _NAMES:
        name = item.get(key)
        if isinstance(name, str) and name.strip():
            break
    else:
        return _keyed(scan, tools, item, explicit=explicit)
    for key in _ARGUMENTS:
        if key in item:
            raw = item[key]
            break
    else:
        return _bare(scan, tools, item, name, explicit=explicit)
    if name.strip().lower() in _FINAL and isinstance(raw, str):
        raise Said(raw)
    name = tools.resolve(name)
    if isinstance(raw, dict) and raw.get("type") == "object" and "properties" in raw:
        return None
    if not explicit and name not in tools and not _holds_object(raw):
        return None
    arguments = arguments_of(scan, tools, name, raw)
    _refuse_cut(scan, raw)
    return [ToolCall(name, arguments)]


def _holds_object(raw: Any) -> bool:
    return isinstance(raw, dict) or (isinstance(raw, str) and raw.lstrip().startswith("{"))


def _keyed(
    scan: Scanner, tools: Toolset, item: dict[str, Any], *, explicit: bool
) -> list[ToolCall] | None:
    """Read `{"cd": {"folder": "a"}}`: the key is the name."""
    if not item or not all(isinstance(raw, dict) for raw in item.values()):
        return None
    for key in item:
        if tools.resolve(key) not in tools and (not explicit or key in _ARGUMENTS):
            return None
    for raw in item.values():
        _refuse_cut(scan, raw)
    return [ToolCall(tools.resolve(key), raw) for key, raw in item.items()]


def _bare(
    scan: Scanner, tools: Toolset, item: dict[str, Any], name: str, *, explicit: bool
) -> list[ToolCall] | None:
    """Read a call without a key for its arguments: none, or the arguments beside the name."""
    name = tools.resolve(name)
    known = name in tools
    if not known and not explicit:
        return None
    if scan.open:
        raise Unreadable("cut", f"the text ends before the arguments of {name[:40]!r}")
    order = tools.parameters(name)
    rest = {key: value for key, value in item.items() if key not in _BESIDE or key in order}
    for key in _NAMES:
        if isinstance(rest.get(key), str) and tools.resolve(rest[key]) == name:
            del rest[key]
            break
    if rest and not (known and all(key in order for key in rest)):
        if explicit:
            raise Unreadable("no_call", f"{min(rest)[:40]!r} is no parameter of {name[:40]!r}")
        return None
    scan.mend("flat" if rest else "no_arguments")
    return [ToolCall(name, rest)]


def _refuse_cut(scan: Scanner, raw: Any) -> None:
    if scan.open and any(raw is item for item in scan.open) and scan.open[0] is not raw:
        raise Unreadable("cut", "the text ends inside a value")


def arguments_of(scan: Scanner, tools: Toolset, name: str, raw: Any) -> dict[str, Any]:
    """Return the arguments that a JSON value stands for.

    Args:
        scan: takes the repairs.
        tools: the tools on offer.
        name: of the function.
        raw: an object; a text that holds one, as OpenAI sends it; a list of positional
            values; or, for a function with one parameter, a bare value.

    Raises:
        Unreadable: it fits no parameters.
    """
    if isinstance(raw, dict):
        return raw
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return {}
    if isinstance(raw, list):
        return bind(scan, tools, name, raw, {}).arguments
    if isinstance(raw, str):
        stripped = raw.strip()
        if stripped[0] == "{":
            return _object_in(scan, stripped)
    sole = tools.sole(name)
    if sole is None:
        raise Unreadable("arguments", f"the arguments of {name[:40]!r} are no object")
    scan.mend("bare")
    return {sole: raw}


def _object_in(scan: Scanner, text: str) -> dict[str, Any]:
    inner = Scanner(text)
    scan.charge(len(text))
    value, end = inner.json_value(0)
    if end != len(text) or not isinstance(value, dict) or inner.open:
        raise Unreadable("arguments", "a text that is no JSON object")
    for repair in inner.repairs:
        scan.mend(repair)
    return value
