"""The services of one episode together, and what of them is scored."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self, cast

from agentenvs.acebench.worlds.base import BaseApi, Service
from agentenvs.acebench.worlds.food import FoodPlatform
from agentenvs.acebench.worlds.message import MessageApi
from agentenvs.acebench.worlds.reminder import ReminderApi
from agentenvs.acebench.worlds.travel import Travel
from agentenvs.errors import BadArgument, UnknownName, did_you_mean

__all__ = ["SERVICES", "CallError", "NoSuchFunction", "World"]

SERVICES: Mapping[str, type[Service]] = MappingProxyType(
    {
        "BaseApi": BaseApi,
        "MessageApi": MessageApi,
        "ReminderApi": ReminderApi,
        "FoodPlatform": FoodPlatform,
        "Travel": Travel,
    }
)


class CallError(Exception):
    """Raised when a function raises; its text is that of the original's exception."""


class NoSuchFunction(CallError):
    """Raised when no service of this world has such a function."""


class World:
    """The services of one episode. Nothing that one world does is seen by another.

    Attributes:
        lang: "en" or "zh".
        services: the services by class, in the task's order.
    """

    __slots__ = ("lang", "services")

    def __init__(self, lang: str, services: dict[str, Service]) -> None:
        self.lang = lang
        self.services = services

    @classmethod
    def of(
        cls,
        lang: str,
        initial: Mapping[str, Any],
        config: Mapping[str, Mapping[str, Any]],
        classes: Sequence[str],
    ) -> Self:
        """Return a fresh world.

        Args:
            lang: "en" or "zh".
            initial: `{class: {"state": {attribute: value}}}`, for example
                `Records.world(lang)`. It is shared, and never changed.
            config: flags by class, as a task's `initial_config` gives them: those of `BaseApi`
                reach every phone service; an unknown class counts for nothing.
            classes: the services, in the order in which they are scored.

        Raises:
            UnknownName: there is no such language or class.
            BadArgument: `initial` lacks a class or an attribute.
        """
        if lang not in ("en", "zh"):
            raise UnknownName(f"Expected `lang` to be 'en' or 'zh', got {lang!r}.")
        services = {}
        for name in classes:
            if name not in SERVICES:
                hint = did_you_mean(name, SERVICES)
                raise UnknownName(f"There is no service {name!r}.{hint}")
            try:
                services[name] = SERVICES[name](lang, initial[name]["state"], config)
            except KeyError as missing:
                raise BadArgument(f"Expected {missing} in the initial state of {name}.") from None
        return cls(lang, services)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Carry out a function and return its result, which is to be read only.

        A function that several services share is carried out by each; the last result counts.

        Raises:
            NoSuchFunction: no service here has such a function.
            CallError: the function raised, as the original's does.
        """
        result: Any = NoSuchFunction
        for service in self.services.values():
            if name in service.names:
                try:
                    result = getattr(service, name)(**arguments)
                except Exception as problem:
                    raise CallError(str(problem)) from problem
        if result is NoSuchFunction:
            raise NoSuchFunction(f"name {name!r} is not defined")
        return result

    def has(self, name: str) -> bool:
        """Return whether a service here has this function, whether on offer or not."""
        return any(name in service.names for service in self.services.values())

    def offered(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of the functions that a service here has, in the order given."""
        return tuple(name for name in names if self.has(name))

    def parameters(self, name: str) -> tuple[str, ...]:
        """Return the names of a function's parameters in order.

        Raises:
            NoSuchFunction: no service here has such a function.
        """
        for service in self.services.values():
            if name in service.names:
                return tuple(inspect.signature(getattr(service, name)).parameters)
        raise NoSuchFunction(f"name {name!r} is not defined")

    def copy(self) -> World:
        """Return an independent copy, in constant time."""
        return World(self.lang, {name: one.copy() for name, one in self.services.items()})

    def __copy__(self) -> World:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        return self.copy()

    def scored(self) -> list[dict[str, Any]]:
        """Return `[{class: {attribute: value}}]` as it reads after a passage through JSON."""
        state = [
            {name: {key: getattr(one, key) for key in one.scored}}
            for name, one in self.services.items()
        ]
        return cast("list[dict[str, Any]]", json.loads(json.dumps(state)))
