"""Text of others, such as names and settings of runs, that is shown and not obeyed."""

from __future__ import annotations

import re

__all__ = ["printable"]

# What moves a cursor, colours a terminal or turns its reading order around, lone surrogates,
# which no encoding has, and what no HTML file may hold.
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U0001fffe\U0001ffff]"
)


def printable(text: str) -> str:
    """Return text in which every character but tabs and line feeds can be shown.

    Control characters become their pictures; lone surrogates and marks of direction a question
    mark in a diamond.
    """
    return _ODD.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found.group())
    return chr(0x2400 + code) if code < 32 else "\u2421" if code == 127 else "\ufffd"
