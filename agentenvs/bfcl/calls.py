"""One call string of BFCL as a syntax tree, with the official texts for what does not read."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentenvs.syntax import CallNode, UnreadableCall, parse_call_list

__all__ = ["call_text", "read_call", "rewritten"]

_WORDS = frozenset(keyword.kwlist)
_HEAD = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\(")
_VALUE = (
    r"(?:'([^'\\\n\r\0]*)'"
    r'|"([^"\\\n\r\0]*)"'
    r"|(-?(?:0|[1-9][0-9]{0,17}))(\.[0-9]{1,17})?"
    r"|(True|False|None))[ ]*"
)
_ARGUMENT = re.compile(rf"[ ]*(?:([A-Za-z_][A-Za-z0-9_]*)[ ]*=[ ]*)?(?:{_VALUE}([,)])|(\[))")
_ITEM = re.compile(rf"[ ]*{_VALUE}([,\]])")
_AFTER_LIST = re.compile(r"[ ]*([,)])")
_NAMED = {"True": True, "False": False, "None": None}
_CALLEE = re.compile(r"\b([a-zA-Z_]\w*)\s*(?=\()")


def call_text(name: str, arguments: Mapping[str, Any], args: Sequence[Any] = ()) -> str:
    """Return the call string of a call."""
    parts = [repr(value) for value in args]
    parts += [f"{key}={value!r}" for key, value in arguments.items()]
    return f"{name}({', '.join(parts)})"


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
        nested: also read, as a value, a call, a constant index on one, and `str()` of one.

    Raises:
        UnreadableCall: it is no such call; `python` has Python's own text for what is no Python.
    """
    node = _read_plain(text) if text.isascii() else None
    if node is not None:
        return node
    if text.isidentifier():
        raise UnreadableCall(f"name {text!r} is not defined")
    nodes = parse_call_list(text, nested=nested)
    if len(nodes) != 1 or text.lstrip()[:1] in ("[", "("):
        raise UnreadableCall("a list where one call was expected")
    return nodes[0]


def _read_plain(text: str) -> CallNode | None:
    """Read the common shape fast: plain values and lists of them; None for any other."""
    head = _HEAD.match(text)
    if head is None or head[1] in _WORDS:
        return None
    position = head.end()
    if text[position:] == ")":
        return CallNode(head[1])
    args: list[Any] = []
    kwargs: list[tuple[str, Any]] = []
    seen: set[str] = set()
    while True:
        match = _ARGUMENT.match(text, position)
        if match is None:
            return None
        name, single, double, whole, fraction, word, end, opening = match.groups()
        position = match.end()
        value: Any
        if opening is None:
            value = _value(single, double, whole, fraction, word)
        else:
            value = []
            while True:
                item = _ITEM.match(text, position)
                if item is None:
                    return None
                single, double, whole, fraction, word, end = item.groups()
                position = item.end()
                value.append(_value(single, double, whole, fraction, word))
                if end == "]":
                    break
            after = _AFTER_LIST.match(text, position)
            if after is None:
                return None
            end, position = after[1], after.end()
        if name is None:
            if kwargs:
                return None
            args.append(value)
        else:
            if name in seen or name in _WORDS:
                return None
            seen.add(name)
            kwargs.append((name, value))
        if end == ")":
            break
    if position != len(text):
        return None
    return CallNode(head[1], tuple(args), tuple(kwargs))


def _value(
    single: str | None,
    double: str | None,
    whole: str | None,
    fraction: str | None,
    word: str | None,
) -> Any:
    if single is not None:
        return single
    if whole is not None:
        return int(whole) if fraction is None else float(whole + fraction)
    if double is not None:
        return double
    return _NAMED[word or "None"]
