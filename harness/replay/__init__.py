"""Runs played again without a model: what holds, what was edited, what is stale.

Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenvs.harness.lazy import lazily

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

__getattr__, __dir__ = lazily(__name__, _MODULES)
