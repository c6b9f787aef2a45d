from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax.student import student_quantile, student_tail


@pytest.mark.parametrize(
    ("freedom", "t"),
    [(1, 12.7062), (2, 4.30265), (3, 3.18245), (4, 2.77645), (9, 2.26216), (199, 1.97196)],
)
def test_quantiles_are_those_of_the_printed_tables(freedom: int, t: float) -> None:
    assert student_quantile(0.95, freedom) == pytest.approx(t, rel=1e-5)


@given(st.floats(0.001, 0.999), st.floats(1, 60))
def test_the_quantile_inverts_the_distribution(confidence: float, freedom: float) -> None:
    t = student_quantile(confidence, freedom)
    outside = mpmath.betainc(freedom / 2, 0.5, 0, freedom / (freedom + t * t), regularized=True)
    assert float(1 - outside) == pytest.approx(confidence, abs=1e-9)


def test_the_quantile_nears_the_normal_one() -> None:
    assert student_quantile(0.95, 1e6) == pytest.approx(1.959966, abs=1e-5)


@pytest.mark.parametrize("rest", [1e-4, 1e-6, 1e-9, 1e-12, 1e-15])
@pytest.mark.parametrize("freedom", [1, 1.3, 2, 9, 119, 9999, 1e6])
def test_a_quantile_far_out_leaves_what_was_asked_for(rest: float, freedom: float) -> None:
    confidence = 1 - rest
    t = student_quantile(confidence, freedom)
    assert outside(t, freedom) == pytest.approx(1 - confidence, rel=3e-5)


@pytest.mark.parametrize(
    ("confidence", "freedom", "message"),
    [
        (0.0, 3, "`confidence` between 0 and 1, got 0.0"),
        (1.0, 3, "`confidence` between 0 and 1, got 1.0"),
        (1 - 2**-53, 3, "`confidence` between 0 and 1, got 0.9999"),
        (math.nan, 3, "`confidence` between 0 and 1, got nan"),
        (0.9, 0.5, "freedom of at least 1, got 0.5"),
        (0.9, math.inf, "freedom of at least 1, got inf"),
    ],
)
def test_arguments_out_of_range_are_refused(
    confidence: float, freedom: float, message: str
) -> None:
    with pytest.raises(BadArgument, match=message):
        student_quantile(confidence, freedom)


def outside(t: float, freedom: float) -> float:
    held = mpmath.betainc(freedom / 2, 0.5, 0, freedom / (freedom + t * t), regularized=True)
    return float(held)


@given(st.floats(-40, 40), st.integers(1, 300))
def test_the_tail_is_what_the_distribution_leaves(t: float, freedom: int) -> None:
    assert student_tail(t, freedom) == pytest.approx(outside(t, freedom), rel=1e-7, abs=1e-300)


@given(st.floats(-40, 40), st.floats(1, 300))
def test_the_tail_takes_fractions(t: float, freedom: float) -> None:
    assert student_tail(t, freedom) == pytest.approx(outside(t, freedom), abs=1e-5)


def test_the_tail_nears_the_normal_one() -> None:
    for t in (0.0, 0.1, 1.96, 6.0):
        assert student_tail(t, 1e7) == pytest.approx(math.erfc(t / math.sqrt(2)), rel=1e-4)


@pytest.mark.parametrize("freedom", [0.5, math.inf, math.nan])
def test_a_tail_needs_degrees_of_freedom(freedom: float) -> None:
    with pytest.raises(BadArgument, match="degrees of freedom of at least 1"):
        student_tail(1.0, freedom)
