"""Calls as a text that every strict and relaxed reader takes: a Python-style list."""

from __future__ import annotations

from collections.abc import Iterable

from agentenvs.core import ToolCall

__all__ = ["write_calls"]


def write_calls(calls: Iterable[ToolCall]) -> str:
    """Return calls as `[name(key=value, ...), ...]`, all arguments by name."""
    written = (
        f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"
        for call in calls
    )
    return f"[{', '.join(written)}]"
