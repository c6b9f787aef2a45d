"""ToolLab: an errand desk whose conventions, exceptions and demonstrations are fully known.

Short dialogues with tools: find an item's tag, carry out the errand by the desk's convention for
it, close with the right word. How often the demonstrators succeed is known exactly for every
task, so what a model loses or gains after it learned from them can be told apart.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.toollab.demos import (
        EXPERT,
        Demos,
        Quality,
        demonstrations,
        success_probability,
    )
    from agentenvs.toollab.design import Design
    from agentenvs.toollab.env import ToolLabEnv
    from agentenvs.toollab.plans import gold_actions
    from agentenvs.toollab.tasks import clusters, data_version, task_ids, task_indices, task_sets
    from agentenvs.toollab.vocabulary import VOCABULARY, render

__all__ = [
    "EXPERT",
    "VOCABULARY",
    "Demos",
    "Design",
    "Quality",
    "ToolLabEnv",
    "clusters",
    "data_version",
    "demonstrations",
    "gold_actions",
    "render",
    "success_probability",
    "task_ids",
    "task_indices",
    "task_sets",
]

_HOMES = {
    "EXPERT": "demos",
    "VOCABULARY": "vocabulary",
    "Demos": "demos",
    "Design": "design",
    "Quality": "demos",
    "ToolLabEnv": "env",
    "clusters": "tasks",
    "data_version": "tasks",
    "demonstrations": "demos",
    "gold_actions": "plans",
    "render": "vocabulary",
    "success_probability": "demos",
    "task_ids": "tasks",
    "task_indices": "tasks",
    "task_sets": "tasks",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"agentenvs.toollab.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'agentenvs.toollab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
