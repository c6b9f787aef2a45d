"""Lines with a label: ReAct's `Action:` and `Action Input:`, Qwen-Agent's, and answers."""

# ruff: noqa: RUF001 - models write full-width marks
from __future__ import annotations

import re
from typing import Any

from agentenvs.core import ToolCall
from agentenvs.wrappers.body import starts_json
from agentenvs.wrappers.pycalls import read_call, read_call_list
from agentenvs.wrappers.scanner import Scanner
from agentenvs.wrappers.shapes import arguments_of, calls_in
from agentenvs.wrappers.toolset import Toolset
from agentenvs.wrappers.trouble import Unreadable
from agentenvs.wrappers.typed import NOT_THERE, as_literal, by_kinds

__all__ = ["bracket_action", "read_action"]

_LINE = re.compile(r"[^\n]*")
_FENCE = re.compile(r"\s*```[ \t\r]*[\w+\-]{0,24}[ \t\r]*\n?")
_FENCE_END = re.compile(r"\s*```")
_NAME = re.compile(r"[`*\"']{0,2}([^\W\d][\w.\-]{0,255})[`*\"']{0,2}[ \t\r]*[.]?[ \t\r]*(?=\n|\Z)")
_CALLED = re.compile(r"`{0,3}([^\W\d][\w.\-]{0,255})[ \t\r]*[(（]")
_BRACKET = re.compile(r"`{0,3}([^\W\d]\w{0,255})[ \t\r]?\[")
_INPUT = re.compile(
    r"\s*(?:[*_#]{0,3}Action[ _]?(?:Input|Arguments|Args|Parameters)(?:[ ]\d{1,3})?[*_]{0,2}"
    r"[ \t\r]*[:：][*_]{0,2}"
    r"|✿ARGS✿[ \t\r]*[:：])[ \t\r]*",
    re.IGNORECASE,
)
_NEXT_LABEL = re.compile(
    r"\n[ \t\r]*[*_#]{0,3}(?:Observations?|Thoughts?|Action(?:[ _]Input)?|Final[ ]Answer|Question"
    r"|User|Human|PAUSE)\b[^\n:：]{0,8}[:：]|\n[ \t\r]*PAUSE\b|\n✿|<\|im_end\|>|</s>|<\|eot_id\|>"
    r"|<\|endoftext\|>",
    re.IGNORECASE,
)
_CLOSERS = {"[": "]", '"': '"', "'": "'", "`": "`"}
_NO_INPUT = frozenset({"none", "(none)", "n/a", "na", "null"})
_NOTHING = _NO_INPUT | {"no action", "no_action", "finish"}


def read_action(scan: Scanner, tools: Toolset, at: int) -> tuple[list[ToolCall] | None, int]:
    """Read what follows the label `Action:`.

    Returns:
        The calls, None where the line says that there is no action, and the position behind.

    Raises:
        Unreadable: an action that does not read.
    """
    text = scan.text
    fence = _FENCE.match(text, at)
    start = scan.skip(fence.end() if fence else at)
    if start >= scan.size:
        raise Unreadable("cut", "the text ends behind a label")
    calls: list[ToolCall] | None
    called, bracket = _CALLED.match(text, start), _BRACKET.match(text, start)
    if starts_json(text, start):
        value, end = scan.json_value(start)
        found = calls_in(scan, tools, value, explicit=True)
        if found is None:
            raise Unreadable("no_call", "JSON that names no function")
        calls = found[0]
    elif text[start] == "[":
        calls, end = read_call_list(scan, tools, start)
    elif called is not None:
        call, end = read_call(scan, tools, called.start(1))
        calls = [call]
    elif bracket is not None:
        found_action = bracket_action(scan, tools, bracket.start(1))
        if found_action is None:
            return None, start
        calls, end = [found_action[0]], found_action[1]
    else:
        calls, end = _named(scan, tools, start)
    close = _FENCE_END.match(text, end) if fence else None
    return calls, close.end() if close else end


def _named(scan: Scanner, tools: Toolset, at: int) -> tuple[list[ToolCall] | None, int]:
    match = _NAME.match(scan.text, at)
    if match is None:
        line = _LINE.match(scan.text, at)
        return None, line.end() if line else at
    name = tools.resolve(match[1])
    if name.lower() in _NOTHING and name not in tools:
        return None, match.end()
    given = _INPUT.match(scan.text, match.end())
    if given is None:
        if name not in tools:
            return None, match.end()
        _refuse_cut(scan, tools, name, match.end())
        scan.mend("no_arguments")
        return [ToolCall(name, {})], match.end()
    arguments, end = _input(scan, tools, name, given.end())
    return [ToolCall(name, arguments)], end


def _input(scan: Scanner, tools: Toolset, name: str, at: int) -> tuple[dict[str, Any], int]:
    text = scan.text
    fence = _FENCE.match(text, at)
    start = fence.end() if fence else at
    blank = scan.skip(start)
    if blank < scan.size and text[blank] == "{":
        value, end = scan.json_value(blank)
        if not isinstance(value, dict) or (scan.open and scan.open[0] is not value):
            raise Unreadable("cut", "the text ends inside a value")
        close = _FENCE_END.match(text, end) if fence else None
        return value, close.end() if close else end
    stop = _NEXT_LABEL.search(text, max(at - 1, 0))
    end = stop.start() if stop else scan.size
    scan.charge(max(1, end - at))
    bare = text[start:end].strip()
    if fence:
        bare = bare.removesuffix("```").strip()
    if not bare or (bare.lower() in _NO_INPUT and not tools.required(name)):
        _refuse_cut(scan, tools, name, end)
        return {}, end
    return _bare(scan, tools, name, bare), end


def _refuse_cut(scan: Scanner, tools: Toolset, name: str, at: int) -> None:
    if scan.skip(at) >= scan.size and tools.required(name):
        raise Unreadable("cut", f"the text ends before the arguments of {name[:40]!r}")


def _bare(scan: Scanner, tools: Toolset, name: str, bare: str) -> dict[str, Any]:
    if len(bare) > 2 and bare[0] == bare[-1] == "`":
        bare = bare.strip("`").strip() or "`"
    order = tools.parameters(name)
    key, sign, _ = bare.partition("=")
    if sign and key.strip() in order:
        inner = Scanner(f"{name}({bare})")
        scan.charge(len(bare))
        call, end = read_call(inner, tools, 0)
        if end == inner.size:
            return call.arguments
    if bare[0] in _CLOSERS:
        value = as_literal(scan, bare)
        if isinstance(value, list) and not tools.is_kind(name, tools.sole(name) or "", "array"):
            return arguments_of(scan, tools, name, value)
        if value is not NOT_THERE:
            return arguments_of(scan, tools, name, [value])
        if _CLOSERS[bare[0]] not in bare[1:]:
            raise Unreadable("cut", "the text ends inside a value")
    sole = tools.sole(name)
    if sole is None:
        raise Unreadable("arguments", f"bare text for the parameters of {name[:40]!r}")
    return {sole: by_kinds(scan, bare, tools.kinds(name, sole))}


def bracket_action(scan: Scanner, tools: Toolset, at: int) -> tuple[ToolCall, int] | None:
    """Read `search[red shoes]`: one text for a function with one parameter.

    Returns:
        None where no tool on offer is meant.

    Raises:
        Unreadable: the brackets are empty or were cut.
    """
    match = _BRACKET.match(scan.text, at)
    if match is None:
        return None
    name = match[1] if match[1] in tools else match[1].lower()
    sole = tools.sole(name)
    if name not in tools or sole is None:
        return None
    line = _LINE.match(scan.text, match.end())
    limit = line.end() if line else match.end()
    scan.charge(limit - at)
    end = _balanced(scan.text, match.end(), limit)
    if end < 0 and limit < scan.size:
        end = scan.text.rfind("]", match.end(), limit)
    if end < 0:
        raise Unreadable("cut", "the text ends inside brackets")
    bare = scan.text[match.end() : end].strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'" and bare[0] not in bare[1:-1]:
        scan.mend("quotes")
        bare = bare[1:-1].strip()
    if not bare:
        raise Unreadable("arguments", f"nothing in the brackets of {name}")
    return ToolCall(name, {sole: by_kinds(scan, bare, tools.kinds(name, sole))}), end + 1


def _balanced(text: str, start: int, limit: int) -> int:
    depth = 1
    for at in range(start, limit):
        if text[at] == "[":
            depth += 1
        elif text[at] == "]":
            depth -= 1
            if not depth:
                return at
    return -1
