"""What every measure of two arms says to input that makes no sense, and where it gives NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.tax import (
    Counts,
    bootstrap_tax,
    compare,
    consistency_gap,
    crossover,
    crossover_set,
    decompose,
    flow,
    lone_success_audit,
    sharpening_tax,
    sharpening_tax_interval,
    tax_parts,
)

Measure = Callable[[Any, Any, int], Any]


def compared(base: Any, post: Any, k: int) -> Any:
    return compare(base, post, [k])


MEASURES: list[Measure] = [
    sharpening_tax,
    sharpening_tax_interval,
    crossover,
    crossover_set,
    decompose,
    flow,
    tax_parts,
    consistency_gap,
    lone_success_audit,
    compared,
]
WITH_CONFIDENCE = [
    sharpening_tax_interval,
    crossover_set,
    decompose,
    tax_parts,
    consistency_gap,
]
WITH_CLUSTERS = WITH_CONFIDENCE


@pytest.fixture(params=MEASURES, ids=lambda measure: measure.__name__)
def measure(request: pytest.FixtureRequest) -> Measure:
    chosen: Measure = request.param
    return chosen


def counts(ids: str, c: list[int], n: int = 4) -> Counts:
    return Counts(tuple(ids), np.array(c), np.full(len(c), n))


BASE, POST = ([1, 2, 0], 4), ([4, 0, 3], 4)


@pytest.mark.parametrize(
    ("base", "post", "says"),
    [
        (BASE, ([1, 2], 4), "the same tasks, got 3 and 2 tasks"),
        (
            counts("abc", [1, 2, 0]),
            counts("abd", [1, 2, 0]),
            "only in base: 'c'; only in post: 'd'",
        ),
        (counts("abc", [1, 2, 0]), counts("ab", [1, 2]), "only in base: 'c'; only in post: none"),
        (
            counts("aba", [1, 2, 0]),
            counts("abc", [1, 2, 0]),
            "each task once in `base`, twice: 'a'",
        ),
        (
            counts("abc", [1, 2, 0]),
            counts("bcb", [1, 2, 0]),
            "each task once in `post`, twice: 'b'",
        ),
        (counts("abc", [1, 2, 0]), POST, "both as Counts or both as pairs"),
        (([], []), ([], []), "In `base`: .*one or more tasks"),
        (([1, float("nan"), 0], 4), POST, "In `base`: .*whole numbers, got nan"),
        (BASE, ([1, 2, 0], float("nan")), "In `post`: .*whole numbers, got nan"),
        (([1, 0.5, 0], 4), POST, "whole numbers, got 0.5"),
        (([1, 2, 5], 4), POST, "0 <= c <= n, got c = 5 with n = 4"),
        (([1, 2, -1], 4), POST, "0 <= c <= n, got c = -1 with n = 4"),
        (([True, False, True], 4), POST, "integers, got bool"),
        (([1, 2, 0], [4, 4, 0]), POST, "`n` of at least 1, got 0"),
        (BASE, ([1, 2, 0], [4, 4, 1]), "the smallest n is 1"),
        (3, POST, "`base` to be Counts or a pair"),
        (BASE, None, "`post` to be Counts or a pair"),
    ],
)
def test_arms_that_make_no_sense(measure: Measure, base: Any, post: Any, says: str) -> None:
    with pytest.raises(BadArgument, match=says):
        measure(base, post, 2)


@pytest.mark.parametrize(
    ("k", "says"),
    [
        (5, "= 5, but the smallest n is 4"),
        (0, "at least 1, got 0"),
        (-2, "at least 1, got -2"),
        (True, "an integer, got True"),
        (2.0, "an integer, got 2.0"),
        (float("nan"), "an integer, got nan"),
        ("2", "an integer, got '2'"),
    ],
)
def test_budgets_that_make_no_sense(measure: Measure, k: Any, says: str) -> None:
    with pytest.raises(BadArgument, match=says):
        measure(BASE, POST, k)


@pytest.mark.parametrize("wrong", [0, 1, 95, -0.1, float("nan"), "0.95"])
@pytest.mark.parametrize("asked", WITH_CONFIDENCE, ids=lambda measure: measure.__name__)
def test_confidence_is_a_share(asked: Any, wrong: Any) -> None:
    with pytest.raises(BadArgument, match="`confidence` between 0 and 1"):
        asked(BASE, POST, 2, confidence=wrong)


@pytest.mark.parametrize(
    ("clusters", "says"),
    [
        ([1, 2], "each of 3 tasks, got 2"),
        ({"a": 1}, "no task ids to look up"),
        ([[], [], []], "hashable"),
        ("abc", "a list or a mapping, got str"),
        (7, "a list or a mapping, got int"),
    ],
)
@pytest.mark.parametrize("asked", WITH_CLUSTERS, ids=lambda measure: measure.__name__)
def test_clusters_that_do_not_fit(asked: Any, clusters: Any, says: str) -> None:
    with pytest.raises(BadArgument, match=says):
        asked(BASE, POST, 2, clusters=clusters)


def test_outcomes_of_one_arm_alone() -> None:
    rows = [{"task_id": "a", "pass_flags": [True, False]}]
    with pytest.raises(BadArgument, match="outcomes in `post`, got none"):
        compare(Outcomes(rows), Outcomes([]))
    with pytest.raises(BadArgument, match="outcomes in `base`, got none"):
        compare(Outcomes([]), Outcomes(rows))


def test_arms_that_solve_everything_give_nan_where_nothing_is_to_mend() -> None:
    solved = ([4, 4, 4], 4)
    assert math.isnan(sharpening_tax(solved, POST, 2).tax_S)
    found = decompose(solved, solved, 2)
    assert found.tasks[2, 2] == 3
    assert not found.tax_A.any()
    parts = tax_parts(solved, POST, 2)
    assert parts.coverage.value > 0
    assert all(map(math.isnan, parts.coverage[1:]))
    assert flow(solved, solved)[2, 2] == 1
    audit = lone_success_audit(solved, POST, 2)
    assert math.isnan(audit.before.S_base)
    assert math.isnan(audit.share_most[0])
    gap = consistency_gap(solved, solved, 2)
    assert gap.value == 0
    assert math.isnan(gap.se)
    assert gap.low < 0 < gap.high
    shown = compare(solved, solved)
    assert "never failed: S is undefined" in shown.rows[0].undefined
    assert math.isnan(shown.rows[0].of_max[0])


@pytest.mark.parametrize("asked", [*WITH_CONFIDENCE, partial(compared)])
def test_one_task_has_values_without_intervals(asked: Any) -> None:
    found = asked(([1], 4), ([3], 4), 2)
    if asked is decompose:
        found = found.cells[1][1]
    elif asked is tax_parts:
        found = found.coverage
    elif asked is sharpening_tax_interval:
        found = found.tax_A
    elif asked is consistency_gap:
        assert -1 <= found.low < found.value < found.high <= 1
    elif asked is crossover_set:
        assert not found.decides
        return
    else:
        found = found.rows[0].measures.tax_S
    assert math.isnan(found.se)
    assert not math.isnan(found.value)


@pytest.mark.parametrize("ks", [8, 2.0, "8", b"8", True])
def test_budgets_are_a_list(ks: Any) -> None:
    arm = ([1, 3, 0], 8)
    with pytest.raises(BadArgument, match="`ks` to list budgets, got"):
        compare(arm, arm, ks)
    with pytest.raises(BadArgument, match="`Ks` to list budgets, got"):
        bootstrap_tax(arm, arm, ks)
    with pytest.raises(BadArgument, match="at least one budget"):
        compare(arm, arm, [])
