from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.student import over_seeds, t_quantile


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.7062), (2, 4.30265), (3, 3.18245), (4, 2.77645), (9, 2.26216), (29, 2.04523)],
)
def test_quantiles_are_those_of_the_printed_tables(freedom: int, expected: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(expected, rel=1e-5)


@given(st.floats(0.001, 0.999), st.integers(1, 40))
def test_quantile_inverts_the_distribution(share: float, freedom: int) -> None:
    t = t_quantile(share, freedom)
    x = freedom / (freedom + t * t)
    tail = mpmath.betainc(freedom / 2, 0.5, 0, x, regularized=True) / 2
    assert float(1 - tail if t > 0 else tail) == pytest.approx(share, abs=1e-9)


def test_an_interval_over_three_seeds() -> None:
    found = over_seeds([0.1, 0.2, 0.3])
    half = 4.30265 * 0.1 / math.sqrt(3)
    assert found.mean == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.2 - half, 0.2 + half), rel=1e-5)
    assert found.seeds == 3
    assert not found.decides
    assert over_seeds([0.1, 0.11, 0.12]).decides


def test_one_seed_has_a_mean_and_no_interval() -> None:
    found = over_seeds([0.4])
    assert found.mean == 0.4
    assert found.seeds == 1
    assert all(math.isnan(end) for end in (found.low, found.high, found.sd))
    assert not found.decides


def test_undefined_values_are_left_out() -> None:
    assert over_seeds([math.nan, 0.4, 0.4]).seeds == 2
    assert math.isnan(over_seeds([math.nan]).mean)


@pytest.mark.parametrize(("share", "freedom"), [(0.0, 3), (1.0, 3), (0.9, 0), (0.9, 2.0)])
def test_arguments_out_of_range_are_refused(share: float, freedom: int) -> None:
    with pytest.raises(BadArgument, match="Expected"):
        t_quantile(share, freedom)
