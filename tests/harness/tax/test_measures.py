from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import (
    Counts,
    area,
    crossover,
    curve,
    partition,
    s_max,
    scalability,
    sharpening_tax,
)

tasks = st.integers(2, 24).flatmap(
    lambda n: st.tuples(st.lists(st.integers(0, n), min_size=1, max_size=12), st.just(n))
)


def rational_scalability(c: list[int], n: int, k: int) -> Fraction:
    hits = [[1 - Fraction(comb(n - i, j), comb(n, j)) for j in range(1, k + 1)] for i in c]
    areas = sum(sum(row[-1] - value for value in row) for row in hits)
    return areas / ((k - 1) * sum(1 - Fraction(i, n) for i in c))


@given(tasks, st.data())
def test_scalability_is_a_ratio_of_means(task, data) -> None:
    c, n = task
    k = data.draw(st.integers(2, n))
    if all(i == n for i in c):
        assert math.isnan(scalability(c, n, k))
    else:
        exact = float(rational_scalability(c, n, k))
        assert scalability(c, n, k) == pytest.approx(exact, rel=1e-13)


def test_scalability_is_not_the_mean_of_the_tasks_ratios() -> None:
    c, n = np.array([1, 3]), 4
    single = [scalability(c[i : i + 1], n, 2) for i in range(2)]
    assert scalability(c, n, 2) != pytest.approx(np.mean(single))
    fails = 1 - c / n
    assert scalability(c, n, 2) == pytest.approx(float(np.average(single, weights=fails)))


def test_scalability_is_undefined_at_one_try_and_without_failure() -> None:
    assert math.isnan(scalability([1, 2], 4, 1))
    assert math.isnan(scalability([4, 4], 4, 2))


@pytest.mark.parametrize("k", [2, 5, 8])
def test_all_or_nothing_tasks_do_not_scale(k: int) -> None:
    assert scalability([0, 8, 8, 0], 8, k) == 0
    assert area([0, 8], 8, k).tolist() == [0, 0]


def test_an_estimate_may_exceed_the_bound_of_the_truth() -> None:
    assert scalability([1] * 7, 128, 128) == pytest.approx(0.504, abs=5e-4)
    assert s_max(128) < 0.504


@pytest.mark.parametrize(
    ("k", "bound"),
    [
        (2, "1"),
        (3, ".5625"),
        (4, ".460"),
        (8, ".362"),
        (16, ".327"),
        (32, ".312"),
        (64, ".305"),
        (128, ".3017"),
        (1024, ".2988"),
        (10_000_000, ".29843"),
    ],
)
def test_bound_of_scalability_to_the_last_digit(k: int, bound: str) -> None:
    digits = len(bound.partition(".")[2])
    assert round(s_max(k), digits) == float(bound)


def test_the_bound_falls_to_its_limit() -> None:
    # With x = K p the bound of many tries is the top of (1 - exp(-x)) / x - exp(-x).
    x = np.linspace(1.5, 2.1, 600_001)
    limit = -np.expm1(-x) / x - np.exp(-x)
    assert x[limit.argmax()] == pytest.approx(1.793, abs=5e-4)
    bounds = [s_max(k) for k in range(2, 200)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] > s_max(10**7) > limit.max()
    assert s_max(10**7) == pytest.approx(limit.max(), abs=1e-6)


def test_the_bound_is_reached_and_never_passed_by_bernoulli_tasks() -> None:
    k = 9
    p = np.linspace(1e-4, 1 - 1e-4, 20_001)
    miss = (1 - p) ** (k - 1)
    value = ((1 - miss) / p - (k - 1) * miss) / (k - 1)
    assert value.max() == pytest.approx(s_max(k), abs=1e-7)
    assert math.isnan(s_max(1))


def test_the_tax_is_the_drop_from_base_to_post() -> None:
    base, post = ([1, 3, 0, 2], 8), ([8, 5, 0, 0], 8)
    tax = sharpening_tax(base, post, 4)
    assert tax._fields == ("K", "A_base", "A_post", "S_base", "S_post", "tax_A", "tax_S")
    assert pytest.approx(np.mean(area(*base, 4))) == tax.A_base
    assert scalability(*post, 4) == tax.S_post
    assert tax.tax_A == tax.A_base - tax.A_post
    assert tax.tax_S == tax.S_base - tax.S_post


@given(tasks, st.data())
def test_the_tax_is_coverage_lost_plus_solving_earlier(task, data) -> None:
    base, n = task
    post = data.draw(st.lists(st.integers(0, n), min_size=len(base), max_size=len(base)))
    k = data.draw(st.integers(1, n))
    gap = curve(base, n, range(1, k + 1)) - curve(post, n, range(1, k + 1))
    tax = sharpening_tax((base, n), (post, n), k)
    assert tax.tax_A == pytest.approx(k * gap[-1] - gap.sum(), abs=1e-11)


def test_pure_speed_up_is_taxed_although_coverage_grows() -> None:
    rng = np.random.default_rng(5)
    p = rng.beta(0.4, 1.2, 20_000)
    base, post = (rng.binomial(64, q) for q in (p, 1 - (1 - p) ** 3))
    tax = sharpening_tax((base, 64), (post, 64), 32)
    assert tax.tax_A > 0
    assert curve(post, 64, [32]) > curve(base, 64, [32])


def test_selective_sharpening_of_easy_tasks_can_give_a_negative_tax() -> None:
    rng = np.random.default_rng(6)
    p = rng.beta(0.4, 1.2, 20_000)
    base, post = (rng.binomial(128, q) for q in (p, np.where(p > 0.3, 1.0, p)))
    tax = sharpening_tax((base, 128), (post, 128), 128)
    assert tax.tax_S < 0
    assert 0 < tax.tax_A < 0.1 * tax.A_base


def test_the_unbiased_area_is_right_where_the_plug_in_is_not() -> None:
    # n = K = 8, p = 0.1: truth 1.68, plug-in 1.04.
    rng = np.random.default_rng(7)
    c = rng.binomial(8, 0.1, 200_000)
    truth = 0.9 * (1 - 0.9**7) / 0.1 - 7 * 0.9**8
    assert truth == pytest.approx(1.68, abs=5e-3)
    assert np.mean(area(c, 8, 8)) == pytest.approx(truth, abs=0.02)
    p = np.maximum(c / 8, 1e-300)
    plug_in = np.where(c > 0, (1 - p) * (1 - (1 - p) ** 7) / p - 7 * (1 - p) ** 8, 0)
    assert np.mean(plug_in) == pytest.approx(1.04, abs=0.02)


def test_counts_are_matched_by_task_id() -> None:
    base = Counts(("a", "b", "c"), np.array([1, 2, 3]), np.array([4, 6, 8]))
    post = Counts(("c", "a", "b"), np.array([8, 0, 1]), np.array([8, 4, 6]))
    same = sharpening_tax(([1, 2, 3], [4, 6, 8]), ([0, 1, 8], [4, 6, 8]), 4)
    assert sharpening_tax(base, post, 4) == same
    pair = ([1, 2, 3], [4, 6, 8]), ([0, 1, 8], [4, 6, 8])
    assert crossover(base, post, 4).gap.tolist() == crossover(*pair, 4).gap.tolist()


@pytest.mark.parametrize(
    ("base", "post", "says"),
    [
        (([1], 2), ([1, 2], 2), "the same tasks, got 1 and 2 tasks"),
        (Counts(("a",), [1], [2]), ([1], 2), "both as Counts or both as pairs"),
        (Counts(("a", "b"), [1, 1], [2, 2]), Counts(("a", "x"), [1, 1], [2, 2]), "in base: 'b'"),
        (Counts(("a", "b"), [1, 1], [2, 2]), Counts(("a",), [1], [2]), "only in post: none"),
        (Counts(("a", "a"), [1, 1], [2, 2]), Counts(("a",), [1], [2]), "twice: 'a'"),
        (Counts(("a",), [1, 1], [2, 2]), Counts(("a",), [1], [2]), "1 ids for 2 counts"),
        (([3], 2), ([1], 2), "In `base`: Expected 0 <= c <= n"),
        (([1], 2), ([1], 1), "the smallest n is 1"),
        (5, ([1], 2), "`base` to be Counts or a pair"),
        (([1], 2), ([], []), "In `post`"),
    ],
)
@pytest.mark.parametrize("measure", [sharpening_tax, crossover])
def test_arms_that_do_not_fit(measure, base, post, says: str) -> None:
    with pytest.raises(BadArgument, match=says):
        measure(base, post, 2)


@pytest.mark.parametrize("k", [True, 2.0, "2", None])
def test_a_budget_is_an_integer(k) -> None:
    with pytest.raises(BadArgument, match="`K` to be an integer"):
        sharpening_tax(([1], 4), ([1], 4), k)
    with pytest.raises(BadArgument, match="`m` to be an integer"):
        partition([1], 4, "2" if k is None else k)


def brute_crossover(base, post, n: int, k: int) -> tuple[int | None, bool, tuple[int, ...]]:
    def level(c, j: int) -> Fraction:
        return sum((1 - Fraction(comb(n - i, j), comb(n, j)) for i in c), start=Fraction(0))

    above = [level(base, j) >= level(post, j) for j in range(1, k + 1)]
    first = above.index(True) + 1 if True in above else None
    flips = tuple(j + 1 for j in range(1, k) if above[j] != above[j - 1])
    return first, first is not None and all(above[first - 1 :]), flips


@given(tasks, st.data())
def test_crossover_against_rational_curves(task, data) -> None:
    base, n = task
    post = data.draw(st.lists(st.integers(0, n), min_size=len(base), max_size=len(base)))
    k = data.draw(st.integers(1, n))
    found = crossover((base, n), (post, n), k)
    assert (found.k, found.stays_above, found.sign_changes) == brute_crossover(base, post, n, k)
    assert found.gap.shape == (k,)


def test_a_curve_that_never_reaches_is_censored() -> None:
    found = crossover(([1, 1], 8), ([2, 2], 8), 7)
    assert found.k is None
    assert not found.stays_above
    assert found.sign_changes == ()
    # With all 8 rollouts both solve everything, and a tie counts.
    assert crossover(([1, 1], 8), ([2, 2], 8), 8).k == 8


def test_curves_may_cross_more_than_once() -> None:
    # Base is ahead at the first try by its easy tasks and at the end by its hard ones.
    n = 64
    base, post = [60] * 3 + [1] * 7 + [0] * 12, [30] * 4 + [0] * 18
    found = crossover((base, n), (post, n), n)
    assert found.k == 1
    assert not found.stays_above
    assert len(found.sign_changes) == 2


def test_equal_curves_cross_at_once() -> None:
    found = crossover(([1, 5, 3], 8), ([3, 1, 5], 8), 8)
    assert (found.k, found.stays_above, found.sign_changes) == (1, True, ())


@given(tasks, st.data())
def test_partition_sums_to_one(task, data) -> None:
    c, n = task
    m = data.draw(st.integers(1, n))
    shares = partition(c, n, m)
    assert sum(shares) == pytest.approx(1, abs=1e-12)
    assert min(shares) >= 0


@given(tasks)
def test_partition_at_all_rollouts_counts_tasks(task) -> None:
    c, n = task
    size = len(c)
    never, always = c.count(0) / size, c.count(n) / size
    assert partition(c, n) == pytest.approx((never, 1 - never - always, always))


def test_published_partition_of_a_pair() -> None:
    # gemma-4-31B on WebShop: 62 of 500 tasks never and 438 sometimes solved in 128 rollouts;
    # post-trained 220, 150 and 130.
    base = [0] * 62 + [40] * 438
    post = [0] * 220 + [40] * 150 + [128] * 130
    assert partition(base, 128, 128) == pytest.approx((0.124, 0.876, 0.0))
    assert partition(post, 128, 128) == pytest.approx((0.44, 0.30, 0.26))
    assert curve(base, 128, [128])[0] == pytest.approx(0.876)
    assert curve(post, 128, [128])[0] == pytest.approx(0.560)


def test_partition_of_fewer_rollouts_agrees_with_fresh_ones() -> None:
    rng = np.random.default_rng(8)
    p = rng.beta(0.3, 0.7, 60_000)
    many, few = rng.binomial(128, p), rng.binomial(8, p)
    assert partition(many, 128, 8) == pytest.approx(partition(few, 8), abs=0.01)
    assert partition(many, 128).sometimes > partition(few, 8).sometimes + 0.1


def test_partition_with_one_rollout_is_pass_at_1() -> None:
    assert partition([1, 3], 4, 1) == pytest.approx((0.5, 0.0, 0.5))


def test_partition_refuses_more_rollouts_than_there_are() -> None:
    with pytest.raises(BadArgument, match="m = 5, but the smallest n is 4"):
        partition([1, 1], [4, 8], 5)
