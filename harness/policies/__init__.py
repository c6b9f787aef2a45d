"""Policies: who acts. They load when they are first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.harness.policies.base import POLICIES, Policy, make_policy
    from agentenvs.harness.policies.callable import CallablePolicy
    from agentenvs.harness.policies.endpoint import EndpointPolicy
    from agentenvs.harness.policies.random import RandomPolicy
    from agentenvs.harness.policies.replay import ReplayPolicy
    from agentenvs.harness.policies.scripted import ScriptedPolicy
    from agentenvs.harness.policies.user import PolicyUser

__all__ = [
    "POLICIES",
    "CallablePolicy",
    "EndpointPolicy",
    "Policy",
    "PolicyUser",
    "RandomPolicy",
    "ReplayPolicy",
    "ScriptedPolicy",
    "make_policy",
]

_HOME = {
    "POLICIES": "base",
    "CallablePolicy": "callable",
    "EndpointPolicy": "endpoint",
    "Policy": "base",
    "PolicyUser": "user",
    "RandomPolicy": "random",
    "ReplayPolicy": "replay",
    "ScriptedPolicy": "scripted",
    "make_policy": "base",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"agentenvs.harness.policies.{_HOME[name]}"), name)
    raise AttributeError(f"module 'agentenvs.harness.policies' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
