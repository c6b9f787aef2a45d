"""Policies: who acts. They load when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenvs.harness.lazy import lazily

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

_MODULES = {
    "base": ("POLICIES", "Policy", "make_policy"),
    "callable": ("CallablePolicy",),
    "endpoint": ("EndpointPolicy",),
    "random": ("RandomPolicy",),
    "replay": ("ReplayPolicy",),
    "scripted": ("ScriptedPolicy",),
    "user": ("PolicyUser",),
}

__getattr__, __dir__ = lazily(__name__, _MODULES)
