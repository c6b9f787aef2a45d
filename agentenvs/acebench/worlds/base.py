"""The device that all phone services share, and what a service is.

A service never changes the values that it holds: each change puts new containers in their
place. So a service may start from shared data, and a copy costs a dict of references.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from agentenvs.acebench.worlds.texts import TEXTS

__all__ = ["BaseApi", "Service", "failed", "succeeded"]


def succeeded(message: str, **more: Any) -> dict[str, Any]:
    """Return a result that says that the function did its work."""
    return {"status": True, "message": message, **more}


def failed(message: str) -> dict[str, Any]:
    """Return a result that says why the function did not do its work."""
    return {"status": False, "message": message}


class Service:
    """One class of the original: attributes that start as given, and functions.

    Functions raise whatever Python raises on arguments of the wrong kind, as the original's
    do: the text of the exception is what an agent then reads.

    Args:
        lang: "en" or "zh".
        state: initial values by attribute; read, never changed.
        config: flags of the task by class, of which the service takes its own.
    """

    #: functions on call, by language, and the attributes that are scored
    functions: ClassVar[Mapping[str, frozenset[str]]] = MappingProxyType({})
    scored: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, lang: str, state: Mapping[str, Any], config: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.lang = lang
        self.names = self.functions[lang]
        self.load(state)

    @property
    def texts(self) -> Mapping[str, str]:
        """What is said, in this service's language."""
        return TEXTS[self.lang]

    def load(self, state: Mapping[str, Any]) -> None:
        """Take the initial values of this service's own attributes."""

    def copy(self) -> Self:
        """Return an independent copy, in constant time."""
        twin = self.__class__.__new__(self.__class__)
        twin.__dict__.update(self.__dict__)
        return twin


_DEVICE = frozenset({"turn_on_wifi", "login_device"})


class BaseApi(Service):
    """The device: Wi-Fi and device login. Each phone service has flags of its own."""

    functions = MappingProxyType({"en": _DEVICE, "zh": _DEVICE})
    scored: ClassVar[tuple[str, ...]] = ("wifi", "logged_in")

    def __init__(
        self, lang: str, state: Mapping[str, Any], config: Mapping[str, Mapping[str, Any]]
    ) -> None:
        super().__init__(lang, state, config)
        flags = {**config.get(type(self).__name__, {}), **config.get("BaseApi", {})}
        self.wifi = flags.get("wifi", state.get("wifi", False))
        self.logged_in = flags.get("logged_in", state.get("logged_in", True))

    def turn_on_wifi(self) -> Any:
        """Turn the Wi-Fi on."""
        self.wifi = True
        return succeeded(self.texts["wifi_on"])

    def login_device(self) -> Any:
        """Log in to the device."""
        self.logged_in = True
        return succeeded(self.texts["device_login"])
