"""ACEBench: tool calls judged by reference and agents judged by the world they leave behind.

Benchmark: ACEBench, Chen et al.; data read at run time from a copy of its repository.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.acebench import dialogue
    from agentenvs.acebench.env import ACEBenchEnv
    from agentenvs.acebench.judge import verdict
    from agentenvs.acebench.one_side import OneSide
    from agentenvs.acebench.outcome import Verdict
    from agentenvs.acebench.plans import gold_actions
    from agentenvs.acebench.summary import summarize, summarize_solvable
    from agentenvs.acebench.tasks import clusters, data_version, task_ids, task_sets, unsolvable
    from agentenvs.acebench.users import ScriptedUser

__all__ = [
    "ACEBenchEnv",
    "OneSide",
    "ScriptedUser",
    "Verdict",
    "clusters",
    "data_version",
    "dialogue",
    "gold_actions",
    "summarize",
    "summarize_solvable",
    "task_ids",
    "task_sets",
    "unsolvable",
    "verdict",
]

_HOMES = {
    "ACEBenchEnv": "env",
    "OneSide": "one_side",
    "ScriptedUser": "users",
    "Verdict": "outcome",
    "clusters": "tasks",
    "data_version": "tasks",
    "gold_actions": "plans",
    "summarize": "summary",
    "summarize_solvable": "summary",
    "task_ids": "tasks",
    "task_sets": "tasks",
    "unsolvable": "tasks",
    "verdict": "judge",
}


def __getattr__(name: str) -> Any:
    if name == "dialogue":
        return importlib.import_module("agentenvs.acebench.dialogue")
    if name in _HOMES:
        return getattr(importlib.import_module(f"agentenvs.acebench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'agentenvs.acebench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
