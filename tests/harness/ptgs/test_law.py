from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import TemperatureLaw, cold_start, temperature, temperature_law


@pytest.mark.parametrize(
    ("target", "mean", "heats"), [(0.25, 1.148, 0.609), (0.5, 1.0276, 0.5), (0.75, 0.919, 0.391)]
)
def test_the_first_visit_is_not_neutral(target: float, mean: float, heats: float) -> None:
    law = cold_start(1.5, target)
    assert law.mean == pytest.approx(mean, abs=5e-4)
    assert law.heats == pytest.approx(heats, abs=5e-4)
    assert 0.22 < law.sd < 0.26


def test_one_group_of_failures_nearly_decides() -> None:
    failures, laws = 0.0, []
    for _ in range(3):
        failures = 0.95 * failures + 16
        laws.append(temperature_law(0, failures, 1.5, 0.25))
    assert laws[0].mean == pytest.approx(1.437, abs=5e-4)
    assert laws[0].sd == pytest.approx(0.081, abs=5e-4)
    assert laws[2].mean == pytest.approx(1.475, abs=5e-4)


def test_a_target_near_an_end_makes_a_switch() -> None:
    assert cold_start(1.5, 0.01).near_rails(0.02) == pytest.approx(0.88, abs=5e-3)
    assert cold_start(1.5, 0.5).near_rails(0.02) < 0.06


@pytest.mark.parametrize("target", [0.01, 0.25, 0.9])
@pytest.mark.parametrize(("success", "failure"), [(0, 0), (0, 16), (3, 5), (160, 160)])
def test_moments_by_another_way(target: float, success: float, failure: float) -> None:
    """By tanh-sinh quadrature, over u = p ** a where the density has a pole at 0."""
    law = temperature_law(success, failure, 1.7, target, t_ref=0.8)
    heat = mpmath.log(mpmath.mpf(1.7))

    def side(a: float, b: float, kink: float, sign: int, power: int) -> Any:
        bend = mpmath.mpf(min(float(a), 1.0))

        def density(u: Any) -> Any:
            p = u ** (1 / bend)
            raised = mpmath.exp(sign * power * heat * (1 - p / kink))
            return raised * p ** (a - bend) * (1 - p) ** (b - 1)

        parts = mpmath.linspace(0, mpmath.mpf(kink) ** bend, 65)
        return mpmath.quad(density, parts) / (bend * mpmath.beta(a, b))

    first, second = (
        0.8**power
        * float(side(law.a, law.b, target, 1, power) + side(law.b, law.a, 1 - target, -1, power))
        for power in (1, 2)
    )
    assert law.mean == pytest.approx(first, rel=1e-8)
    assert law.sd == pytest.approx(math.sqrt(second - first**2), rel=1e-6)


def test_shares_and_quantiles_against_draws() -> None:
    law = temperature_law(1.5, 4.0, 1.5, 0.3, t_ref=0.7)
    p = np.random.default_rng(0).beta(law.a, law.b, 200_000)
    drawn = temperature(p, 1.5, 0.3, 0.7)
    q = np.array([0.05, 0.3, 0.5, 0.8, 0.99])
    assert law.quantile(q) == pytest.approx(np.quantile(drawn, q), abs=4e-3)
    assert law.cdf(law.quantile(q)) == pytest.approx(q, abs=1e-9)
    assert law.cdf([0.1, 0.7 / 1.5 - 1e-9, 0.7 * 1.5, 9]).tolist() == [0, 0, 1, 1]
    assert law.quantile([0, 1]) == pytest.approx([0.7 / 1.5, 0.7 * 1.5])
    assert 1 - law.cdf(0.7) == pytest.approx(law.heats)
    assert law.mean == pytest.approx(drawn.mean(), abs=2e-3)


def test_without_a_factor_there_is_one_temperature() -> None:
    law = cold_start(1.0, 0.3, t_ref=0.6)
    assert (law.mean, law.sd, law.heats) == (pytest.approx(0.6), pytest.approx(0, abs=1e-9), 0)
    assert law.cdf([0.59, 0.6, 0.61]).tolist() == [0, 1, 1]
    assert law.quantile(0.2) == pytest.approx(0.6)
    assert law.near_rails() == 1


def test_values_out_of_range() -> None:
    with pytest.raises(BadArgument, match="`target` to be above 0 and below 1, got 1"):
        cold_start(1.5, 1.0)
    with pytest.raises(BadArgument, match="`failure` to be at least 0, got -1"):
        temperature_law(0, -1)
    with pytest.raises(BadArgument, match="Expected `q` between 0 and 1"):
        cold_start().quantile([0.5, 1.5])
    with pytest.raises(BadArgument, match="`within`"):
        cold_start().near_rails(1.0)
    assert cold_start() == TemperatureLaw(1.5, 0.5, 1.0, 1.0, 1.0)
