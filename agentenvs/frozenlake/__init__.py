"""FrozenLakeText: cross a slippery lake, told in words, over Gymnasium's own FrozenLake.

Maps, slips and ends are Gymnasium's. A turn holds a few moves, all chosen before the first one
slips, so a model plays it in a handful of short replies, and how often the best possible agent
succeeds is known exactly for every map.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.frozenlake.env import FrozenLakeTextEnv
    from agentenvs.frozenlake.optimum import best_moves, gold_actions, success_probability
    from agentenvs.frozenlake.tasks import data_version, task_ids, task_sets
    from agentenvs.frozenlake.vocabulary import VOCABULARY, render

__all__ = [
    "VOCABULARY",
    "FrozenLakeTextEnv",
    "best_moves",
    "data_version",
    "gold_actions",
    "render",
    "success_probability",
    "task_ids",
    "task_sets",
]

_HOMES = {
    "VOCABULARY": "vocabulary",
    "FrozenLakeTextEnv": "env",
    "best_moves": "optimum",
    "data_version": "tasks",
    "gold_actions": "optimum",
    "render": "vocabulary",
    "success_probability": "optimum",
    "task_ids": "tasks",
    "task_sets": "tasks",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"agentenvs.frozenlake.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'agentenvs.frozenlake' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
