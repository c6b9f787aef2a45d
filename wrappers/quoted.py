"""String literals as models write them: escapes, smart quotes, quotes left unescaped."""

# ruff: noqa: RUF001 - models write full-width marks
from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from agentenvs.wrappers.trouble import Unreadable

__all__ = ["CLOSING", "QUOTES", "decode_escapes", "find_close"]

#: An opening quote and the characters that may close it.
CLOSING = {
    '"': '"',
    "'": "'",
    "“": '”“"',
    "”": '”"',
    "‘": "’‘'",
    "’": "’'",
    "`": "`",
}
QUOTES = frozenset(CLOSING)
_INSIDE = {
    quote: re.compile(rf"(?s)(?:[^\\{closing}]|\\.)*+") for quote, closing in CLOSING.items()
}
_BLANK = re.compile(r"[\s\u200b\ufeff]*")
_OPENERS = frozenset("([{=,:+%*/|&<>-")

_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"
    r"|N\{([^{}\\]{1,80})\}|(.))",
    re.DOTALL,
)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SIMPLE = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "a": "\a",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "\n": "",
}


def find_close(
    text: str, start: int, *, key: bool, json: bool, charge: Callable[[int], None]
) -> tuple[int, bool, bool]:
    """Find the quote that closes the string whose opening quote stands at `start`.

    A quote closes only where something that can follow a value follows it. Quotes inside
    that open have to close again; otherwise there are two readings.

    Args:
        text: the whole text.
        start: where the opening quote stands.
        key: the string may be a key, so a colon may follow it.
        json: no string follows another directly, as in Python.
        charge: is told of every quote that does not close.

    Returns:
        The index of the closing quote, whether backslashes stand inside, and whether quotes
        inside were taken as data.

    Raises:
        Unreadable: it never closes, or has two readings.
    """
    inside = _INSIDE[text[start]]
    size = len(text)
    at = start + 1
    mended = False
    pending = 0
    while True:
        match = inside.match(text, at)
        at = match.end() if match else at
        if at >= size or text[at] == "\\":
            if pending or mended:
                raise Unreadable("ambiguous", "a quote that never closes")
            raise Unreadable("cut", "a string that never closes")
        blank = _BLANK.match(text, at + 1)
        after = blank.end() if blank else at + 1
        following = text[after] if after < size else ""
        before = text[at - 1] if at - 1 > start else ""
        joins = not json or after > at + 1
        if _may_end(text, following, at, after, key, joins) and not (
            pending and following in QUOTES and after == at + 1
        ):
            if pending:
                raise Unreadable("ambiguous", "a quote inside a string that never closes")
            return at, text.find("\\", start, at) >= 0, mended
        charge(1)
        tight = after == at + 1
        mended = True
        if before.isalnum() and tight and following.isalnum():
            pass
        elif tight and (not before or before.isspace() or before in _OPENERS):
            pending += 1
        elif pending:
            pending -= 1
        at += 1


def _may_end(text: str, following: str, quote: int, after: int, key: bool, joins: bool) -> bool:
    if not following or following in ",)]};，）】":
        return True
    if following in ":：":
        return key
    if following == "#":
        return after > quote + 1
    if following in QUOTES:
        return joins or not text[after + 1 : after + 2].isalnum()
    return following == "<" and text.startswith(("<|", "</", "<｜"), after)


def decode_escapes(body: str, *, json: bool) -> tuple[str, bool]:
    r"""Return the text that `body` stands for, and whether an escape had to be mended.

    Args:
        body: what stands between the quotes.
        json: JSON's escapes (`\/`, surrogate pairs) instead of Python's (octal, `\N{}`).
    """
    mended = False

    def put(match: re.Match[str]) -> str:
        nonlocal mended
        octal, byte, short, long, name, other = match.groups()
        if other is not None:
            if other in _SIMPLE:
                return _SIMPLE[other]
            if json and other == "/":
                return "/"
            mended = mended or json or other in "xuUN"
            return match.group()
        if octal is not None:
            if json:
                mended = True
                return match.group()
            return chr(int(octal, 8))
        if name is not None:
            try:
                return unicodedata.lookup(name)
            except KeyError:
                mended = True
                return match.group()
        code = int(byte or short or long, 16)
        if code > 0x10FFFF:
            mended = True
            return match.group()
        return chr(code)

    result = _ESCAPE.sub(put, body)
    if _PAIR.search(result):
        mended = mended or not json
        result = _PAIR.sub(_join, result)
    return result, mended


def _join(match: re.Match[str]) -> str:
    high, low = map(ord, match.group())
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
