from __future__ import annotations

import math

import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.student import over_seeds


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


@pytest.mark.parametrize("confidence", [0.0, 1.0, math.nan])
def test_a_confidence_out_of_range_is_refused(confidence: float) -> None:
    with pytest.raises(BadArgument, match="`confidence` between 0 and 1"):
        over_seeds([0.1, 0.2], confidence)
