"""Calls without marks: lines that are only calls, and lists or JSON amid prose."""

# ruff: noqa: RUF001 - models write full-width marks
from __future__ import annotations

import re

from agentenvs.core import ToolCall
from agentenvs.wrappers.pycalls import NAME, read_call, read_call_list
from agentenvs.wrappers.react import bracket_action
from agentenvs.wrappers.scanner import Scanner
from agentenvs.wrappers.toolset import Toolset
from agentenvs.wrappers.trouble import Unreadable

__all__ = ["read_line"]

_BULLET = r"(?:(?:[-*+•·>]|\(?\d{1,3}[.):]|>>>)[ \t\r]*)?"
_HEAD = re.compile(
    rf"[ \t\r]*{_BULLET}{_BULLET}{_BULLET}[*_`]{{0,3}}"
    r"(?:(?:assistant|(?:tool|function)(?:[ _]calls?)?|calls?|step[ ]\d{1,3}|command|answer"
    r"|response)[*_]{0,2}[:：][*_]{0,2}[ \t\r]*)?`{0,2}",
    re.IGNORECASE,
)
_PREFIX = re.compile(
    r"(?:[^\W\d]\w{0,64}[ \t\r]{0,4}=(?!=)|await[ ]|return[ ]|print\(|call:)[ \t\r]*"
)
_TAIL = re.compile(
    r"[ \t\r]*[*_`.!;,]{0,4}[ \t\r]*(?:(?:#|//|--)[^\n]*)?(?=\n|\Z|</?[\w|｜]|<[|｜])"
)
_SEPARATOR = re.compile(r"[ \t\r]*(?:;|,|&&|\|\||\band[ ]then\b|→)?[ \t\r]*")
_CALLED = re.compile(r"[ \t\r]?[(（]")
_BRACKET = re.compile(r"[ \t\r]?\[")


def read_line(scan: Scanner, tools: Toolset, at: int) -> tuple[list[ToolCall], str, int] | None:
    """Read the line at `at` where it holds calls and nothing else; a call may span lines.

    Returns:
        The calls, their format and the position behind them; None where there is prose.

    Raises:
        Unreadable: a call of a tool on offer does not read.
    """
    text = scan.text
    head = _HEAD.match(text, at)
    at = head.end() if head else at
    calls: list[ToolCall] = []
    repairs = dict(scan.repairs)
    form = "pylist"
    while True:
        closing = 0
        for _ in range(3):
            prefix = _PREFIX.match(text, at)
            if prefix is None:
                break
            closing += prefix.group().startswith("print(")
            scan.mend("assignment")
            at = prefix.end()
        item = _item(scan, tools, at)
        if item is None:
            scan.repairs = repairs
            return None
        found, bracket, at = item
        calls.extend(found)
        form = "webshop" if bracket else form
        for _ in range(closing):
            if text.startswith(")", at):
                at += 1
        tail = _TAIL.match(text, at)
        if tail is not None:
            return calls, form, tail.end()
        between = _SEPARATOR.match(text, at)
        at = between.end() if between else at
        scan.mend("separators")


def _item(scan: Scanner, tools: Toolset, at: int) -> tuple[list[ToolCall], bool, int] | None:
    text = scan.text
    if text.startswith(("[", "("), at):
        inner = NAME.match(text, scan.skip(at + 1))
        if inner is None or not (_CALLED.match(text, inner.end())):
            return None
        calls, end = read_call_list(scan, tools, at)
        return calls, False, end
    match = NAME.match(text, at)
    if match is None:
        return None
    name = tools.resolve(match.group())
    if _CALLED.match(text, match.end()):
        try:
            call, end = read_call(scan, tools, at)
        except Unreadable:
            tight = text[match.end()] in "(（"
            whole = scan.last == ")" and at < 64 and not text[:at].strip()
            if tight and (name in tools or whole):
                raise
            return None
        return [call], False, end
    if _BRACKET.match(text, match.end()):
        found = bracket_action(scan, tools, at)
        if found is not None:
            return [found[0]], True, found[1]
    return None
