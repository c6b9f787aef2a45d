"""What the command writes to: a console for tables, plain text for lines that others read."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

__all__ = ["console", "printable", "say", "say_json"]

# What moves a cursor, colours a terminal or turns its reading order around, and what no encoding
# has. Names and settings of runs come from others.
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def console() -> Console:
    """Return a console on standard output that leaves text as it is, but for control characters.

    Characters that the output's encoding lacks are written as escapes.
    """
    from rich.console import Console
    from rich.segment import Segment

    class Inert(Console):
        def render(self, *args: Any, **options: Any) -> Iterator[Segment]:
            for text, style, control in super().render(*args, **options):
                yield Segment(text if control else printable(text), style, control)

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return Inert(highlight=False)


def printable(text: str) -> str:
    """Return text that a terminal shows and does not obey."""
    return _ODD.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found.group())
    return chr(0x2400 + code) if code < 32 else "\u2421" if code == 127 else "\ufffd"


def say(text: str) -> None:
    """Print plain text to standard output, whatever its width."""
    print(text)


def say_json(value: Any) -> None:
    """Print plain data as JSON, with null for NaN and infinities, which JSON lacks."""
    say(json.dumps(_finite(value), indent=2))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
