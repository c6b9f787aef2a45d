"""Packages whose names load when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from agentenvs.errors import AgentEnvsError

__all__ = ["Extra", "lazily"]


class Extra(NamedTuple):
    """What a package needs besides the core.

    Attributes:
        what: needs it, as an error begins: "The lab".
        name: of the extra.
        packages: that it brings, as they are imported.
    """

    what: str
    name: str
    packages: tuple[str, ...]


def lazily(
    package: str, modules: Mapping[str, Sequence[str]], extra: Extra | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return what a package takes for its `__getattr__` and its `__dir__`.

    Args:
        package: its name.
        modules: a module below it -> the names that it defines.
        extra: that some of the modules need; where it is missing, AgentEnvsError says so.
    """
    home = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(importlib.import_module(f"{package}.{home[name]}"), name)
        except ModuleNotFoundError as error:
            if extra is None or error.name not in extra.packages:
                raise
            raise AgentEnvsError(
                f"{extra.what} needs {error.name}: pip install 'agentenvs[{extra.name}]'"
            ) from error

    return find, lambda: sorted(home)
