"""Fast deep copies of simulator state, aliasing kept."""

from __future__ import annotations

import copy
import datetime
import functools
import random
from typing import Any

__all__ = ["LazyRandom", "clone", "separated"]

_ATOMS = frozenset(
    {int, float, str, bool, type(None), bytes, complex, datetime.datetime, type(...)}
)
_HOOKS = (
    "__deepcopy__",
    "__getstate__",
    "__reduce__",
    "__reduce_ex__",
    "__setstate__",
    "__slots__",
)


class LazyRandom:
    """A generator that exists only once it is drawn from, so that copies cost nothing before.

    It starts from the state of the generator that it was made of and yields the same draws.
    """

    __slots__ = ("_own", "_state")

    def __init__(self, state: Any, own: random.Random | None = None) -> None:
        self._state = state
        self._own = own

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._own is None:
            self._own = random.Random(0)
            self._own.setstate(self._state)
        return getattr(self._own, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> LazyRandom:
        if self._own is None:
            return LazyRandom(self._state)
        own = random.Random(0)
        own.setstate(self._own.getstate())
        return LazyRandom(self._state, own)


def separated(instance: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a fresh simulator's attributes: those that copies may share, and the others.

    The others are copies already, independent of the simulator's module and cheap to copy.
    """
    shared, others = {}, {}
    for name, value in vars(instance).items():
        if type(value) is random.Random:
            others[name] = LazyRandom(value.getstate())
        elif type(value) in _ATOMS:
            shared[name] = value
        else:
            others[name] = value
    return shared, clone(others, {})


def clone(value: Any, memo: dict[int, Any]) -> Any:
    """Return what `copy.deepcopy(value, memo)` returns, several times faster.

    Containers and plain objects are copied here; anything with a copy protocol of its own
    goes through `copy.deepcopy`. The caller keeps `value` alive while `memo` is in use.
    """
    kind: Any = type(value)
    if kind in _ATOMS:
        return value
    known = memo.get(id(value))
    if known is not None:
        return known
    if kind is dict:
        mapping: dict[Any, Any] = {}
        memo[id(value)] = mapping
        for key, item in value.items():
            mapping[key] = item if type(item) in _ATOMS else clone(item, memo)
        return mapping
    if kind is list:
        items: list[Any] = []
        memo[id(value)] = items
        for item in value:
            items.append(item if type(item) in _ATOMS else clone(item, memo))
        return items
    if kind is LazyRandom:
        memo[id(value)] = value.__deepcopy__(memo)
        return memo[id(value)]
    if _is_plain(kind):
        twin = kind.__new__(kind)
        memo[id(value)] = twin
        state = twin.__dict__
        for key, item in value.__dict__.items():
            state[key] = item if type(item) in _ATOMS else clone(item, memo)
        return twin
    return copy.deepcopy(value, memo)


@functools.cache
def _is_plain(kind: Any) -> bool:
    """Whether instances are nothing but their `__dict__`."""
    lineage = kind.__mro__[:-1]
    return (
        kind.__new__ is object.__new__
        and kind.__dictoffset__ != 0
        and not any(hook in vars(base) for base in lineage for hook in _HOOKS)
    )
