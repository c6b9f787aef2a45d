"""ACEBench: tool calls judged by reference and agents judged by the world they leave behind.

Benchmark: ACEBench, Chen et al.; data read at run time from a copy of its repository.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.acebench.judge import verdict
    from agentenvs.acebench.outcome import Verdict

__all__ = ["Verdict", "verdict"]

_HOMES = {"Verdict": "outcome", "verdict": "judge"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"agentenvs.acebench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'agentenvs.acebench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
