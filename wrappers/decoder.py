"""The standard library's JSON decoder inside a longer text, with its costs known."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from agentenvs.actions import MAX_DEPTH, refuse_constant

__all__ = ["MAX_NESTING", "decode_json", "nests_deeper"]

#: the canonical action puts up to four brackets around a value
MAX_NESTING = MAX_DEPTH - 4

_WINDOW = 8_192
_RECURSION = 2_000
_HUGE = re.compile(r"\d[eE]\+?\d\d\d|\d{300}")


_DECODER = json.JSONDecoder(parse_constant=refuse_constant)


def decode_json(text: str, at: int) -> tuple[tuple[Any, int] | None, int]:
    """Decode the JSON value that starts at `at`, strictly.

    Returns:
        The value and the position behind it, None where there is no valid one; and what
        that cost, in characters.
    """
    if at < _WINDOW:
        return _decode(text, at)
    # A failure makes the decoder count all lines before it: let it see a part of the text.
    window = text[at : at + _WINDOW]
    read, cost = _decode(window, 0)
    if read is not None:
        return (read[0], at + read[1]), cost
    if cost + 16 > len(window) and len(text) > at + _WINDOW:
        return _decode(text, at)
    return None, cost


def _decode(text: str, at: int) -> tuple[tuple[Any, int] | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated"):
            return None, len(text) - at
        return None, max(1, error.pos - at)
    except (ValueError, RecursionError):
        return None, _RECURSION
    if _HUGE.search(text, at, end) and _has_infinity(value):
        return None, end - at
    return (value, end), end - at


def nests_deeper(value: Any, text: str, at: int, end: int) -> bool:
    """Return whether `value`, read from `text[at:end]`, is nested deeper than the limit."""
    if text.count("[", at, end) + text.count("{", at, end) <= MAX_NESTING:
        return False
    layer = [value]
    for _ in range(MAX_NESTING):
        following: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                following.extend(item.values())
            elif isinstance(item, list):
                following.extend(item)
        layer = [item for item in following if isinstance(item, dict | list)]
        if not layer:
            return False
    return True


def _has_infinity(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, float) and math.isinf(item):
            return True
    return False
