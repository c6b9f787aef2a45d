"""No pattern that meets model text may repeat something that is itself repeated at will."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
FREE = 8


def nested(tokens: Any, repeated: bool = False) -> bool:
    """Whether a repeat of more than `FREE` stands inside something that may repeat.

    A possessive one gives nothing back, so there is one way alone to divide a text among its
    turns; what stands inside it counts.
    """
    for kind, value in tokens:
        if kind in REPEATS:
            _, most, body = value
            gives_back = kind is not _constants.POSSESSIVE_REPEAT
            if (repeated and gives_back and most > FREE) or nested(body, repeated or most > 1):
                return True
        elif kind is _constants.BRANCH:
            if any(nested(branch, repeated) for branch in value[1]):
                return True
        elif kind in (_constants.SUBPATTERN, _constants.ASSERT, _constants.ASSERT_NOT):
            if nested(value[-1], repeated):
                return True
        elif kind is _constants.ATOMIC_GROUP and nested(value, repeated):
            return True
    return False


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for place in ("agentenvs", "agentenvs.wrappers"):
        for module in pkgutil.walk_packages(importlib.import_module(place).__path__, f"{place}."):
            if "harness" in module.name or module.name.endswith("__main__"):
                continue
            for name, value in vars(importlib.import_module(module.name)).items():
                found = value.values() if isinstance(value, dict) else [value]
                for item in found:
                    if isinstance(item, re.Pattern):
                        yield f"{module.name}.{name}", item


def test_patterns_have_no_nested_quantifiers() -> None:
    known = dict(patterns())
    assert len(known) > 60
    bad = [name for name, item in known.items() if nested(_parser.parse(item.pattern, item.flags))]
    assert bad == []


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("(a+)+", True),
        ("(?:a|b*)*", True),
        ("(?:a{0,2}b)*", False),
        ("(?:a|b)*c+", False),
        ("(?:a++b?+)++", False),
        ("(?:(?:a+)+b)++", True),
    ],
)
def test_the_check_sees_nested_quantifiers(pattern: str, found: bool) -> None:
    assert nested(_parser.parse(pattern)) is found
