"""Numbers as Python and JSON write them, never completed and never infinite."""

from __future__ import annotations

import math
import re

from agentenvs.wrappers.trouble import Unreadable

__all__ = ["read_number"]

_NUMBER = re.compile(
    r"[+-]?[ ]?(?:0[xXoObB][\da-fA-F_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)"
)


def read_number(text: str, at: int) -> tuple[int | float, int]:
    """Read the number at `at`.

    Returns:
        The number and the position behind it.

    Raises:
        Unreadable: there is none, it may have been cut, or it is too large.
    """
    match = _NUMBER.match(text, at)
    if match is None:
        raise Unreadable("not_literal", f"{text[at : at + 24]!r} is no literal")
    end = match.end()
    if end >= len(text):
        raise Unreadable("cut", "a number at the very end, which may be cut")
    if text[end].isalnum() or text[end] in "._":
        raise Unreadable("not_literal", f"{text[at : end + 12][:40]!r} is no number")
    digits = match.group().replace(" ", "")
    try:
        based = digits.lstrip("+-")[1:2].lower() in ("x", "o", "b")
        if based or ("." not in digits and "e" not in digits.lower()):
            return int(digits, 0), end
        number = float(digits)
    except ValueError as error:
        detail = f"{digits[:24]!r} is no number"
        if "limit" in str(error):
            raise Unreadable("too_large", detail) from None
        raise Unreadable("syntax", detail) from None
    if math.isinf(number):
        raise Unreadable("too_large", f"{digits[:24]!r} is not finite")
    return number, end
