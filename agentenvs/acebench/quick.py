"""A quick reader of plain call lists; what it leaves alone is read by way of a syntax tree."""

from __future__ import annotations

import json
import keyword
import re
import unicodedata
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

__all__ = ["Call", "quick_calls"]

#: a text of this length has too few tokens and digits for the other reader to refuse it
_MAX_TEXT = 3_900
_MAX_CALLS = 1_000
_MAX_BRACKETS = 60
# Private characters: what stands for a string in the skeleton, where a name begins, where the
# name of an argument and that of a function end, and where a call ends.
_STRING, _NAME, _KEY, _CALL, _END = "\ue000", "\ue001", "\ue002", "\ue003", "\ue004"
_BEGIN = '"' + _NAME
_CONSTANTS = (
    (_BEGIN + "True", "true"),
    (_BEGIN + "False", "false"),
    (_BEGIN + "None", "null"),
)
_MARKS = re.compile("[\ue000-\ue004\ud800-\udfff]")
_STRINGS = re.compile(r"""('[^'\n]*'|"[^"\n]*")""")
_NAMES = re.compile(r"([^\W\d][\w.]*)")
_KEYWORDS = frozenset(keyword.kwlist)


class Call(NamedTuple):
    """A call as it was written: its name, and its arguments by name.

    The name of `f(**{...})`'s argument is None.
    """

    name: str
    arguments: dict[Any, Any]


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


_DECODE = json.JSONDecoder(parse_constant=_refuse).decode


def quick_calls(text: str, *, once: bool = False) -> list[Call] | None:
    """Return the calls of a plain list of calls, or None.

    A list is plain where it begins and ends the text, its calls have arguments by name, and
    these are numbers, strings without a backslash, True, False, None, lists and objects of
    such. For those the result is the one that `literal.decode` finds; None says nothing.

    The code around the strings is rewritten as JSON in which names and calls begin and end
    with marks. All marks must come back at their places: brackets that close in the wrong
    order, or quotes that pair otherwise, could else make good JSON of bad Python.

    Args:
        text: a model's text.
        once: leave lists alone in which a call has an argument twice; else the last counts.
    """
    if len(text) > _MAX_TEXT or text[:1] != "[" or text[-1:] != "]" or "\\" in text:
        return None
    if not text.isascii() and _MARKS.search(text):
        return None
    if '"' not in text:
        code = text.split("'")
    elif "'" not in text:
        code = text.split('"')
    else:
        code = _STRINGS.split(text)
        code[1::2] = [piece[1:-1].replace('"', '\\"') for piece in code[1::2]]
    if len(code) % 2 == 0:
        return None
    skeleton = _STRING.join(code[::2])
    calls, keys = skeleton.count("("), skeleton.count("=")
    if (
        calls != skeleton.count(")")
        or not 0 < calls <= _MAX_CALLS
        or skeleton.count("[") + skeleton.count("{") > _MAX_BRACKETS
        or "'" in skeleton
        or '"' in skeleton
    ):
        return None
    pieces = _NAMES.split(skeleton)
    is_bare = "()" in skeleton
    pieces[1::2] = [_BEGIN + name for name in pieces[1::2]]
    skeleton = "".join(pieces).replace("=", _KEY + '",').replace("(", _CALL + '",[')
    skeleton = skeleton.replace(")", ',"' + _END + '"]')
    if is_bare:
        skeleton = skeleton.replace(_CALL + '",[,', _CALL + '",[')
    for word, said in _CONSTANTS:
        if word in skeleton:
            skeleton = skeleton.replace(word, said)
    code[::2] = skeleton.split(_STRING)
    try:
        found = _DECODE('"'.join(code))
    except (ValueError, RecursionError):
        return None
    return _unmarked(found, calls, keys, once)


def _unmarked(found: list[Any], calls: int, keys: int, once: bool) -> list[Call] | None:
    if len(found) != 2 * calls:
        return None
    result = []
    for at in range(0, 2 * calls, 2):
        marked, parts = found[at], found[at + 1]
        if type(marked) is not str or type(parts) is not list or not parts or parts.pop() != _END:
            return None
        name = _function(marked)
        names = parts[::2]
        if not name or len(parts) != 2 * len(names):
            return None
        try:
            arguments = dict(zip(map(_argument, names), parts[1::2], strict=True))
        except TypeError:
            return None
        if "" in arguments or (once and len(arguments) != len(names)):
            return None
        keys -= len(names)
        result.append(Call(name, arguments))
    return None if keys else result


@lru_cache(1024)
def _argument(marked: Any) -> str:
    """Return the name between its marks, or "" where Python takes it for none, or another."""
    if type(marked) is not str or marked[:1] != _NAME or marked[-1:] != _KEY:
        return ""
    name = marked[1:-1]
    return name if _is_name(name) else ""


@lru_cache(1024)
def _function(marked: str) -> str:
    if marked[:1] != _NAME or marked[-1:] != _CALL:
        return ""
    name = marked[1:-1]
    return name if all(map(_is_name, name.split("."))) else ""


def _is_name(text: str) -> bool:
    return text.isidentifier() and text not in _KEYWORDS and unicodedata.is_normalized("NFKC", text)
