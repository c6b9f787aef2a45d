"""Values compared leaf by leaf, both sides written alike first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["difference", "plain", "same_text"]

_ALIKE = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201c\u201d\u201e`'", '"')
    | {"\u3002": ".", "\u3001": ",", "\u2013": "-", "\u2014": "-", "\u2212": "-"}
)
#: a number; a sign before a word; a word; any other character that counts
_TOKEN = re.compile(r"\d++(?:\.\d++)*+|(?<!\w)-(?=\w)|[^\W\d_]+|[^\s,./\-_]")
_KINDS: Mapping[type, str] = MappingProxyType(
    {
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        tuple: "a list",
        dict: "an object",
        type(None): "nothing",
    }
)
_MAX_LEVELS = 70
_MAX_PLAIN = 10_000


def plain(text: str) -> str:
    """Return the text without what writing it in another way may change.

    Letters, digits and symbols count, in order; so do the point in a number and a sign before
    a word or a number. Case, width, kinds of quotes, white space and the signs , . / - _
    between and after words do not.
    """
    pieces = _TOKEN.findall(unicodedata.normalize("NFKC", text.translate(_ALIKE)).casefold())
    parts: list[str] = []
    last = ""
    for piece in pieces:
        if last[-1:].isdigit() and piece[0].isdigit():
            parts.append(" ")
        parts.append(piece)
        last = piece
    return "".join(parts)


def same_text(value: str, wanted: str) -> bool:
    """Whether two texts are equal where `plain` is, or as they are where one is very long."""
    if value == wanted or max(len(value), len(wanted)) > _MAX_PLAIN:
        return value == wanted
    return plain(value) == plain(wanted)


def difference(value: Any, wanted: Any, path: str = "") -> str:
    """Return where two values differ, or "".

    Numbers are equal as numbers, a bool is none; texts are equal where `same_text`; lists and
    objects where all items are, in a list in order.

    Args:
        value: what was given: plain data, at most 70 levels deep.
        wanted: what was expected.
        path: what to call the two.
    """
    found = _difference(value, wanted, _MAX_LEVELS)
    if found is None:
        return ""
    keys, problem = found
    where = ".".join([*([path] if path else []), *(str(key) for key in reversed(keys))])
    return f"{where}: {problem}" if where else problem


def _difference(value: Any, wanted: Any, levels: int) -> tuple[list[Any], str] | None:
    """Return the keys on the way to a difference, innermost first, and what it is."""
    kind, right = _KINDS.get(type(value), "something else"), _KINDS.get(type(wanted))
    if kind != right:
        return [], f"expected {right}, got {kind}: {_shown(value)}"
    if isinstance(wanted, dict):
        for key in wanted:
            if key not in value:
                return [key], "missing"
        for key in value:
            if key not in wanted:
                return [key], "not in the reference"
        pairs = [(key, value[key], part) for key, part in wanted.items()]
    elif isinstance(wanted, list | tuple):
        if len(value) != len(wanted):
            return [], f"expected {len(wanted)} items, got {len(value)}"
        pairs = [
            (at, item, part) for at, (item, part) in enumerate(zip(value, wanted, strict=True))
        ]
    elif value == wanted or (isinstance(wanted, str) and same_text(value, wanted)):
        return None
    else:
        return [], f"expected {_shown(wanted)}, got {_shown(value)}"
    if levels == 0:
        return [], "nested too deeply"
    for key, item, part in pairs:
        found = _difference(item, part, levels - 1)
        if found is not None:
            found[0].append(key)
            return found
    return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
