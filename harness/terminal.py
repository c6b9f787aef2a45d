"""What the command writes to: a console for tables, plain text for lines that others read."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

from agentenvs.harness.plain_data import finite
from agentenvs.harness.plain_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

__all__ = ["console", "say", "say_json"]


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


def say(text: str) -> None:
    """Print plain text to standard output, whatever its width."""
    print(text)


def say_json(value: Any) -> None:
    """Print plain data as JSON, with null for NaN and infinities, which JSON lacks."""
    say(json.dumps(finite(value), indent=2))
