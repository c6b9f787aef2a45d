"""Rollouts spread over a Ray cluster, into the same run folder.

Names load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.harness.ray.engine import RayEngine, make

__all__ = ["RayEngine", "make"]

_MODULES = {
    "engine": ("RayEngine", "make"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"agentenvs.harness.ray.{_HOME[name]}"), name)
    raise AttributeError(f"module 'agentenvs.harness.ray' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
