"""What the command writes to: a console for tables, plain text for lines that others read."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "say", "say_json"]


def console() -> Console:
    """Return a console on standard output that leaves text as it is."""
    from rich.console import Console

    return Console(highlight=False)


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
