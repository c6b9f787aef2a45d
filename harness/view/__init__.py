"""Looking at runs in the terminal: lists of rollouts, and episodes step by step.

Names load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"agentenvs.harness.view.{_HOME[name]}"), name)
    raise AttributeError(f"module 'agentenvs.harness.view' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
