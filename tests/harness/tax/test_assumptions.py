from __future__ import annotations

from math import comb

import numpy as np
import pytest

from agentenvs.harness.tax import assumptions
from agentenvs.harness.tax._checks import Tasks, paired
from agentenvs.harness.tax.shares import Estimate

N = 9


def expected(values, p: float) -> float:
    """Return the mean over binomial counts of (N + 1,) values at c = 0, ..., N."""
    weight = np.array([comb(N, c) * p**c * (1 - p) ** (N - c) for c in range(N + 1)])
    return float(weight @ values)


@pytest.fixture
def every() -> Tasks:
    return Tasks(np.arange(N + 1), np.full(N + 1, N))


@pytest.mark.parametrize("p", [0.0, 0.05, 0.4, 0.9, 1.0])
@pytest.mark.parametrize(("a", "b"), [(0, 0), (1, 0), (0, 3), (2, 1), (4, 5)])
def test_moments_are_unbiased(every, p: float, a: int, b: int) -> None:
    found = expected(assumptions._moment(every, a, b), p)
    assert found == pytest.approx(p**a * (1 - p) ** b, abs=1e-13)


@pytest.mark.parametrize("p", [0.0, 0.05, 0.4, 0.9, 1.0])
@pytest.mark.parametrize(("m", "a", "b"), [(2, 0, 0), (5, 2, 0), (7, 1, 1)])
def test_moments_of_mixed_tasks_are_unbiased(every, p: float, m: int, a: int, b: int) -> None:
    mixed = 1 - p**m - (1 - p) ** m
    found = expected(assumptions._mixed_times(every, m, a, b), p)
    assert found == pytest.approx(mixed * p**a * (1 - p) ** b, abs=1e-13)


def test_draws_are_hypergeometric(every) -> None:
    found = assumptions._draws(every, 4)
    for c in range(N + 1):
        exact = [comb(c, j) * comb(N - c, 4 - j) / comb(N, 4) for j in range(5)]
        assert found[c] == pytest.approx(exact)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.05, 0.05, "holds"),
        (0.01, 0.09, "holds"),
        (-0.2, 0.05, "undecided"),
        (0.05, 0.2, "fails"),
        (-0.3, -0.2, "fails"),
        (float("nan"), float("nan"), "undecided"),
    ],
)
def test_verdicts(low: float, high: float, verdict: str) -> None:
    assert assumptions.verdict(Estimate(0.0, 0.1, low, high), 0.1) == verdict


def test_a_task_that_is_done_says_nothing_of_the_rest() -> None:
    arms = paired(([3, 5, 2, 7], N), ([0, N, 0, N], N))
    told = assumptions.rest_unchanged(arms, 4, 2.0, None)
    assert told.verdict == "undecided"
    assert np.isnan(told.estimate.value)
