"""Tool worlds by class name: the official simulators and the bundled ones, in one form."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentenvs.bfcl.limits import Rule, rules_of
from agentenvs.bfcl.simulators import DOC_FILES, simulator
from agentenvs.core import Shared
from agentenvs.sources import Tree

__all__ = ["Function", "ToolClass", "official_class", "plain_class"]


@dataclass(frozen=True, slots=True)
class Function(Shared):
    """A public method of a simulator.

    Attributes:
        name: the method's name.
        parameters: names in signature order, without `self`.
        fresh: position and kind of each parameter whose default is a mutable container, which
            Python would share between all calls.
        rule: prices a call; None where its own text and result say enough.
    """

    name: str
    parameters: tuple[str, ...]
    fresh: tuple[tuple[int, str, type[Any]], ...]
    rule: Rule | None


@dataclass(frozen=True, eq=False)
class ToolClass(Shared):
    """A simulator class with its functions and docs.

    Attributes:
        name: the class name.
        type: the class itself.
        docs: function docs in BFCL's form, in file order; read only.
        stateless: it has no scenario to load.
        precise: its functions set the process-wide precision of `decimal` and `mpmath`.
    """

    name: str
    type: type[Any]
    docs: tuple[Mapping[str, Any], ...]
    stateless: bool = False
    precise: bool = False

    @functools.cached_property
    def functions(self) -> Mapping[str, Function]:
        """The public methods by name."""
        rules = rules_of(self.name) if self.type.__module__.startswith("_agentenvs_bfcl_") else {}
        return {
            name: _function(name, method, rules.get(name))
            for name, method in inspect.getmembers(self.type, inspect.isfunction)
            if not name.startswith("_")
        }

    def new(self, scenario: Mapping[str, Any], long_context: bool) -> Any:
        """Return an instance with a scenario loaded; `scenario` may be taken over by it."""
        instance = self.type()
        if not self.stateless:
            instance._load_scenario(scenario, long_context=long_context)
        return instance


def _function(name: str, method: Callable[..., Any], rule: Rule | None) -> Function:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    fresh = tuple(
        (index, parameter.name, type(parameter.default))
        for index, parameter in enumerate(parameters)
        if isinstance(parameter.default, list | dict | set)
    )
    return Function(name, tuple(p.name for p in parameters), fresh, rule)


def official_class(tree: Tree, name: str) -> ToolClass:
    """Return an official simulator class with its docs."""
    lines = tree.read(DOC_FILES[name]).decode().splitlines()
    docs = tuple(json.loads(line) for line in lines if line.strip())
    maths = name == "MathAPI"
    return ToolClass(name, simulator(tree, name), docs, stateless=maths, precise=maths)


@functools.cache
def plain_class(name: str) -> ToolClass:
    """Return a bundled tool world with its docs."""
    from agentenvs.bfcl import mini

    return ToolClass(name, mini.worlds()[name], tuple(mini.docs(name)))
