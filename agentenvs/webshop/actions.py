"""From an action text to searches and clicks: the native grammar and the canonical JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from agentenvs.actions import read_json_action
from agentenvs.core import Rules, Tool, ToolCall

__all__ = ["TOOLS", "Call", "Reading", "read"]

#: an attempt at a call: a word before a bracket, or JSON with names
_ATTEMPT = re.compile(r"\s*(?:\w{1,40}\s*\[|[\[{].*\"name\")", re.DOTALL)
_ARGUMENTS = {"search": "query", "click": "element"}
_NO_ACTION = "no action: write search[...] or click[...]"
_MISREAD = "not readable: write search[words] or click[label], in lower case, at the very start"
_NO_JSON = "these calls are not JSON"

TOOLS = (
    Tool(
        "search",
        "Search the shop for products; works where the page has a search bar.",
        {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "words to search for"}},
            "required": ["query"],
        },
    ),
    Tool(
        "click",
        "Click a button, a product id or an option value of the page that is shown.",
        {
            "type": "object",
            "properties": {
                "element": {"type": "string", "description": "what to click, as the page names it"}
            },
            "required": ["element"],
        },
    ),
)


class Call(NamedTuple):
    """One search or click.

    Attributes:
        name: "search", "click", or a name that nothing answers to.
        argument: the query or the element.
        problem: why it cannot be carried out, "" where it reads.
    """

    name: str
    argument: str = ""
    problem: str = ""


class Reading(NamedTuple):
    """How an action was read.

    Attributes:
        status: "calls" (one or more), "words" (no action) or "malformed".
        calls: what to carry out, in order.
        reason: what is wrong, where there are no calls.
        native: whether it is in the benchmark's own grammar, one call then, or plain words; a
            reply to JSON calls is a tool's message.
    """

    status: Literal["calls", "words", "malformed"]
    calls: tuple[Call, ...] = ()
    reason: str = ""
    native: bool = False


def read(text: str, rules: Rules = "official") -> Reading:
    """Read an action; never raises on text.

    Canonical JSON is read first, then `name[argument]` on the first line. Under "official"
    this has the quirks of the original's pattern: text behind the bracket does not count,
    text before the name makes it another name, and so does a bracket in the argument. Under
    "fixed" the argument runs from the first opening bracket to the last closing one.
    """
    action = read_json_action(text)
    if action is None:
        return _native(text, rules)
    if action.status == "calls":
        return Reading("calls", tuple(map(_call, action.calls)))
    if action.status == "malformed":
        return Reading("malformed", (), action.reason)
    return Reading("words", (), _NO_ACTION, native=True)


def _native(text: str, rules: Rules) -> Reading:
    line = text.partition("\n")[0]
    end = line.rfind("]")
    # What the pattern (.+)\[(.+)\] matches, without its quadratic time on hostile lines.
    begin = line.find("[") if rules == "fixed" else line.rfind("[", 1, max(end - 1, 0))
    name = line[:begin]
    if 0 < begin < end - 1 and name in _ARGUMENTS:
        return Reading("calls", (Call(name, line[begin + 1 : end]),), native=True)
    if _ATTEMPT.match(text):
        native = not text.lstrip().startswith(("{", "["))
        return Reading("malformed", (), _MISREAD if native else _NO_JSON, native)
    return Reading("words", (), _NO_ACTION, native=True)


def _call(call: ToolCall) -> Call:
    name, arguments = call.name, call.arguments
    wanted = _ARGUMENTS.get(name)
    if wanted is None:
        return Call(name, "", _unknown(name))
    return Call(name, *_argument(name, wanted, arguments))


def _argument(name: str, wanted: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """Return the one argument and "", or "" and what is wrong with it."""
    value = arguments.get(wanted)
    for key in arguments:
        if key != wanted:
            return "", f"{name} takes {wanted!r} alone, not {key[:80]!r}"
    if not isinstance(value, str):
        return "", f"{name} wants {wanted!r}, a text"
    if not value:
        return "", f"{name} wants {wanted!r} not to be empty"
    return value, ""


def _unknown(name: str) -> str:
    return f"there is no action {name[:80]!r}; there are search and click"
