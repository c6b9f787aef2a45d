"""`mini`: a bundled, offline task set in tool worlds of the project's own.

The worlds are `Files` (a small shared drive), `TicketDesk` (a service desk) and `Home` (a
household). Tasks and gold plans lie in the package's assets as JSON lines, in the form of
BFCL's multi-turn rows, and are judged by the same checker as the official ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentenvs.bfcl.mini.load import answers, docs, rows, system_prompt, worlds

if TYPE_CHECKING:
    SYSTEM_PROMPT: str

__all__ = ["SYSTEM_PROMPT", "answers", "docs", "rows", "worlds"]


def __getattr__(name: str) -> Any:
    if name == "SYSTEM_PROMPT":
        return system_prompt()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
