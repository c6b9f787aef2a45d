"""What a call may cost: legal calls that would run for long are refused, deterministically.

Work is counted in units of roughly 20 nanoseconds, from the sizes of what a call reads and
writes, never from the clock, so that the same calls are refused on every machine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = [
    "EPISODE_TEXT",
    "NESTED_SIZE",
    "REFUSAL",
    "STEP_WORK",
    "Costly",
    "Rule",
    "rules_of",
    "size_of",
]

#: units of work of one step
STEP_WORK = 600_000
#: characters of call text in one episode
EPISODE_TEXT = 300_000
#: the largest value of a nested call, as `size_of` counts
NESTED_SIZE = 100_000
#: units of any call
BASE = 150
#: units of finding out that a call has no useful bound
REFUSAL = 50_000
MAX_PRECISION = 1_000
MAX_BITS = 20_000
MAX_LEVELS = 100
_EXPONENT = re.compile(r"[eE][+-]?[0-9_]{4}")


Survey = tuple[int, int, int]
Rule = Callable[[Any, Mapping[str, Any]], int]


class Costly(Exception):
    """Raised where a call would cost too much; the text becomes its result."""


def rules_of(class_name: str) -> Mapping[str, Rule]:
    """Return the rules for a class: function name -> units of work beyond `BASE` and its text.

    A rule takes the simulator and the arguments by parameter name, and raises `Costly` where
    the cost of a call has no useful bound.
    """
    return _RULES.get(class_name, {})


def size_of(value: Any, limit: int) -> int:
    """Return characters plus 30 an entry of a value, shared parts counted each time.

    Raises:
        Costly: there are more than `limit`, or the value is nested deeper than 100.
    """
    total = 0
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        total += 30 + (len(item) if isinstance(item, str) else 0)
        if isinstance(item, int):
            total += item.bit_length() // 8
        if total > limit or depth > MAX_LEVELS:
            raise Costly("the value of a nested call is too large")
        if isinstance(item, dict):
            pending.extend((part, depth + 1) for part in item)
            pending.extend((part, depth + 1) for part in item.values())
        elif isinstance(item, list | tuple | set):
            pending.extend((part, depth + 1) for part in item)
    return total


def _power(instance: Any, given: Mapping[str, Any]) -> int:
    base, exponent = given.get("base"), given.get("exponent")
    if isinstance(base, int) and isinstance(exponent, int):
        if abs(base) > 1 and base.bit_length() * abs(exponent) > MAX_BITS:
            raise Costly(f"the power has more than {MAX_BITS} bits")
    elif isinstance(exponent, int) and abs(exponent) > 10**6 and not isinstance(base, float):
        raise Costly("the exponent is too large")
    return 0


def _precision(instance: Any, given: Mapping[str, Any]) -> int:
    precision = given.get("precision")
    work = 2_000
    if isinstance(precision, int | float) and not math.isnan(precision):
        if abs(precision) > MAX_PRECISION:
            raise Costly(f"the precision is over {MAX_PRECISION} digits")
        work += 200 * int(abs(precision))
    for name in ("value", "base", "number"):
        value = given.get(name)
        if isinstance(value, str) and (len(value) > MAX_PRECISION or _EXPONENT.search(value)):
            raise Costly(f"{name} is not a plain number")
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise Costly(f"{name} has more than {MAX_BITS} bits")
    return work


def _rounding(instance: Any, given: Mapping[str, Any]) -> int:
    places = given.get("decimal_places")
    if isinstance(places, int) and abs(places) > MAX_BITS:
        raise Costly(f"more than {MAX_BITS} decimal places")
    return 0


def _reading(units: int, *names: str) -> Rule:
    """A rule for functions that go through files of the current directory."""

    def rule(instance: Any, given: Mapping[str, Any]) -> int:
        contents = instance._current_dir.contents
        total = 0
        for name in names:
            file = given.get(name)
            if isinstance(file, str):
                content = getattr(contents.get(file), "content", None)
                total += units * len(content) if isinstance(content, str) else 0
        return total

    return rule


def _records(units: int, attribute: str) -> Rule:
    """A rule for functions that do something slow with every record of a collection."""

    def rule(instance: Any, given: Mapping[str, Any]) -> int:
        return units * len(getattr(instance, attribute))

    return rule


def _walk(instance: Any, given: Mapping[str, Any]) -> int:
    """Functions that go through a tree, links to shared directories followed each time."""
    path = given.get("path", ".")
    if not isinstance(path, str):
        return 0
    start = instance._navigate_to_directory(path)
    if isinstance(start, dict):
        return 0
    entries, characters, _ = _survey(start, {}, 0)
    return 15 * entries + (entries * len(path) + characters) // 4


def _survey(directory: Any, known: dict[int, Survey | None], level: int) -> Survey:
    """Return entries, characters of all paths, and bytes of a tree, as a walk meets them."""
    if id(directory) in known:
        found = known[id(directory)]
        if found is not None:
            return found
        level = MAX_LEVELS
    if level >= MAX_LEVELS:
        raise Costly("maximum recursion depth exceeded")
    known[id(directory)] = None
    entries = characters = size = 0
    for name, item in directory.contents.items():
        length = 1 + len(name if isinstance(name, str) else str(name))
        entries += 1
        characters += length
        if hasattr(item, "contents"):
            inner, paths, weight = _survey(item, known, level + 1)
            entries += inner
            characters += paths + inner * length
            size += weight
        elif isinstance(item.content, str):
            size += len(item.content)
    known[id(directory)] = (entries, characters, size)
    return entries, characters, size


def _size_walk(instance: Any, given: Mapping[str, Any]) -> int:
    entries, _, size = _survey(instance._current_dir, {}, 0)
    return 15 * entries + size // 4


def _growing(instance: Any, given: Mapping[str, Any]) -> int:
    """Functions that may nest directories deeper, or copy many entries."""
    seen: dict[int, int] = {}
    here = instance._current_dir
    if max(_depth(instance.root, seen, 0), _depth(here, seen, 0)) >= MAX_LEVELS:
        raise Costly(f"directories are nested {MAX_LEVELS} deep")
    source = given.get("source")
    item = here.contents.get(source) if isinstance(source, str) else None
    return 90 * len(seen) + 10 * sum(seen.values()) + len(getattr(item, "contents", ()))


def _depth(directory: Any, seen: dict[int, int], level: int) -> int:
    """Return how deep a copy of the tree recurses; every directory is entered once."""
    if id(directory) in seen or level >= MAX_LEVELS:
        return level
    seen[id(directory)] = len(directory.contents)
    deepest = level
    for item in directory.contents.values():
        if hasattr(item, "contents"):
            deepest = max(deepest, _depth(item, seen, level + 1))
    return deepest


_RULES: Mapping[str, Mapping[str, Rule]] = {
    "GorillaFileSystem": {
        "sort": _reading(10, "file_name"),
        "grep": _reading(4, "file_name"),
        "tail": _reading(4, "file_name"),
        "wc": _reading(4, "file_name"),
        "diff": _reading(8, "file_name1", "file_name2"),
        "find": _walk,
        "du": _size_walk,
        "mkdir": _growing,
        "mv": _growing,
        "cp": _growing,
    },
    "MathAPI": {
        "power": _power,
        "logarithm": _precision,
        "square_root": _precision,
        "round_number": _rounding,
    },
    "TradingBot": {"get_transaction_history": _records(400, "transaction_history")},
    "TravelAPI": {"get_booking_history": _records(1_500, "booking_record")},
}
