"""The calls of an agent's message, read the way the original reads them before it runs them."""

from __future__ import annotations

import keyword
import math
import re
from typing import Any

from agentenvs.acebench.literal import Call, decode_by_tree
from agentenvs.syntax import UnreadableCall

__all__ = ["checked", "read_message", "settled"]

MAX_BITS = 13_000
_SHORT = 4_000
_MAX_LEVEL = 20
_NAMED = {"True": True, "False": False, "None": None}
_WORDS = frozenset(keyword.kwlist)
_PIECE = re.compile(
    r"""[ ]*(?:
      ([A-Za-z_][A-Za-z0-9_]*)([=(])             # the name of an argument or a function
    | ('[^'\\\x00-\x1f\ud800-\udfff]*'|"[^"\\\x00-\x1f\ud800-\udfff]*")
    | (-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?)(?![\w.'"])
    | (True|False|None)(?!\w)
    | ([\[\]{}(),:])
    )""",
    re.VERBOSE | re.ASCII,
)


def read_message(text: str) -> list[Call]:
    """Read the calls of a message that is a list of calls and nothing else.

    One leading space is let go, brackets are added where they lack, and then all of `[`, `]`
    and `'` at both ends are taken off, so that doubled brackets and a quoted call read as well.
    What is left must be one call or several with commas between, without white space before.
    Arguments by position are left out. A dict among the arguments is taken for a call: its
    first key for the name, that key's value for the arguments.

    Args:
        text: at most 100,000 characters.

    Raises:
        UnreadableCall: it is anything else, with the reason.
    """
    text = text.removeprefix(" ")
    if not text.startswith("["):
        text = "[" + text
    if not text.endswith("]"):
        text += "]"
    inner = text.strip("[]'")
    plain = _read_plain(inner) if len(inner) <= _SHORT else None
    if plain is not None:
        return plain
    if inner.lstrip("\r\n")[:1].isspace():
        raise UnreadableCall("not Python syntax: unexpected indent")
    calls = decode_by_tree(inner, lone=True)
    if not calls:
        raise UnreadableCall("an empty list of calls")
    for call in calls:
        for value in call.arguments.values():
            _check_nested(value)
    return calls


def _check_nested(value: Any) -> None:
    """Refuse a dict that is no call."""
    if isinstance(value, dict):
        arguments = value.get(next(iter(value), None))
        if not isinstance(arguments, dict):
            raise UnreadableCall("a dict as the value of an argument")
        for item in arguments.values():
            _check_nested(item)


def settled(value: Any) -> Any:
    """Return the value of an argument as the original hands it over.

    `dict(...)` is worked out. Any other call is not: it is an error, where the original runs it.

    Args:
        value: as `read_message` gives it: a dict is a call.

    Raises:
        ValueError: a call, or a value that is no JSON; the text says which.
    """
    if not isinstance(value, dict):
        return checked(value)
    name, arguments = next(iter(value.items()), (None, None))
    if name != "dict" or not isinstance(arguments, dict):
        raise ValueError(f"name {name!r} is not defined")
    if not all(isinstance(key, str) for key in arguments):
        raise ValueError("keywords must be strings")
    return {key: settled(item) for key, item in arguments.items()}


def checked(value: Any) -> Any:
    """Return the value, if it can stand in the state of a world.

    Raises:
        ValueError: it cannot; the text says what in it.
    """
    if type(value) is str:
        return value
    pending = [value]
    for item in pending:
        match item:
            case str() | bool() | None:
                pass
            case int():
                if item.bit_length() > MAX_BITS:
                    raise ValueError("Exceeds the limit (4300 digits) for integers")
            case float():
                if not math.isfinite(item):
                    raise ValueError(f"name '{abs(item)}' is not defined")
            case list() | tuple():
                pending.extend(item)
            case dict():
                pending.extend(item)
                pending.extend(item.values())
                if any(isinstance(key, tuple | bytes | complex) for key in item):
                    raise ValueError("keys must be str, int, float, bool or None")
            case _:
                kind = type(item).__name__
                raise ValueError(f"Object of type {kind} is not JSON serializable")
    return value


def _read_plain(text: str) -> list[Call] | None:
    """Read the usual shapes fast, plain values in lists and dicts; None for any other."""
    try:
        return _Plain(text).calls()
    except (IndexError, ValueError):
        return None


class _Plain:
    """A reader of calls whose values are plain; it raises ValueError on anything else."""

    __slots__ = ("at", "pieces")

    def __init__(self, text: str) -> None:
        if text[:1] == " ":
            raise ValueError
        pieces = []
        at, end = 0, len(text)
        match = _PIECE.match
        while at < end:
            found = match(text, at)
            if found is None:
                raise ValueError
            pieces.append((found.lastindex, found[found.lastindex or 0], found[1]))
            at = found.end()
        self.pieces = pieces
        self.at = 0

    def calls(self) -> list[Call]:
        calls = []
        while True:
            kind, mark, name = self.pieces[self.at]
            if kind != 2 or mark != "(" or name in _WORDS:
                raise ValueError
            self.at += 1
            calls.append(Call(name, self.arguments()))
            if self.at == len(self.pieces):
                return calls
            self.take(",")

    def take(self, mark: str) -> None:
        if self.pieces[self.at][1] != mark or self.pieces[self.at][0] != 6:
            raise ValueError
        self.at += 1

    def arguments(self) -> dict[str | None, Any]:
        arguments: dict[str | None, Any] = {}
        if self.pieces[self.at][1] == ")":
            self.at += 1
            return arguments
        while True:
            kind, mark, name = self.pieces[self.at]
            if kind != 2 or mark != "=" or name in arguments or name in _WORDS:
                raise ValueError
            self.at += 1
            value = self.value(0)
            if isinstance(value, dict):
                raise ValueError
            arguments[name] = value
            kind, mark, _ = self.pieces[self.at]
            self.at += 1
            if kind != 6:
                raise ValueError
            if mark == ")":
                return arguments
            if mark != ",":
                raise ValueError

    def value(self, level: int) -> Any:
        kind, written, _ = self.pieces[self.at]
        self.at += 1
        if kind == 3:
            return written[1:-1]
        if kind == 4:
            return float(written) if "." in written else int(written)
        if kind == 5:
            return _NAMED[written]
        if level == _MAX_LEVEL or written not in ("[", "{"):
            raise ValueError
        return self.items(level + 1) if written == "[" else self.entries(level + 1)

    def items(self, level: int) -> list[Any]:
        items: list[Any] = []
        if self.pieces[self.at][1] == "]":
            self.at += 1
            return items
        while True:
            items.append(self.value(level))
            kind, mark, _ = self.pieces[self.at]
            self.at += 1
            if kind == 6 and mark == "]":
                return items
            if kind != 6 or mark != ",":
                raise ValueError

    def entries(self, level: int) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        if self.pieces[self.at][1] == "}":
            self.at += 1
            return entries
        while True:
            kind, written, _ = self.pieces[self.at]
            if kind != 3:
                raise ValueError
            self.at += 1
            self.take(":")
            entries[written[1:-1]] = self.value(level)
            kind, mark, _ = self.pieces[self.at]
            self.at += 1
            if kind == 6 and mark == "}":
                return entries
            if kind != 6 or mark != ",":
                raise ValueError
