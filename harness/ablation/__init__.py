"""Two models by two harnesses: the arms run or read again, and what came out told.

Names load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.harness.ablation.result import Ablation

__all__ = ["Ablation"]

_HOME = {"Ablation": "result"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"agentenvs.harness.ablation.{_HOME[name]}"), name)
    raise AttributeError(f"module 'agentenvs.harness.ablation' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
