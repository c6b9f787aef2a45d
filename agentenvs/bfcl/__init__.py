"""BFCL v4 multi-turn: tasks, simulators, executor, checker and environment.

The tasks and simulators are the official ones, read at run time from the pinned wheel; the
set `mini` is bundled. Benchmark: Berkeley Function-Calling Leaderboard, Patil et al.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.bfcl.checker import Verdict, verdict
    from agentenvs.bfcl.env import BFCLEnv
    from agentenvs.bfcl.plans import gold, gold_actions
    from agentenvs.bfcl.tasks import clusters, data_version, task_ids, task_sets, unsolvable

__all__ = [
    "BFCLEnv",
    "Verdict",
    "clusters",
    "data_version",
    "gold",
    "gold_actions",
    "task_ids",
    "task_sets",
    "unsolvable",
    "verdict",
]

_HOMES = {
    "BFCLEnv": "env",
    "Verdict": "checker",
    "clusters": "tasks",
    "data_version": "tasks",
    "gold": "plans",
    "gold_actions": "plans",
    "task_ids": "tasks",
    "task_sets": "tasks",
    "unsolvable": "tasks",
    "verdict": "checker",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"agentenvs.bfcl.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'agentenvs.bfcl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
