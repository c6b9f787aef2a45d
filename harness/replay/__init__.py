"""Runs played again without a model: what holds, what was edited, what is stale.

Names load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.harness.replay.findings import Finding, Verification
    from agentenvs.harness.replay.recorded_arm import recorded_arm
    from agentenvs.harness.replay.recorded_sampler import recorded_sampler

__all__ = ["Finding", "Verification", "recorded_arm", "recorded_sampler"]

_MODULES = {
    "findings": ("Finding", "Verification"),
    "recorded_arm": ("recorded_arm",),
    "recorded_sampler": ("recorded_sampler",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"agentenvs.harness.replay.{_HOME[name]}"), name)
    raise AttributeError(f"module 'agentenvs.harness.replay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
