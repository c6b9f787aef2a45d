"""One call string of BFCL as a syntax tree, with the official texts for what does not read."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from typing import Any

from agentenvs.syntax import CallNode, UnreadableCall, parse_call

__all__ = ["read_call", "read_plain", "rewritten"]

Plain = tuple[str, list[Any], dict[str, Any]]

_WORDS = frozenset(keyword.kwlist)
_HEAD = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\(")
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_VALUE = (
    r"('[^'\\\n\r\0]*'"
    r'|"[^"\\\n\r\0]*"'
    r"|-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?"
    r"|True|False|None)[ ]*"
)
_PLAIN = re.compile(rf"([ ]*(?:({_NAME})[ ]*=[ ]*)?{_VALUE}([,)]))")
_ARGUMENT = re.compile(rf"[ ]*(?:({_NAME})[ ]*=[ ]*)?(?:{_VALUE}([,)])|(\[))")
_ITEM = re.compile(rf"[ ]*{_VALUE}([,\]])")
_AFTER_LIST = re.compile(r"[ ]*([,)])")
_SHORT = 1_000
_NAMED = {"True": True, "False": False, "None": None}
_CALLEE = re.compile(r"\b([a-zA-Z_]\w*)\s*(?=\()")


def rewritten(text: str, known: Callable[[str], str | None]) -> str:
    """Return `text` as the official executor rewrites it before evaluation.

    Every name before a "(" is replaced by what `known` returns for it, and the white space
    between the two is lost; names inside string literals are not excepted.
    """

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        return known(name) or name

    return _CALLEE.sub(replace, text)


def read_call(text: str, *, nested: bool) -> CallNode:
    """Read one call string.

    Args:
        text: for example `cd(folder='a')` or `cd('a')`.
        nested: also read, as a value, a call, a constant index on one, `str()` of one, and a
            bare name.

    Raises:
        UnreadableCall: it is no such call; `python` has Python's own text for what is no Python.
    """
    plain = read_plain(text)
    if plain is not None:
        name, args, kwargs = plain
        return CallNode(name, tuple(args), tuple(kwargs.items()))
    if text.isidentifier():
        raise UnreadableCall(f"name {text!r} is not defined")
    return parse_call(text, nested=nested)


def read_plain(text: str) -> Plain | None:
    """Read the common shapes fast, plain values and lists of them; None for any other.

    Returns:
        The name, positional values and keyword values, all fresh objects.
    """
    head = _HEAD.match(text)
    if head is None or not text.isascii():
        return None
    name = head[1]
    start = head.end()
    if text[start:] == ")":
        return None if name in _WORDS else (name, [], {})
    arguments = _plain_values(text, start) or _values_and_lists(text, start)
    if arguments is None or name in _WORDS:
        return None
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for key, value in arguments:
        if key:
            kwargs[key] = value
        elif kwargs:
            return None
        else:
            args.append(value)
    if len(args) + len(kwargs) != len(arguments) or not _WORDS.isdisjoint(kwargs):
        return None
    return name, args, kwargs


def _plain_values(text: str, start: int) -> list[tuple[str, Any]] | None:
    """Read arguments that are all plain values, in one go."""
    if len(text) > _SHORT:
        return None
    found = _PLAIN.findall(text, start)
    if sum([len(whole) for whole, _, _, _ in found]) != len(text) - start:
        return None
    ends = "".join([end for _, _, _, end in found])
    if ends.find(")") != len(ends) - 1:
        return None
    return [(name, _value(written)) for _, name, written, _ in found]


def _values_and_lists(text: str, start: int) -> list[tuple[str, Any]] | None:
    """Read arguments that are plain values or lists of them, one after the other."""
    arguments: list[tuple[str, Any]] = []
    end = ","
    while end == ",":
        match = _ARGUMENT.match(text, start)
        if match is None:
            return None
        name, written, end, opening = match.groups()
        start = match.end()
        if opening is None:
            arguments.append((name or "", _value(written)))
            continue
        items = []
        mark = ","
        while mark == ",":
            item = _ITEM.match(text, start)
            if item is None:
                return None
            written, mark = item.groups()
            items.append(_value(written))
            start = item.end()
        after = _AFTER_LIST.match(text, start)
        if after is None:
            return None
        end, start = after[1], after.end()
        arguments.append((name or "", items))
    return arguments if start == len(text) else None


def _value(written: str) -> Any:
    first = written[0]
    if first in "'\"":
        return written[1:-1]
    if first in "TFN":
        return _NAMED[written]
    return float(written) if "." in written else int(written)
