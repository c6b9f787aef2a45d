"""A cache of bounded size that threads may share."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

__all__ = ["Kept"]

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Kept(dict[_Key, _Value]):
    """A cache that begins anew when it is full, so that threads need no lock.

    Args:
        limit: how many entries it holds at most.
    """

    def __init__(self, limit: int = 4_096) -> None:
        super().__init__()
        self.limit = limit

    def keep(self, key: _Key, value: _Value) -> _Value:
        """Keep a value and return it."""
        if len(self) >= self.limit:
            self.clear()
        self[key] = value
        return value
