from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import (
    Estimate,
    partition,
    partition_interval,
    pass_at_k,
    pass_at_k_interval,
)

tasks = st.integers(1, 12).flatmap(
    lambda n: st.tuples(st.lists(st.integers(0, n), min_size=1, max_size=30), st.just(n))
)


@given(tasks, st.data())
def test_an_interval_holds_its_value_and_stays_between_0_and_1(task, data) -> None:
    c, n = task
    k = data.draw(st.integers(1, n))
    found = pass_at_k_interval(c, n, k)
    assert found.value == pytest.approx(np.mean(pass_at_k(c, n, k)))
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.high - found.low > 0


@given(tasks)
def test_failures_mirror_successes(task) -> None:
    c, n = task
    hit, miss = pass_at_k_interval(c, n, 1), pass_at_k_interval([n - i for i in c], n, 1)
    assert hit.low == pytest.approx(1 - miss.high, abs=1e-12)


def test_all_at_0_has_an_upper_bound_that_tasks_bring_down() -> None:
    bounds = [pass_at_k_interval([0] * size, 8, 4) for size in (1, 10, 24, 300)]
    assert [bound.low for bound in bounds] == [0] * 4
    assert all(math.isnan(bound.se) for bound in bounds)
    highs = [bound.high for bound in bounds]
    assert highs == sorted(highs, reverse=True)
    # Between the rule of three and Wilson's bound for one task less.
    assert 3 / 300 < highs[3] < 1.96**2 / (299 + 1.96**2) + 1e-5
    assert pass_at_k_interval([8] * 24, 8, 4).low == pytest.approx(1 - highs[2])


def test_equal_values_in_the_middle_have_an_interval_too() -> None:
    found = pass_at_k_interval([1] * 7, 3, 1)
    assert math.isnan(found.se)
    assert found.low < 1 / 3 < found.high


def test_many_tasks_in_the_middle_come_to_the_normal_interval() -> None:
    rng = np.random.default_rng(3)
    found = pass_at_k_interval(rng.binomial(8, rng.beta(2, 2, 5000)), 8, 1)
    assert found.high - found.low == pytest.approx(2 * 1.96 * found.se, rel=0.01)


def test_the_bins_are_those_of_the_partition() -> None:
    c = [0, 0, 3, 8, 5, 8, 1, 0]
    for m in (None, 3, 8):
        found = partition_interval(c, 8, m)
        assert tuple(share.value for share in found) == pytest.approx(partition(c, 8, m))
        assert all(0 <= share.low < share.value < share.high <= 1 for share in found)


@pytest.mark.parametrize("confidence", [0, 1, 1 - 2**-53, 95, float("nan"), "0.95"])
def test_confidence_is_a_share(confidence) -> None:
    with pytest.raises(BadArgument, match="`confidence` between 0 and 1"):
        partition_interval([1, 2], 4, 1, confidence)


def coverage(a: float, b: float, size: int, k: int, rounds: int) -> float:
    """The share of intervals that hold the truth, for success rates from Beta(a, b) and n = 8."""
    n = 8
    rng = np.random.default_rng(7)
    rates = rng.beta(a, b, 1_000_000)
    truth = np.mean(1 - (1 - rates) ** k)
    held = 0
    for _ in range(rounds):
        found = pass_at_k_interval(rng.binomial(n, rng.beta(a, b, size)), n, k)
        held += found.low <= truth <= found.high
    return held / rounds


@pytest.mark.parametrize("k", [1, 4, 8])
def test_weak_policies_are_covered(k: int) -> None:
    # The normal interval holds 0.81, 0.89 and 0.84 here; three standard deviations are 0.02.
    assert coverage(0.1, 3, 24, k, rounds=1000) > 0.93


@pytest.mark.slow
@pytest.mark.parametrize("size", [8, 24, 50, 200])
@pytest.mark.parametrize(
    ("a", "b"), [(0.05, 3), (0.1, 3), (0.3, 2), (0.5, 1.2), (1, 1), (2, 2), (3, 0.1)]
)
def test_coverage_over_many_settings(a: float, b: float, size: int) -> None:
    for k in (1, 4, 8):
        assert coverage(a, b, size, k, rounds=4000) > 0.92, k


def test_tasks_repeated_in_clusters_leave_the_interval_of_one_of_each() -> None:
    c, codes = np.array([0, 1, 5, 8, 2, 3]), np.repeat(np.arange(6), 4)
    alone = pass_at_k_interval(c, 8, 2)
    together = pass_at_k_interval(np.repeat(c, 4), 8, 2, clusters=codes.tolist())
    assert together == pytest.approx(alone)
    never = pass_at_k_interval(np.zeros(24, int), 8, 2, clusters=codes.tolist())
    assert never.high == pytest.approx(pass_at_k_interval([0] * 6, 8, 2).high)
    assert math.isnan(never.se)


def test_unequal_clusters_do_not_narrow_the_interval() -> None:
    # With half a cluster of the mean size and no leverage it held in 90 %.
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(12), np.resize([1, 2, 4, 10], 12))
    truth = np.mean(1 - (1 - rng.beta(0.5, 1.2, 200_000)) ** 8)
    held = 0
    for _ in range(400):
        c = rng.binomial(16, rng.beta(0.5, 1.2, 12)[labels])
        found = pass_at_k_interval(c, 16, 8, clusters=labels.tolist())
        held += found.low <= truth <= found.high
    assert held >= 376


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(0.1, 0.3, True), (-0.1, 0.3, False), (float("nan"), float("nan"), False)],
)
def test_an_interval_that_leaves_out_0_is_sure(low: float, high: float, told: bool) -> None:
    assert Estimate(0.2, 0.1, low, high).sure is told


def test_a_difference_the_other_way_round_swaps_its_ends() -> None:
    assert Estimate(0.2, 0.1, -0.1, 0.5).negated() == Estimate(-0.2, 0.1, -0.5, 0.1)
    assert repr(Estimate(0.0, 0.0, 0.0, 0.0).negated()) == repr(Estimate(0.0, 0.0, 0.0, 0.0))
