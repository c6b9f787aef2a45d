"""Two models by two harnesses: the arms run or read again, and what came out told.

Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenvs.harness.lazy import lazily

if TYPE_CHECKING:
    from agentenvs.harness.ablation.result import Ablation

__all__ = ["Ablation"]

_MODULES = {"result": ("Ablation",)}

__getattr__, __dir__ = lazily(__name__, _MODULES)
