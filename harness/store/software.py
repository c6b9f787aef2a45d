"""Versions of software that a run uses besides what every run does."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from typing import Any

__all__ = ["used_versions"]

_PACKAGES = ("httpx2", "ray", "torch", "transformers")


def used_versions(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions of packages that are loaded, and of servers as they tell themselves.

    Args:
        settings: of the run. Its policies' `transport` may have a `server_version`.
    """
    found = {}
    for name in _PACKAGES:
        # An engine is loaded when it is first needed.
        if name in sys.modules or name == settings.get("engine"):
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
    agent = settings.get("transport")
    user = agent.get("user") if isinstance(agent, Mapping) else None
    for name, transport in (("server", agent), ("user's server", user)):
        told = transport.get("server_version") if isinstance(transport, Mapping) else None
        if isinstance(told, str):
            found[name] = told
    return found
