from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import area, curve, pass_at_k, pass_hat_k


def hit(c: int, n: int, k: int) -> Fraction:
    return 1 - Fraction(comb(n - c, k), comb(n, k))


def every(c: int, n: int, k: int) -> Fraction:
    return Fraction(comb(c, k), comb(n, k))


def step_area(c: int, n: int, k: int) -> Fraction:
    """A(K) from its definition, the steps between pass@k and pass@K."""
    return sum((hit(c, n, k) - hit(c, n, j) for j in range(1, k + 1)), start=Fraction(0))


def quick_area(c: int, n: int, k: int) -> Fraction:
    """A(K) with big integers in one step, for n where the definition is slow."""
    f = n - c
    return (f - Fraction(comb(f, k), comb(n, k)) * (n + c * (k - 1))) / (c + 1)


PAIRS = [(pass_at_k, hit), (pass_hat_k, every), (area, step_area)]


@pytest.mark.parametrize(("ours", "exact"), PAIRS)
def test_nearest_double_of_the_rational_value_up_to_24_rollouts(ours, exact) -> None:
    for n in range(1, 25):
        c, k = np.meshgrid(np.arange(n + 1), np.arange(1, n + 1), indexing="ij")
        expected = [[float(exact(i, n, j)) for j in range(1, n + 1)] for i in range(n + 1)]
        np.testing.assert_array_equal(ours(c, n, k), expected)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_relative_error_up_to_ten_thousand_rollouts(data) -> None:
    n = data.draw(st.integers(2, 10_000))
    c = data.draw(st.integers(0, n) | st.integers(0, min(n, 12)))
    k = data.draw(st.integers(1, n) | st.integers(1, min(n, 12)))
    for ours, exact in ((pass_at_k, hit), (pass_hat_k, every), (area, quick_area)):
        value, truth = float(ours(c, n, k)), exact(c, n, k)
        if truth == 0:
            assert value == 0
        elif truth > Fraction(1, 10**290):
            assert abs(Fraction(value) / truth - 1) < Fraction(1, 10**9)


def slow_sums(c: int, n: int, k: int) -> tuple[float, float, float]:
    """pass@k, pass^k and A(k), added up from positive terms rank by rank of the first success."""
    f, terms, weighted, chance = n - c, [], [], c / n
    for rank in range(1, min(k, f + 1) + 1):
        terms.append(chance)
        weighted.append((rank - 1) * chance)
        if rank < n:
            chance *= (f - rank + 1) / (n - rank)
    every = math.prod((c - drawn) / (n - drawn) for drawn in range(k)) if c >= k else 0.0
    return math.fsum(terms), every, math.fsum(weighted)


@pytest.mark.parametrize("n", [25, 100, 128, 129, 400, 1_000, 2_500, 9_999, 10_000])
def test_slow_sums_of_positive_terms(n: int) -> None:
    counts = sorted({0, 1, 2, 5, n // 100, n // 10, n // 2, n - 2, n})
    for k in sorted({1, 2, 3, 8, n // 4, n // 2, n - 1, n}):
        found = np.stack([ours(counts, n, k) for ours in (pass_at_k, pass_hat_k, area)])
        truth = np.transpose([slow_sums(c, n, k) for c in counts])
        np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-290)


@pytest.mark.parametrize(
    ("c", "n", "k"), [(1, 10_000, 2), (1, 10_000, 9_999), (2, 9_999, 4_999), (100, 10_000, 100)]
)
def test_area_where_the_closed_form_cancels(c: int, n: int, k: int) -> None:
    truth = quick_area(c, n, k)
    assert abs(Fraction(float(area(c, n, k))) / truth - 1) < Fraction(1, 10**12)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_ends_of_the_range(pair: tuple[int, int]) -> None:
    n, c = pair
    assert pass_at_k(c, n, 1) == c / n == pass_hat_k(c, n, 1)
    assert pass_at_k(c, n, n) == (c > 0)
    assert pass_hat_k(c, n, n) == (c == n)
    assert area(c, n, 1) == 0
    assert area(c, n, n) == (((n - c) / (c + 1)) if c else 0)


@pytest.mark.parametrize("n", [7, 300])
def test_the_area_is_the_mean_rank_of_the_first_success_less_one(n: int) -> None:
    # A(K) = E[(H - 1) 1{H <= K}] over random orders of the rollouts.
    c, k = 2, 5
    ranks = [Fraction(comb(n - h, c - 1), comb(n, c)) for h in range(1, k + 1)]
    mean = sum((h * chance for h, chance in enumerate(ranks)), start=Fraction(0))
    assert float(area(c, n, k)) == pytest.approx(float(mean), rel=1e-12)


def test_arguments_broadcast() -> None:
    c, n, ks = np.array([0, 3, 8]), np.array([4, 8, 8]), np.array([1, 2, 4])
    table = pass_at_k(c[:, None], n[:, None], ks)
    assert table.shape == (3, 3)
    assert table[1, 2] == pass_at_k(3, 8, 4)
    assert isinstance(pass_at_k(1, 2, 1), float)


def test_unequal_rollouts_use_each_task_s_own_n() -> None:
    values = area([1, 1], [4, 300], 3)
    assert values[0] == float(step_area(1, 4, 3))
    assert values[1] == pytest.approx(float(step_area(1, 300, 3)), rel=1e-13)


def test_an_empty_array_gives_an_empty_array() -> None:
    assert pass_at_k([], [], 3).shape == (0,)


def test_whole_floats_pass() -> None:
    assert pass_at_k(np.array([1.0]), np.array([2.0]), 1)[0] == 0.5


@given(
    st.lists(
        st.integers(5, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
        min_size=1,
        max_size=20,
    )
)
def test_curve_is_the_mean_over_tasks(tasks) -> None:
    c, n = map(np.array, zip(*tasks, strict=True))
    ks = [1, 3, 5]
    expected = [np.mean(pass_at_k(c, n, k)) for k in ks]
    found = curve(c, n, ks)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (np.diff(found) >= -1e-15).all()
    assert found.max() <= 1


@pytest.mark.parametrize(
    ("c", "n", "k", "says"),
    [
        ([1, 2], [8, 4], 5, "the smallest n is 4"),
        (1, 3, 4, "K = 4|k = 4"),
        (1, 3, 0, "at least 1, got 0"),
        (1, 3, -1, "at least 1, got -1"),
        (4, 3, 1, "c = 4 with n = 3"),
        (-1, 3, 1, "c = -1 with n = 3"),
        (0, 0, 1, "`n` of at least 1, got 0"),
        (0.5, 3, 1, "`c` to hold whole numbers, got 0.5"),
        (float("nan"), 3, 1, "`c` to hold whole numbers, got nan"),
        (1, float("inf"), 1, "`n` to hold whole numbers, got inf"),
        (True, 3, 1, "`c` to hold integers, got bool"),
        (1, 3, True, "to hold integers, got bool"),
        ("1", 3, 1, "`c` to hold integers"),
        (None, 3, 1, "`c` to hold integers, got object"),
        ([[1], [1, 2]], 3, 1, "ragged"),
        (np.ma.array([1, 2], mask=[False, True]), 3, 1, "`c` without masked values"),
        ([1, 2, 3], [4, 4], 1, "matching shapes"),
        ([1, 2, 3], 4, [1, 2], "matching shapes"),
        (1e30, 1e30, 1, "`c` to hold counts"),
        (1, 10**8, 1, "at most 10000000"),
    ],
)
@pytest.mark.parametrize("measure", [pass_at_k, pass_hat_k, area])
def test_refused(measure, c, n, k, says: str) -> None:
    with pytest.raises(BadArgument, match=says):
        measure(c, n, k)


@pytest.mark.parametrize(
    ("c", "ks", "says"),
    [([], [1], "one or more tasks"), (1, [1], "one or more tasks"), ([1], 1, "list of budgets")],
)
def test_curve_refuses(c, ks, says: str) -> None:
    with pytest.raises(BadArgument, match=says):
        curve(c, 3, ks)


def test_curve_in_any_order_and_empty() -> None:
    assert curve([1, 2], 4, [4, 1, 4]).tolist() == [1.0, 0.375, 1.0]
    assert curve([1, 2], 4, []).shape == (0,)
    with pytest.raises(BadArgument, match="k = 5, but the smallest n is 3"):
        curve([1, 2], [4, 3], [1, 5])


def test_a_long_curve_over_many_tasks() -> None:
    rng = np.random.default_rng(2)
    c = rng.integers(0, 10_001, 400)
    ks = np.array([1, 77, 5_000, 10_000])
    expected = [np.mean(pass_at_k(c, 10_000, k)) for k in ks]
    np.testing.assert_allclose(curve(c, 10_000, ks), expected, rtol=1e-11)
