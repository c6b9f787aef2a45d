"""Calls as a text that every strict and relaxed reader takes: a Python-style list."""

from __future__ import annotations

from collections.abc import Iterable

from agentenvs.core import ToolCall
from agentenvs.syntax import call_text

__all__ = ["write_calls"]


def write_calls(calls: Iterable[ToolCall]) -> str:
    """Return calls as `[name(key=value, ...), ...]`, all arguments by name."""
    return f"[{', '.join(call_text(call.name, call.arguments) for call in calls)}]"
