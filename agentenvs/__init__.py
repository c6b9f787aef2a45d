"""Text agent benchmarks as Gymnasium environments, and what post-training cost.

Importing this package registers the environment ids with Gymnasium and loads nothing else:
`agentenvs.wrappers`, `agentenvs.harness` and each benchmark's package load when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agentenvs.core import Message, TextEnv, Tool, ToolCall, fork
from agentenvs.registry import make_vec, register, task_sets, tasks

if TYPE_CHECKING:
    from agentenvs import acebench, bfcl, frozenlake, harness, sources, toollab, webshop, wrappers

__all__ = [
    "Message",
    "TextEnv",
    "Tool",
    "ToolCall",
    "__version__",
    "acebench",
    "bfcl",
    "fork",
    "frozenlake",
    "harness",
    "make_vec",
    "sources",
    "task_sets",
    "tasks",
    "toollab",
    "webshop",
    "wrappers",
]

__version__ = "0.1.0"

register()

_LAZY = frozenset(
    {"acebench", "bfcl", "frozenlake", "harness", "sources", "toollab", "webshop", "wrappers"}
)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"agentenvs.{name}")
    raise AttributeError(f"module 'agentenvs' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
