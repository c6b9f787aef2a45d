"""Code fences: calls where a block holds calls and nothing else, words otherwise."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentenvs.core import ToolCall
from agentenvs.wrappers.body import read_body
from agentenvs.wrappers.pycalls import NAME
from agentenvs.wrappers.scanner import Scanner
from agentenvs.wrappers.toolset import Toolset
from agentenvs.wrappers.triggers import CALL_JSON
from agentenvs.wrappers.trouble import Unreadable

__all__ = ["HOPELESS", "INVENTED_FENCE", "Fence", "past_brackets", "read_fence"]

#: reading on after these would only cost more of the same
HOPELESS = frozenset({"too_large", "too_deep"})

#: behind calls, a block of results that the model made up
INVENTED_FENCE = re.compile(
    r"```[ \t\r]*(?:tool_?)?(?:outputs?|results?|responses?)\b", re.IGNORECASE
)
_FENCE = re.compile(r"```[ \t\r]*([\w+\-.]{0,24})[^\n`]{0,80}(\n|(?=[\[{])|\Z)")
_OWN_FENCES = frozenset({"tool_code", "tool_call", "tool_calls", "function_call", "tool", "action"})
_OPEN_FENCES = _OWN_FENCES | frozenset(
    {"", "json", "json5", "jsonc", "python", "py", "python3", "pythonic", "xml", "text", "txt"}
    | {"plaintext", "plain", "javascript", "js"}
)


@dataclass(frozen=True, slots=True)
class Fence:
    """What a fence brought.

    Attributes:
        end: where to go on.
        said: where words begin that reach to `end`; read only without calls.
        calls: the calls in it, None for words.
        form: the format that they are counted as.
        own: the fence itself says that it holds calls.
    """

    end: int
    said: int
    calls: list[ToolCall] | None = None
    form: str = "fence"
    own: bool = False


def read_fence(scan: Scanner, tools: Toolset, at: int) -> Fence:
    """Read the block whose fence opens at `at`.

    Raises:
        Unreadable: calls in it do not read, or stand among other code.
    """
    text = scan.text
    opened = _FENCE.match(text, at)
    if opened is None:
        return Fence(at + 3, at + 3)
    language = opened[1].lower()
    if language not in _OPEN_FENCES:
        return _words(scan, at, opened.end())
    start = scan.skip(opened.end())
    if start >= scan.size or text[start] in "`<":
        return Fence(start, start)
    own = language in _OWN_FENCES
    before = dict(scan.repairs)
    try:
        calls, read, end = read_body(scan, tools, start, fenced=True)
    except Unreadable as trouble:
        if own or _is_attempt(scan, tools, start, trouble):
            raise
        scan.repairs = before
        return _words(scan, at, opened.end())
    known = any(call.name in tools for call in calls)
    closed = scan.skip(end)
    if not read or (closed < scan.size and not text.startswith("```", closed)):
        if known:
            raise Unreadable("syntax", "a code block that holds more than calls")
        return _words(scan, at, opened.end())
    if not (own or known or text[start] in "[{"):
        return _words(scan, at, opened.end())
    if not own:
        scan.mend("fence")
    after = min(closed + 3, scan.size)
    return Fence(after, after, calls, "gemma" if language == "tool_code" else "fence", own)


def _words(scan: Scanner, at: int, inside: int) -> Fence:
    end = scan.text.find("```", inside)
    end = scan.size if end < 0 else end + 3
    scan.spent += end - at
    return Fence(end, at)


def _is_attempt(scan: Scanner, tools: Toolset, start: int, trouble: Unreadable) -> bool:
    if trouble.kind == "no_call":
        return False
    if trouble.kind in HOPELESS or CALL_JSON.match(scan.text, start):
        return True
    name = NAME.match(scan.text, past_brackets(scan, start))
    return name is not None and tools.resolve(name.group()) in tools


def past_brackets(scan: Scanner, at: int) -> int:
    """Return the first position from `at` on that is no opening bracket and no blank."""
    end = at
    while end < scan.size and scan.text[end] in "[( \n\t":
        end += 1
    scan.charge(end - at)
    return end
