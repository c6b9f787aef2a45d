"""The settings of both arms side by side, and which of their differences matter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agentenvs.harness.tax.sides import compared_settings

__all__ = ["Setting", "side_by_side"]

# Told elsewhere on the page, or too long to read.
_LEFT_OUT = frozenset({"format", "history", "merged_from", "task_ids"})


class Setting(NamedTuple):
    """One setting of both arms.

    Attributes:
        name: nested ones are dotted.
        base, post: their values as JSON text; None where an arm does not have it.
        kind: "same", "differs" where it should not, "expected" where arms differ by design.
    """

    name: str
    base: str | None
    post: str | None
    kind: str


def side_by_side(base: Mapping[str, Any], post: Mapping[str, Any]) -> tuple[Setting, ...]:
    """Return every setting of two arms in the order in which they are told.

    Args:
        base: what was recorded of how its outcomes were made; {} where nothing was.
        post: the same of the other arm.
    """
    one, two = dict(_flat(base)), dict(_flat(post))
    matter = {**compared_settings(base), **compared_settings(post)}
    rows = []
    for name in dict.fromkeys((*one, *two)):
        first, second = one.get(name), two.get(name)
        kind = "same" if first == second else "differs" if name in matter else "expected"
        rows.append(Setting(name, first, second, kind))
    return tuple(rows)


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if not prefix and key in _LEFT_OUT:
            continue
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", json.dumps(value, default=repr, ensure_ascii=False)
