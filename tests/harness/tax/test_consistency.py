from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import consistency_gap, curve, hat_curve, pass_hat_k

tasks = st.lists(
    st.integers(5, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=20,
)


@given(tasks)
def test_the_curve_is_the_mean_over_tasks(rows) -> None:
    c, n = map(np.array, zip(*rows, strict=True))
    ks = [5, 1, 3]
    found = hat_curve(c, n, ks)
    np.testing.assert_allclose(found, [np.mean(pass_hat_k(c, n, k)) for k in ks], rtol=1e-12)
    np.testing.assert_allclose(found, 1 - curve(n - c, n, ks), atol=1e-14)


def test_every_count_up_to_24_rollouts_against_rational_arithmetic() -> None:
    for n in range(1, 25):
        c = list(range(n + 1))
        expected = [
            float(sum((Fraction(comb(i, k), comb(n, k)) for i in c), Fraction(0)) / (n + 1))
            for k in range(1, n + 1)
        ]
        np.testing.assert_allclose(hat_curve(c, n, range(1, n + 1)), expected, rtol=1e-13)


def test_a_chance_too_small_for_a_difference_is_kept() -> None:
    found = hat_curve([100, 0], 10_000, [60])[0]
    truth = Fraction(comb(100, 60), comb(10_000, 60)) / 2
    assert abs(Fraction(found) / truth - 1) < Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("c", "ks", "says"),
    [
        ([], [1], "one or more tasks"),
        ([1], 1, "list of budgets"),
        ([1], [4], "k = 4, but the smallest n is 3"),
        ([float("nan")], [1], "whole numbers, got nan"),
    ],
)
def test_curve_refuses(c, ks, says: str) -> None:
    with pytest.raises(BadArgument, match=says):
        hat_curve(c, 3, ks)


def test_no_budget_gives_an_empty_curve() -> None:
    assert hat_curve([1], 3, []).shape == (0,)


def test_the_gap_is_what_post_gained() -> None:
    rng = np.random.default_rng(1)
    base, post = rng.binomial(16, 0.5, 60), rng.binomial(16, 0.9, 60)
    found = consistency_gap((base, 16), (post, 16), 4)
    gains = pass_hat_k(post, 16, 4) - pass_hat_k(base, 16, 4)
    assert found.value == pytest.approx(gains.mean())
    assert found.se == pytest.approx(gains.std(ddof=1) / math.sqrt(60))
    assert 0 < found.low < found.value < found.high < 1


def test_clusters_of_copies_count_once() -> None:
    rng = np.random.default_rng(2)
    base, post = rng.integers(0, 9, 30), rng.integers(0, 9, 30)
    once = consistency_gap((base, 8), (post, 8), 2)
    labels = np.repeat(np.arange(30), 2).tolist()
    twice = ((np.repeat(arm, 2), 8) for arm in (base, post))
    assert consistency_gap(*twice, 2, clusters=labels) == pytest.approx(once)


def test_an_arm_that_is_never_consistent_leaves_bounds() -> None:
    found = consistency_gap(([1, 0, 2, 3] * 6, 8), ([8, 0, 8, 8] * 6, 8), 8)
    assert found.value == 0.75
    assert math.isnan(found.se)
    assert 0.4 < found.low < 0.75 < found.high < 1


def test_rare_successes_in_a_row_do_not_narrow_the_interval() -> None:
    # Normal intervals hold the truth in 68 % of such samples.
    rng = np.random.default_rng(5)
    p = rng.beta(0.1, 3, 200_000)
    truth = np.mean((1 - (1 - p) ** 4) ** 8) * 0.7 - np.mean(p**8)
    held = 0
    for _ in range(200):
        p = rng.beta(0.1, 3, 50)
        q = np.where(rng.random(50) < 0.3, 0, 1 - (1 - p) ** 4)
        gap = consistency_gap((rng.binomial(32, p), 32), (rng.binomial(32, q), 32), 8)
        held += gap.low <= truth <= gap.high
    assert held >= 184
