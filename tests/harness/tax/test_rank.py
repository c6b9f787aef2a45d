from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import Correlation, spearman
from agentenvs.harness.tax.rank import ranks

numbers = st.lists(st.integers(-5, 5), min_size=4, max_size=20)


def test_without_ties_it_is_the_textbook_formula() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.permutation(15), rng.permutation(15)
    by_differences = 1 - 6 * int(((x - y) ** 2).sum()) / (15 * (15**2 - 1))
    assert spearman(x, y).rho == pytest.approx(by_differences)


@given(numbers)
def test_ranks_share_ties_and_keep_their_sum(values) -> None:
    found = ranks(np.array(values, float))
    by_counting = [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2
        for value in values
    ]
    assert found.tolist() == by_counting
    assert found.sum() == len(values) * (len(values) + 1) / 2


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=4, max_size=20))
def test_only_the_order_matters_and_the_interval_holds_the_value(pairs) -> None:
    x, y = (np.array(side, float) for side in zip(*pairs, strict=True))
    one, other = spearman(x, y), spearman(np.exp(x), -(y**3))
    if math.isnan(one.rho):
        assert len(set(x)) == 1 or len(set(y)) == 1
        return
    assert other.rho == pytest.approx(-one.rho)
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
    assert -1 <= one.low <= one.rho <= one.high <= 1
    assert one.low < one.high


def test_the_interval_is_bonetts_and_wrights() -> None:
    x = np.arange(20.0)
    y = np.concatenate((np.arange(10.0), np.arange(19.0, 9.0, -1)))
    told = spearman(x, y, confidence=0.9)
    half = 1.6448536 * math.sqrt((1 + told.rho**2 / 2) / 17)
    assert math.atanh(told.high) - math.atanh(told.rho) == pytest.approx(half)
    assert math.atanh(told.rho) - math.atanh(told.low) == pytest.approx(half)
    assert told.n == 20
    assert told.confidence == 0.9


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    true, held = 0.7, 0
    slope = 2 * math.sin(math.pi * true / 6)
    for _ in range(1000):
        x, noise = rng.standard_normal((2, 30))
        told = spearman(x, slope * x + math.sqrt(1 - slope**2) * noise)
        held += told.low <= true <= told.high
    assert 930 <= held <= 975


def test_perfect_order_is_not_taken_for_certainty() -> None:
    told = spearman(range(5), range(5))
    assert told.rho == told.high == 1
    assert told.low < 0.9


def test_pairs_with_a_nan_are_left_out() -> None:
    x, y = [1, 2, math.nan, 3, 4, 5], [2, 1, 9, 3, math.nan, 5]
    assert spearman(x, y) == spearman([1, 2, 3, 5], [2, 1, 3, 5])
    assert spearman(x, y).n == 4


@pytest.mark.parametrize("x", [[1, 2, 3], [], [1, 1, 1, 1], [1, 2, 3, math.nan]])
def test_nothing_follows_from_three_pairs_or_from_no_spread(x) -> None:
    told = spearman(x, range(len(x)))
    assert isinstance(told, Correlation)
    assert all(math.isnan(value) for value in told[:3])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2], [1], "one length, got 2 and 1"),
        ([[1, 2]], [[1, 2]], "one list, got shape"),
        (["a", "b"], [1, 2], "to list numbers"),
        (5, 5, "one list"),
    ],
)
def test_bad_arguments_are_named(x, y, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        spearman(x, y)


@pytest.mark.parametrize("confidence", [0, 1, "0.9"])
def test_confidence_is_checked(confidence) -> None:
    with pytest.raises(BadArgument, match="confidence"):
        spearman(range(5), range(5), confidence)
