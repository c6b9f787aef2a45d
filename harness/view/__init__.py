"""Looking at runs in the terminal: lists of rollouts, and episodes step by step.

Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenvs.harness.lazy import lazily

if TYPE_CHECKING:
    from agentenvs.harness.view.entries import Entry, Run
    from agentenvs.harness.view.index import TranscriptIndex
    from agentenvs.harness.view.wanted import Wanted, choose, parse_wanted

__all__ = ["Entry", "Run", "TranscriptIndex", "Wanted", "choose", "parse_wanted"]

_MODULES = {
    "entries": ("Entry", "Run"),
    "index": ("TranscriptIndex",),
    "wanted": ("Wanted", "choose", "parse_wanted"),
}

__getattr__, __dir__ = lazily(__name__, _MODULES)
