from __future__ import annotations

from typing import Any

import pytest

from agentenvs.bfcl.limits import Costly, rules_of, size_of


@pytest.mark.parametrize(
    ("given", "costly"),
    [
        ({"base": 2, "exponent": 20_000}, True),
        ({"base": 2, "exponent": 9_000}, False),
        ({"base": -1, "exponent": 10**12}, False),
        ({"base": 2.5, "exponent": 10**9}, False),
        ({"base": [], "exponent": 10**9}, True),
        ({"base": "a"}, False),
    ],
)
def test_powers(given: dict[str, Any], costly: bool) -> None:
    rule = rules_of("MathAPI")["power"]
    if costly:
        with pytest.raises(Costly):
            rule(None, given)
    else:
        assert rule(None, given) == 0


@pytest.mark.parametrize(
    ("given", "costly"),
    [
        ({"value": 2, "base": 10, "precision": 1_000}, False),
        ({"value": 2, "base": 10, "precision": 1_001}, True),
        ({"value": 2, "base": 10, "precision": -5_000}, True),
        ({"value": 2, "precision": float("nan")}, False),
        ({"value": 2, "precision": float("inf")}, True),
        ({"value": "1e4", "precision": 4}, False),
        ({"value": "1e1000000", "precision": 4}, True),
        ({"value": "None", "precision": "x"}, False),
        ({"number": 1 << 30_000, "precision": 4}, True),
    ],
)
def test_precisions(given: dict[str, Any], costly: bool) -> None:
    rule = rules_of("MathAPI")["logarithm"]
    if costly:
        with pytest.raises(Costly):
            rule(None, given)
    else:
        assert rule(None, given) >= 0


def test_sizes_count_shared_parts_each_time() -> None:
    inner = ["x" * 10] * 10
    assert size_of([inner, inner], 10_000) == 2 * size_of(inner, 10_000) + 30
    assert size_of({"a": 1, "b": (2, {3})}, 1_000) == 8 * 30 + 2


def test_sizes_stop_at_the_limit_and_at_cycles() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    for value in ("x" * 200, [0] * 100, cycle, 1 << 10_000):
        with pytest.raises(Costly):
            size_of(value, 100)
    with pytest.raises(Costly):
        size_of(cycle, 10**9)


def test_other_classes_have_no_rules() -> None:
    assert rules_of("Nothing") == {}
