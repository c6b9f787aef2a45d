"""The services in which the agent tasks play: device, messages, reminders, food and travel.

They behave as the original's do, its quirks included, and start from data that is read at run
time. Nothing here is shared between two worlds but what none of them changes.
"""

from __future__ import annotations

from agentenvs.acebench.worlds.world import SERVICES, CallError, NoSuchFunction, World

__all__ = ["SERVICES", "CallError", "NoSuchFunction", "World"]
