"""The shop as a web site on loopback, over the same state machine as the environment."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentenvs.webshop.site.server import Site, serve

__all__ = ["Site", "serve"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("agentenvs.webshop.site.server"), name)
    raise AttributeError(f"module 'agentenvs.webshop.site' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
