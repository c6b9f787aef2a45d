from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import (
    pass_at_k,
    rollout_interval,
    sharpening_tax,
    sharpening_tax_interval,
)
from agentenvs.harness.tax._checks import Tasks
from agentenvs.harness.tax.estimators import area
from agentenvs.harness.tax.rollout_noise import _noise

MEASURES = ("A_base", "A_post", "S_base", "S_post", "tax_A", "tax_S")


def exact_area(c: int, n: int, k: int) -> Fraction:
    f = n - c
    return (f - Fraction(comb(f, k), comb(n, k)) * (n + c * (k - 1))) / (c + 1)


@pytest.mark.parametrize(("n", "k"), [(2, 1), (4, 2), (9, 3), (12, 6), (24, 12)])
def test_variances_are_unbiased_for_every_chance_of_success(n: int, k: int) -> None:
    # In rational arithmetic: mean over c of the estimate against the variance itself.
    noise = _noise(Tasks(np.arange(n + 1), np.full(n + 1, n)), k)
    hits = [1 - Fraction(comb(n - c, k), comb(n, k)) for c in range(n + 1)]
    areas = [exact_area(c, n, k) for c in range(n + 1)]
    fails = [Fraction(n - c, n) for c in range(n + 1)]
    for p in (Fraction(0), Fraction(1, 50), Fraction(1, 3), Fraction(4, 5), Fraction(1)):
        weights = [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]

        def mean(values, weights=weights) -> Fraction:
            return sum((w * v for w, v in zip(weights, values, strict=True)), start=Fraction(0))

        def shared(one, two, mean=mean) -> float:
            both = [a * b for a, b in zip(one, two, strict=True)]
            return float(mean(both) - mean(one) * mean(two))

        for found, one, two in (
            (noise.hit, hits, hits),
            (noise.area, areas, areas),
            (noise.fail, fails, fails),
            (noise.area_fail, areas, fails),
        ):
            expected = float(mean(list(map(Fraction, found.tolist()))))
            assert expected == pytest.approx(shared(one, two), rel=1e-9, abs=1e-13)


def test_values_are_those_of_the_plain_measures_with_unequal_rollouts() -> None:
    base, post = ([1, 5, 0, 9, 3], [8, 12, 8, 9, 16]), ([4, 2, 0, 16, 7], [8, 12, 8, 20, 16])
    found, plain = rollout_interval(base, post, 4), sharpening_tax(base, post, 4)
    for name in MEASURES:
        assert getattr(found, name).value == pytest.approx(getattr(plain, name))
    assert found.pass_base.value == pytest.approx(pass_at_k(*base, 4).mean())
    assert found.pass_gap.value == pytest.approx(found.pass_base.value - found.pass_post.value)
    assert (found.method, found.covers, found.clusters) == ("u-statistic", ("rollouts",), 5)


def test_the_error_is_the_scatter_of_repeated_rollouts() -> None:
    rng = np.random.default_rng(2)
    p, q, n, k = rng.beta(0.5, 1.2, 40), rng.beta(0.7, 0.7, 40), 32, 8
    told = []
    for _ in range(400):
        told.append(rollout_interval((rng.binomial(n, p), n), (rng.binomial(n, q), n), k))
    for name in ("pass_gap", *MEASURES):
        values = np.array([getattr(one, name).value for one in told])
        errors = np.array([getattr(one, name).se for one in told])
        assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.12), name


def test_these_very_tasks_are_surer_than_tasks_like_these() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 1.2, 100)
    base, post = (rng.binomial(64, p), 64), (rng.binomial(64, np.sqrt(p)), 64)
    fixed, drawn = rollout_interval(base, post, 16), sharpening_tax_interval(base, post, 16)
    for name in MEASURES:
        assert getattr(fixed, name).se < 0.7 * getattr(drawn, name).se


def test_one_task_is_enough() -> None:
    found = rollout_interval(([2], 32), ([31], 32), 8)
    assert found.tax_A.low < found.tax_A.value < found.tax_A.high


def test_an_estimated_variance_below_0_is_no_error_of_0() -> None:
    # The area of a task that 16 of 32 rollouts solve is so near its peak that it says less noise
    # than none.
    c = np.arange(33)
    low = c[_noise(Tasks(c, np.full(33, 32)), 8).area < -1e-6]
    assert low.size
    found = rollout_interval((low[:1], 32), (low[:1], 32), 8)
    assert all(map(math.isnan, found.tax_A[1:]))
    assert found.pass_gap.se > 0


def test_few_noisy_tasks_reach_further_than_many() -> None:
    base, post = ([3, 9], 32), ([20, 1], 32)
    many = [(hits * 500, n) for hits, n in (base, post)]
    for arms, least, most in (((base, post), 2.3, 6), (many, 1.959, 1.963)):
        found = rollout_interval(*arms, 8)
        for tax in (found.tax_A, found.tax_S):
            assert least < (tax.high - tax.value) / tax.se < most
    assert rollout_interval(*many, 8, 0.5).tax_S.high < rollout_interval(*many, 8).tax_S.high


def test_no_noise_seen_is_no_certainty() -> None:
    found = rollout_interval(([0, 8, 0], 8), ([8, 8, 8], 8), 4)
    for name in ("pass_base", "pass_post", "pass_gap", *MEASURES):
        assert all(map(math.isnan, getattr(found, name)[1:])), name
    assert math.isnan(found.S_post.value)
    assert found.pass_base.value == pytest.approx(1 / 3)


def test_first_tries_alone_have_no_scalability() -> None:
    found = rollout_interval(([1, 2], 4), ([2, 3], 4), 1)
    assert all(map(math.isnan, found.tax_S))
    assert found.A_base.value == 0
    assert found.pass_gap.se > 0


@pytest.mark.parametrize("k", [5, 8])
def test_budgets_beyond_half_of_the_rollouts_are_refused(k: int) -> None:
    with pytest.raises(BadArgument, match=f"at most n / 2, got K = {k}, but the smallest n is 8"):
        rollout_interval(([1, 2], 8), ([2, 3], [8, 20]), k)


@pytest.mark.parametrize(
    ("post", "k", "confidence", "message"),
    [
        (([2, 3], 8), 9, 0.95, "at most n, got K = 9"),
        (([2, 3, 1], 8), 2, 0.95, "over the same tasks"),
        (([2, 9], 8), 2, 0.95, "0 <= c <= n"),
        (([2, 3], 8), 2, 1.0, "`confidence` between 0 and 1"),
    ],
)
def test_arguments_are_checked(post, k: int, confidence: float, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        rollout_interval(([1, 2], 8), post, k, confidence)


def test_many_rollouts_keep_their_precision() -> None:
    n, k = 10_000, 100
    c = np.array([0, 1, 3, 40, 5000, 9999])
    noise = _noise(Tasks(c, np.full(6, n)), k)
    for found, hits in zip(noise.area.tolist(), c.tolist(), strict=True):
        ways = sum(
            sum((h - 1) * (m + 1 - h) for h in range(1, k + 1) if 1 <= m + 2 - h <= k)
            * (comb(n - m - 2, hits - 2) if hits >= 2 else 0)
            for m in range(2 * k - 1)
        )
        truth = float(exact_area(hits, n, k) ** 2 - Fraction(ways, comb(n, hits)))
        assert found == pytest.approx(truth, rel=1e-8, abs=1e-12)
    assert area(1, n, k) > 0
