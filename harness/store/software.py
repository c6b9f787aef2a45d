"""Versions of software that a run uses besides what every run does."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from typing import Any

__all__ = ["used_versions"]

#: what a policy calls itself -> the packages that answer for it
_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "hf": ("torch", "transformers"),
    "openai": ("httpx2",),
}


def used_versions(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions of packages that a run works with, and of servers as they tell.

    Args:
        settings: of the run. What its policies say of themselves and its engine decide which
            packages count, whatever else the process has loaded. A policy's `transport` may have
            a `server_version`.
    """
    kinds = [_part(settings, who).get("policy") for who in ("policy", "user")]
    names = {name for kind in kinds if isinstance(kind, str) for name in _PACKAGES.get(kind, ())}
    if settings.get("engine") == "ray":
        names.add("ray")
    found = {}
    for name in sorted(names):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    agent = _part(settings, "transport")
    for name, transport in (("server", agent), ("user's server", _part(agent, "user"))):
        told = transport.get("server_version")
        if isinstance(told, str):
            found[name] = told
    return found


def _part(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = settings.get(name)
    return part if isinstance(part, Mapping) else {}
