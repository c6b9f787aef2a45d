from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from agentenvs.harness.tax import area, pass_at_k
from agentenvs.harness.tax._checks import as_tasks
from agentenvs.harness.tax.rates import Rates, fit_rates, scalability_noise


def test_fitted_rates_have_the_curve_of_the_counts() -> None:
    rng = np.random.default_rng(0)
    n = 32
    c = rng.binomial(n, np.where(rng.random(2000) < 0.3, 0, rng.beta(0.5, 2, 2000)))
    found = fit_rates(as_tasks(c, n))
    assert found.shares.sum() == pytest.approx(1)
    for k in (1, 4, 16):
        hit = found.shares @ (1 - (1 - found.rates) ** k)
        assert hit == pytest.approx(pass_at_k(c, n, k).mean(), abs=0.004)


def test_tasks_at_the_ends_stay_there() -> None:
    found = fit_rates(as_tasks([0] * 5 + [64] * 5, 64))
    assert found.shares[found.rates < 0.005].sum() == pytest.approx(0.5, abs=0.001)
    assert found.shares[found.rates > 0.995].sum() == pytest.approx(0.5, abs=0.001)
    assert (found.rates[0], found.rates[-1]) == (0, 1)


def test_rollouts_may_differ_between_tasks() -> None:
    rng = np.random.default_rng(1)
    n = rng.integers(4, 40, 4000)
    found = fit_rates(as_tasks(rng.binomial(n, 0.3), n))
    assert found.shares @ found.rates == pytest.approx(0.3, abs=0.01)
    assert found.shares[np.abs(found.rates - 0.3) < 0.1].sum() > 0.9


@pytest.mark.parametrize(("p", "n", "k"), [(0.02, 128, 64), (0.3, 8, 8), (0.9, 20, 2)])
def test_noise_is_that_of_simulated_rollouts(p: float, n: int, k: int) -> None:
    c = np.random.default_rng(2).binomial(n, p, 200_000)
    part = area(c, n, k) / (k - 1) - 0.1 * (n - c) / n
    one = Rates(np.array([0.0, p, 1.0]), np.array([0.0, 1.0, 0.0]))
    assert scalability_noise(one, 0.1, k, n) == pytest.approx(part.var(), rel=0.03)


def test_noise_of_very_many_rollouts_goes_with_their_number() -> None:
    one = Rates(np.array([0.0, 0.2, 1.0]), np.array([0.1, 0.8, 0.1]))
    noise = [scalability_noise(one, 0.1, 4, n) for n in (1000, 2048, 20480)]
    assert noise[1] / noise[2] == pytest.approx(10)
    assert noise[0] / noise[1] == pytest.approx(2.048, rel=0.01)


def test_thousands_of_rollouts_take_no_more_room_than_their_counts() -> None:
    n = 20_000
    tracemalloc.start()
    found = fit_rates(as_tasks(np.arange(0, n, 20), n))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.shares @ found.rates == pytest.approx(0.5, abs=0.01)
    # A table of all counts at all rates takes 26 MB, one for each task a thousand times that.
    assert peak < 50e6
