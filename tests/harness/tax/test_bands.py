from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import (
    Counts,
    curve,
    curve_bands,
    pass_at_k,
    scalability,
    sharpening_tax,
    sharpening_tax_interval,
    tax_bands,
)
from agentenvs.harness.tax.shares import share_interval
from agentenvs.harness.tax.simultaneous import Sup, sup_t

CURVES = ("base", "post", "gap")
TAXES = ("S_base", "S_post", "tax_S", "tax_A")


def draw(seed: int, size: int, n: int) -> tuple[tuple[np.ndarray, int], tuple[np.ndarray, int]]:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 2, size)
    q = np.where(rng.random(size) < 0.3, 0, 1 - (1 - p) ** 4)
    return (rng.binomial(n, p), n), (rng.binomial(n, q), n)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(2, 16))
def test_values_are_those_of_the_plain_measures(seed: int, size: int, n: int) -> None:
    base, post = draw(seed, size, n)
    curves, taxes = curve_bands(base, post, draws=50), tax_bands(base, post, draws=50)
    assert curves.ks.tolist() == list(range(1, n + 1))
    assert taxes.ks.tolist() == list(range(2, n + 1))
    assert curves.base.value == pytest.approx(curve(*base, curves.ks), abs=1e-12)
    assert curves.gap.value == pytest.approx(curves.base.value - curves.post.value, abs=1e-12)
    for at, k in enumerate(taxes.ks.tolist()):
        plain = sharpening_tax(base, post, k)
        for name in TAXES:
            value = getattr(taxes, name).value[at]
            assert value == pytest.approx(getattr(plain, name), abs=1e-11, nan_ok=True)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=40))
def test_bands_hold_their_curves_and_stay_where_the_measure_can_be(
    counts: list[tuple[int, int]],
) -> None:
    c, d = zip(*counts, strict=True)
    curves, taxes = curve_bands((c, 6), (d, 6), draws=50), tax_bands((c, 6), (d, 6), draws=50)
    bounds = {"base": (0, 1), "post": (0, 1), "gap": (-1, 1)}
    bounds |= {"S_base": (0, 1), "S_post": (0, 1), "tax_S": (-1, 1), "tax_A": (-5, 5)}
    for name, (least, most) in bounds.items():
        band = getattr(curves if name in CURVES else taxes, name)
        known = ~np.isnan(band.low)
        assert (known == ~np.isnan(band.high)).all()
        assert name not in CURVES or known.all()
        assert (band.low[known] >= least).all()
        assert (band.low[known] <= band.value[known]).all()
        assert (band.value[known] <= band.high[known]).all()
        assert (band.high[known] <= most).all()


def test_one_budget_has_the_interval_of_shares() -> None:
    base, post = draw(3, 60, 16)
    found = curve_bands(base, post, [4])
    interval = share_interval(pass_at_k(*base, 4), found.critical[0])
    assert (found.base.low[0], found.base.high[0]) == pytest.approx(interval[2:])
    # One estimate needs no more than Student's quantile, but for the draws.
    assert found.critical[0] == pytest.approx(2.001, abs=0.1)
    assert found.critical[0] >= 2.0009


def test_bands_are_wider_than_intervals_and_narrower_than_a_union_bound() -> None:
    base, post = draw(4, 200, 32)
    found, taxes = curve_bands(base, post), tax_bands(base, post)
    for critical in (*found.critical, *taxes.critical):
        assert 1.97 < critical < 3.2
    for at in (1, 7, 15):
        one = sharpening_tax_interval(base, post, int(found.ks[at]))
        assert found.gap.high[at] - found.gap.low[at] > one.pass_gap.high - one.pass_gap.low
        assert found.base.high[at] - found.base.low[at] > one.pass_base.high - one.pass_base.low
        wide = taxes.tax_S.high[at - 1] - taxes.tax_S.low[at - 1]
        assert one.tax_S.high - one.tax_S.low < wide < 2 * (one.tax_S.high - one.tax_S.low)


def test_the_factor_is_that_of_independent_and_of_equal_errors() -> None:
    sup = Sup(0.95, 100_000, 0)
    # Sidak: 10 independent errors lie within 2.8 with 95 %.
    assert sup_t(np.eye(10), 10**6, sup) == pytest.approx(2.80, abs=0.02)
    assert sup_t(np.ones((5, 10)), 10**6, sup) == pytest.approx(1.96, abs=0.02)


def test_few_solved_tasks_leave_a_band_that_means_something() -> None:
    c = [0] * 43 + [1, 1, 2, 5]
    found = curve_bands((c, 8), ([0] * 47, 8))
    assert found.base.low[0] > 0
    assert found.base.high[-1] > 0.17
    assert found.post.low[-1] == 0
    assert 0.05 < found.post.high[-1] < 0.15
    assert found.gap.low[-1] < 0 < found.gap.high[-1]


def test_arms_that_agree_on_every_task_leave_what_each_of_them_leaves() -> None:
    found = curve_bands(([0] * 47, 8), ([0] * 47, 8))
    assert (found.gap.high == found.base.high).all()
    assert (found.gap.low == -found.base.high).all()
    # A change in 7 % of the tasks would show in none of 47 in 3 % of the cases.
    assert found.gap.high[0] > 0.07


def test_unknown_spread_is_nan_where_the_table_has_none() -> None:
    base = [1, 0, 2, 3] * 6
    found = tax_bands((base, 8), ([0] * 24, 8))
    assert (found.S_base.low > 0).all()
    for name in ("S_post", "tax_S", "tax_A"):
        assert np.isnan(getattr(found, name).low).all(), name
    assert math.isnan(found.critical[1])
    equal = tax_bands((base, 8), (base, 8))
    assert (equal.tax_S.value == 0).all()
    assert np.isnan(equal.tax_S.high).all()


def test_never_failed_is_undefined() -> None:
    found = tax_bands(([8] * 20, 8), ([1, 4] * 10, 8))
    assert np.isnan(found.S_base.value).all()
    assert np.isnan(found.tax_S.value).all()
    assert (found.S_post.low > 0).all()


def test_one_task_decides_nothing() -> None:
    found = curve_bands(([3], 4), ([1], 4))
    assert (found.gap.low < 0).all()
    assert (found.gap.high > 0.8).all()


def test_order_of_tasks_seed_and_draws() -> None:
    base, post = draw(5, 80, 32)
    first = curve_bands(base, post)
    order = np.random.default_rng(0).permutation(80)
    again = curve_bands((base[0][order], 32), (post[0][order], 32))
    assert again.critical == pytest.approx(first.critical, abs=1e-9)
    assert repr(curve_bands(base, post)) == repr(first)
    other = curve_bands(base, post, seed=1)
    assert other.critical != first.critical
    assert other.critical == pytest.approx(first.critical, abs=0.1)
    wide = curve_bands(base, post, confidence=0.99)
    assert all(a > b for a, b in zip(wide.critical, first.critical, strict=True))


def test_repeated_tasks_in_clusters_are_worth_one_task() -> None:
    base, post = draw(6, 40, 16)
    labels = np.repeat(np.arange(40), 5)
    many = [(np.repeat(c, 5), n) for c, n in (base, post)]
    one, five = curve_bands(base, post), curve_bands(*many, clusters=labels)
    assert (five.tasks, five.clusters, one.clusters) == (200, 40, 40)
    for name in CURVES:
        assert getattr(five, name).low == pytest.approx(getattr(one, name).low)
        assert getattr(five, name).high == pytest.approx(getattr(one, name).high)
    assert five.gap.high[3] - five.gap.low[3] > 1.8 * np.subtract(
        curve_bands(*many).gap.high[3], curve_bands(*many).gap.low[3]
    )
    alone, together = tax_bands(base, post), tax_bands(*many, clusters=labels.tolist())
    for name in TAXES:
        assert getattr(together, name).high == pytest.approx(getattr(alone, name).high)


def test_a_few_large_clusters_are_worth_less_than_their_number() -> None:
    base, post = draw(8, 60, 16)
    labels = [0] * 30 + [1] * 10 + list(range(2, 22))
    uneven = curve_bands(base, post, clusters=labels)
    even = curve_bands(base, post, clusters=[i // 3 for i in range(60)])
    assert uneven.clusters == 22
    assert even.clusters == 20
    assert uneven.critical[2] > 1.5 * even.critical[2]


def test_counts_are_matched_by_task_and_n_may_differ() -> None:
    one = Counts(["a", "b", "c"], np.array([1, 5, 0]), np.array([8, 8, 8]))
    two = Counts(["c", "a", "b"], np.array([0, 2, 8]), np.array([8, 8, 16]))
    pairs = curve_bands(([1, 5, 0], 8), ([2, 8, 0], [8, 16, 8]))
    named = curve_bands(one, two, clusters={"a": 1, "b": 2, "c": 3})
    assert repr(named) == repr(pairs)
    assert named.ks[-1] == 8


def test_budgets_given_and_by_default() -> None:
    base, post = draw(7, 20, 500)
    found = curve_bands(base, post)
    assert found.ks[:64].tolist() == list(range(1, 65))
    assert {125, 250, 500} <= set(found.ks.tolist())
    assert 100 < len(found.ks) <= 131
    assert curve_bands(base, post, [9, 3, 9]).ks.tolist() == [3, 9]
    assert tax_bands(base, post, [2, 400]).ks.tolist() == [2, 400]
    assert tax_bands(base, post).ks[0] == 2


def test_many_rollouts_are_as_exact_as_few() -> None:
    base, post = ([1, 0, 40, 5000], 5000), ([2, 300, 0, 4999], 5000)
    found = tax_bands(base, post, [2, 5000], draws=10)
    for at, k in enumerate((2, 5000)):
        assert found.S_base.value[at] == pytest.approx(scalability(*base, k), rel=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ks": []}, "`ks` to be a list"),
        ({"ks": [[1, 2]]}, "`ks` to be a list"),
        ({"ks": [1.5]}, "whole numbers"),
        ({"ks": [5]}, "the smallest n is 4"),
        ({"ks": [0]}, "at least 1"),
        ({"confidence": 95}, "`confidence`"),
        ({"draws": 0}, "`draws`"),
        ({"draws": 1.5}, "`draws`"),
        ({"seed": -1}, "`seed`"),
        ({"clusters": ["a"]}, "`clusters`"),
    ],
)
def test_arguments_are_checked(options, message) -> None:
    for bands in (curve_bands, tax_bands):
        with pytest.raises(BadArgument, match=message):
            bands(([1, 2], 4), ([2, 1], 4), **options)


def test_a_tax_needs_a_second_try() -> None:
    with pytest.raises(BadArgument, match="`ks` of at least 2, got 1"):
        tax_bands(([1, 2], 4), ([2, 1], 4), [1, 2])
    with pytest.raises(BadArgument, match="at least 2 rollouts of each task, got 1"):
        tax_bands(([1, 0], 1), ([0, 1], 1))
