"""What stands inside the marks of a call: JSON, Python, elements, or a name and JSON."""

# ruff: noqa: RUF001 - models write full-width marks
from __future__ import annotations

import re

from agentenvs.core import ToolCall
from agentenvs.wrappers.elements import ELEMENT, GLM_KEY, read_element, read_glm
from agentenvs.wrappers.pycalls import NAME, read_call, read_call_list
from agentenvs.wrappers.scanner import Scanner
from agentenvs.wrappers.shapes import arguments_of, calls_in
from agentenvs.wrappers.toolset import Toolset
from agentenvs.wrappers.trouble import Unreadable

__all__ = ["read_body", "starts_json"]

_WIRE_NAME = re.compile(r"[^\W\d][\w.\-/]{0,255}(?::\d{1,6}(?!\w))?")
_SEPARATOR = re.compile(
    r"\s*(?:\[ARGS\]|\[CALL_ID\][\w\-]{0,64}|<\|constrain\|>|<\|message\|>"
    r"|<[|｜]tool[▁_]sep[|｜]>|<\|tool_call_argument_begin\|>|(?:json|code)(?=\s*(?:<\||\{)))"
)
_FENCE = re.compile(r"\s*```[ \t\r]*[\w+\-]{0,24}[ \t\r]*(?:\n|(?=[\[{]))")
_FENCE_END = re.compile(r"\s*```")
_JSON_START = re.compile(r"\{|\[\s*(?:\{|\[\s*\{|[\"'“]|\])")
_NAME_CLOSE = re.compile(r"\s*(?:</tool_call>|</function_call>|<arg_key>)")
_GOES_ON = re.compile(
    r"[^\W\d][\w.\-:/]{0,255}\s{0,8}(?:[(（{]|=\s*[^\W\d][\w.]*\(|\[ARGS\]|<arg_key>|<[|｜]tool)"
    r"|call:"
)
_LIST_OF_CALLS = re.compile(r"[\[(]\s*[^\W\d][\w.\-]*\s?[(（]")
_CALLED = re.compile(r"[ \t\r]*[(（]")
_PRINT = re.compile(r"print\s*\(\s*(?=[^\W\d][\w.]*\s*\()")
_PRINT_NAME = re.compile(r"print\s*\(\s*[^\W\d]\w*\s*\)")
_ASSIGNED = re.compile(r"(?:[^\W\d]\w*\s*=(?!=)\s*|await\s+|return\s+)")


def starts_json(text: str, at: int) -> bool:
    """Return whether an object, or a list of objects or strings, starts at `at`."""
    return _JSON_START.match(text, at) is not None


def read_body(
    scan: Scanner, tools: Toolset, at: int, *, fenced: bool = False
) -> tuple[list[ToolCall], bool, int]:
    """Read calls from `at` on, as long as there are any.

    Args:
        scan: the scanner of the text.
        tools: the tools on offer.
        at: where to begin.
        fenced: a code fence is open, so that the next one closes it.

    Returns:
        The calls, whether anything was read at all (an empty list counts), and the
        position behind the last one.

    Raises:
        Unreadable: an item does not read, or was cut.
    """
    calls: list[ToolCall] = []
    read = False
    text, size = scan.text, scan.size
    while True:
        scan.charge(1)
        at = scan.skip(at)
        if at >= size:
            if read:
                return calls, True, at
            raise Unreadable("cut", "the text ends behind the mark of a call")
        char = text[at]
        if char in ",;" and read:
            at += 1
            continue
        if char == "`":
            if fenced:
                return calls, read, at
            fence = _FENCE.match(text, at) or _FENCE_END.match(text, at)
            if fence is None:
                return calls, read, at
            at = fence.end()
            continue
        if starts_json(text, at):
            found, at = _json_item(scan, tools, at)
        elif char in "[(":
            if read and not _LIST_OF_CALLS.match(text, at):
                return calls, True, at
            found, at = read_call_list(scan, tools, at)
        elif char == "<":
            match = ELEMENT.match(text, at)
            if match is None:
                return calls, read, at
            call, at = read_element(scan, tools, match)
            found = [call]
        elif char.isalpha() or char == "_":
            if read and not fenced and not _GOES_ON.match(text, at):
                return calls, True, at
            found, at = _named_item(scan, tools, at)
        elif read:
            return calls, read, at
        else:
            raise Unreadable("no_call", f"{text[at : at + 24]!r} where a call belongs")
        calls.extend(found)
        read = True


def _json_item(scan: Scanner, tools: Toolset, at: int) -> tuple[list[ToolCall], int]:
    value, end = scan.json_value(at)
    found = calls_in(scan, tools, value, explicit=True)
    if found is None:
        raise Unreadable("no_call", "JSON that names no function")
    return found[0], end


def _named_item(scan: Scanner, tools: Toolset, at: int) -> tuple[list[ToolCall], int]:
    text = scan.text
    shown = _PRINT_NAME.match(text, at)
    if shown is not None and "print" not in tools:
        return [], shown.end()
    assigned = _ASSIGNED.match(text, at)
    if assigned is not None:
        scan.mend("assignment")
        at = assigned.end()
        if text.startswith("[", at):
            return read_call_list(scan, tools, at)
    wrapped = _PRINT.match(text, at) if "print" not in tools else None
    if wrapped is not None:
        call, at = read_call(scan, tools, wrapped.end())
        at = scan.skip(at)
        return [call], at + 1 if text.startswith(")", at) else at
    match = NAME.match(text, at)
    if match is not None and _CALLED.match(text, match.end()):
        call, at = read_call(scan, tools, at)
        return [call], at
    if text.startswith("call:", at):
        at = scan.skip(at + 5)
    match = _WIRE_NAME.match(text, at)
    if match is None:
        raise Unreadable("no_call", f"{text[at : at + 24]!r} where a call belongs")
    return _name_and_arguments(scan, tools, match)


def _name_and_arguments(
    scan: Scanner, tools: Toolset, match: re.Match[str]
) -> tuple[list[ToolCall], int]:
    text = scan.text
    name, at = match.group(), match.end()
    if GLM_KEY.match(text, at):
        call, at = read_glm(scan, tools, name, at)
        return [call], at
    separated = False
    while True:
        separator = _SEPARATOR.match(text, at)
        if separator is None:
            break
        separated = True
        at = separator.end()
        kind = _WIRE_NAME.match(text, at)
        if name == "function" and kind is not None and "[" not in separator.group():
            name, at = kind.group(), kind.end()
    name = tools.resolve(name)
    fence = _FENCE.match(text, at)
    start = scan.skip(fence.end() if fence else at)
    scan.charge(max(1, start - match.start()))
    if start < scan.size and text[start] == "{":
        value, end = scan.json_value(start)
        if scan.open and scan.open[0] is not value:
            raise Unreadable("cut", "the text ends inside a value")
        close = _FENCE_END.match(text, end) if fence else None
        return [ToolCall(name, arguments_of(scan, tools, name, value))], (
            close.end() if close else end
        )
    if _NAME_CLOSE.match(text, at):
        return [ToolCall(name, {})], at
    if start >= scan.size or text.find(">", start, start + 64) < 0:
        raise Unreadable("cut", "the text ends behind a name")
    if separated or text[start] != "<":
        raise Unreadable("no_call", f"{text[start : start + 24]!r} behind the name {name[:40]!r}")
    return [ToolCall(name, {})], at
