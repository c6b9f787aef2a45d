from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import (
    expected_mixed,
    heat,
    informative,
    mixed,
    temperature,
    visits_to_rail,
)
from agentenvs.harness.tax import partition

chance = st.floats(0, 1)
inner = st.floats(0.01, 0.99)


def test_the_map_at_its_corners() -> None:
    found = temperature([0, 0.05, 0.1, 0.25, 0.5, 0.75, 1], tau=1.5, target=0.25)
    expected = [1.5, 1.383, 1.275, 1.0, 0.874, 0.763, 0.667]
    assert found == pytest.approx(expected, abs=5e-4)
    assert heat([0, 0.25, 1], 0.25).tolist() == [1, 0, -1]


@given(p=chance, tau=st.floats(1, 4), t_ref=st.floats(0.1, 2))
def test_a_target_of_a_half_gives_the_symmetric_rule(p: float, tau: float, t_ref: float) -> None:
    assert temperature(p, tau, 0.5, t_ref) == pytest.approx(t_ref * tau ** (1 - 2 * p), rel=1e-12)


@given(one=chance, two=chance, target=inner)
def test_heat_falls_with_success_and_stays_between_the_ends(
    one: float, two: float, target: float
) -> None:
    low, high = sorted((one, two))
    assert -1 <= heat(high, target) <= heat(low, target) <= 1
    assert (heat(low, target) >= 0) == (low <= target)


def test_slopes_on_both_sides_of_the_target() -> None:
    for target in (0.1, 0.25, 0.6):
        for at, slope in ((target / 2, -1 / target), ((1 + target) / 2, -1 / (1 - target))):
            rise = heat(at + 1e-6, target) - heat(at - 1e-6, target)
            assert rise / 2e-6 == pytest.approx(slope, rel=1e-6)


def test_each_task_may_have_its_own_target() -> None:
    assert heat([0.2, 0.2], [0.2, 0.4]).tolist() == [0, 0.5]
    assert heat(np.zeros((2, 1)), [0.1, 0.2, 0.3]).shape == (2, 3)
    with pytest.raises(BadArgument, match=r"matching shapes, got \(2,\) and \(3,\)"):
        heat([0.1, 0.2], [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": 1.01}, "Expected `p` between 0 and 1, got 1.01"),
        ({"p": [0.5, math.nan]}, "Expected `p` between 0 and 1, got nan"),
        ({"p": "half"}, "Expected `p` to hold numbers"),
        ({"p": [[0.1], [0.1, 0.2]]}, "ragged"),
        ({"target": 0}, "Expected `target` strictly between 0 and 1, got 0"),
        ({"target": 1.0}, "Expected `target` strictly between 0 and 1, got 1.0"),
        ({"tau": 0.9}, "Expected `tau` to be at least 1, got 0.9"),
        ({"tau": True}, "Expected `tau` to be a number, got True"),
        ({"t_ref": 0.0}, "Expected `t_ref` to be above 0, got 0.0"),
        ({"t_ref": math.inf}, "Expected `t_ref` to be above 0, got inf"),
    ],
)
def test_settings_out_of_range(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        temperature(**{"p": 0.5, **arguments})


def test_how_often_groups_are_mixed() -> None:
    assert mixed([0.25, 0.05], 16) == pytest.approx([0.990, 0.56], abs=5e-3)
    assert mixed(0.05, 8) == pytest.approx(0.34, abs=5e-3)
    assert informative(0.05, 16) == pytest.approx(1 - 0.95**16)


@given(p=chance, n=st.integers(2, 200))
def test_mixed_is_symmetric_and_highest_at_a_half(p: float, n: int) -> None:
    assert mixed(p, n) == pytest.approx(mixed(1 - p, n), abs=1e-12)
    assert 0 <= mixed(p, n) <= mixed(0.5, n) + 1e-15
    assert mixed(p, n) <= informative(p, n)


@given(one=chance, two=chance, n=st.integers(2, 64))
def test_theorem_3(one: float, two: float, n: int) -> None:
    """Up to 1/2 a rise of success makes groups more informative; beyond it only I_n rises."""
    low, high = sorted((one, two))
    assert informative(low, n) <= informative(high, n)
    if high <= 0.5:
        assert mixed(low, n) <= mixed(high, n) + 1e-15
    elif low >= 0.5:
        assert mixed(low, n) >= mixed(high, n) - 1e-15


def test_rare_success_keeps_its_precision() -> None:
    assert mixed(1e-12, 16) == pytest.approx(1.6e-11, rel=1e-9)
    assert informative(1e-12, 16) == pytest.approx(1.6e-11, rel=1e-9)
    assert informative([0.0, 1.0], 5).tolist() == [0, 1]
    assert mixed([0.0, 1.0], 5).tolist() == [0, 0]


def test_a_group_of_one_is_never_mixed() -> None:
    assert mixed([0.1, 0.3, 0.9], 1).tolist() == [0, 0, 0]
    with pytest.raises(BadArgument, match=r"Expected `n` of 1 to \d+, got 0"):
        mixed(0.5, 0)
    with pytest.raises(BadArgument, match="Expected `n` to be an integer, got 2.5"):
        informative(0.5, 2.5)  # type: ignore[arg-type]


def test_expected_mixed_is_the_partition_and_unbiased() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 1.5, 20_000)
    c = rng.binomial(32, p)
    assert expected_mixed(c, 32, 8) == partition(c, 32, 8).sometimes
    assert expected_mixed(c, 32, 8) == pytest.approx(mixed(p, 8).mean(), abs=0.005)
    with pytest.raises(BadArgument, match="the smallest n is 32"):
        expected_mixed(c, 32, 33)


@pytest.mark.parametrize(
    ("n", "gamma", "visits"),
    [(16, 0.95, 3), (4, 0.95, 13), (2, 0.95, 59), (1, 0.95, None), (16, 0.0, None), (38, 0.0, 1)],
)
def test_visits_to_full_heat(n: int, gamma: float, visits: int | None) -> None:
    assert visits_to_rail(n, gamma) == visits


@given(
    n=st.integers(1, 40),
    gamma=st.sampled_from([0.0, 0.3, 0.5, 0.8, 0.95, 1.0]),
    within=st.sampled_from([0.01, 0.05, 0.1, 0.5]),
)
def test_visits_to_full_heat_by_counting(n: int, gamma: float, within: float) -> None:
    # Mass that comes up to what is needed only in the limit never gets there but by rounding.
    assume(gamma in (0, 1) or abs(n / (1 - gamma) - (2 / within - 2)) > 1e-9)
    failure, counted = 0.0, None
    for visit in range(1, 400):
        failure = gamma * failure + n
        if 2 / (2 + failure) <= within * (1 + 1e-12):
            counted = visit
            break
    assert visits_to_rail(n, gamma, within) == counted


def test_full_heat_in_the_limit_alone_is_never() -> None:
    assert visits_to_rail(9, 0.5, 0.1) is None


def test_visits_to_full_heat_out_of_range() -> None:
    with pytest.raises(BadArgument, match="`gamma` to be at least 0 and at most 1, got 1.5"):
        visits_to_rail(16, 1.5)
    with pytest.raises(BadArgument, match="`within` to be above 0 and below 1, got 0"):
        visits_to_rail(16, 0.9, 0.0)
