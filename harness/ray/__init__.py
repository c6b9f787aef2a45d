"""Rollouts spread over a Ray cluster, into the same run folder.

Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenvs.harness.lazy import lazily

if TYPE_CHECKING:
    from agentenvs.harness.ray.engine import RayEngine, make

__all__ = ["RayEngine", "make"]

_MODULES = {
    "engine": ("RayEngine", "make"),
}

__getattr__, __dir__ = lazily(__name__, _MODULES)
