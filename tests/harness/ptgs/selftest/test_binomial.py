from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.harness.ptgs.selftest.binomial import accepted, chance_within


def exactly(n: int, p: Fraction, low: int, high: int) -> Fraction:
    return sum(
        (comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(max(low, 0), high + 1)), Fraction(0)
    )


@given(n=st.integers(1, 60), twentieths=st.integers(0, 20), alpha=st.sampled_from([1e-2, 1e-5]))
def test_the_counts_that_are_accepted(n: int, twentieths: int, alpha: float) -> None:
    p = Fraction(twentieths, 20)
    low, high = accepted(n, float(p), float(p), alpha)
    half, near = Fraction(alpha) / 2, Fraction(1, 10**15)
    assert exactly(n, p, 0, low - 1) <= half + near
    assert exactly(n, p, high + 1, n) <= half + near
    if low < n and low <= n * p:
        assert exactly(n, p, 0, low) > half - near
    if high > 0 and high >= n * p:
        assert exactly(n, p, high, n) > half - near


@given(
    n=st.integers(1, 60), twentieths=st.integers(0, 20), ends=st.tuples(*[st.integers(-2, 62)] * 2)
)
def test_the_chance_within(n: int, twentieths: int, ends: tuple[int, int]) -> None:
    p = Fraction(twentieths, 20)
    low, high = ends
    assert chance_within(n, float(p), ends) == pytest.approx(
        float(exactly(n, p, low, min(high, n))), abs=1e-12
    )


def test_a_range_of_chances_accepts_what_either_end_does() -> None:
    low, high = accepted(1000, 0.3, 0.4, 1e-6)
    assert (low, high) == (accepted(1000, 0.3, 0.3, 1e-6)[0], accepted(1000, 0.4, 0.4, 1e-6)[1])


def test_many_draws() -> None:
    low, high = accepted(1 << 16, 0.5, 0.5, 1e-7)
    assert low + high == 1 << 16
    assert 1 - chance_within(1 << 16, 0.5, (low, high)) == pytest.approx(1e-7, rel=0.1)
