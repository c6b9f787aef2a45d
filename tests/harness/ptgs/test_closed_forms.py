"""The sampler against what follows from its definition by other means."""

from __future__ import annotations

import numpy as np
import pytest

from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.ptgs.theory import mixed, temperature, visits_to_rail

MANY = np.arange(40_000)


@pytest.mark.parametrize(
    ("p", "heat"),
    [(0, 1.5), (0.05, 1.383), (0.1, 1.275), (0.25, 1), (0.5, 0.874), (0.75, 0.763), (1, 0.667)],
)
def test_temperatures_of_tasks_that_are_known_well(p: float, heat: float) -> None:
    sampler = PTGS(1.5, 1, 0.25)
    n = 16_000_000
    sampler.update([0], round(p * n), n)
    assert sampler.temperatures([0])[0] == pytest.approx(heat, abs=1e-3)
    half = PTGS(1.5, 1, 0.5, t_ref=0.6)
    half.update([0], round(p * n), n)
    assert half.temperatures([0])[0] == pytest.approx(0.6 * 1.5 ** (1 - 2 * p), abs=1e-3)


def beta_means(a: float, b: float, values: object) -> float:
    """Return the mean of a function of p over Beta(a, b), by the trapezoid rule over logits."""
    x = np.linspace(-60 / a, 60 / b, 400_001)
    log_density = -a * np.logaddexp(0, -x) - b * np.logaddexp(0, x)
    density = np.exp(log_density - log_density.max())
    return float((density * values(1 / (1 + np.exp(-x)))).sum() / density.sum())  # type: ignore[operator]


@pytest.mark.parametrize(
    ("target", "mean", "heated"), [(0.25, 1.148, 0.61), (0.5, 1.027, 0.5), (0.75, 0.919, 0.39)]
)
def test_cold_start(target: float, mean: float, heated: float) -> None:
    drawn = PTGS(1.5, 0.95, target).temperatures(MANY)
    assert drawn.min() >= np.float32(1 / 1.5)
    assert drawn.max() <= 1.5
    assert drawn.mean() == pytest.approx(mean, abs=0.005)
    exact = beta_means(2 * target, 2 - 2 * target, lambda p: temperature(p, 1.5, target))
    assert drawn.mean() == pytest.approx(exact, abs=4 * 0.26 / np.sqrt(len(MANY)))
    assert 0.22 < drawn.std() < 0.27
    assert (drawn > 1).mean() == pytest.approx(heated, abs=0.01)


def test_groups_that_fail_go_to_the_hot_end() -> None:
    sampler = PTGS(1.5, 0.95, 0.25)
    means = []
    for _ in range(4):
        drawn = sampler.temperatures(MANY)
        means.append(drawn.mean())
        if len(means) == 2:
            assert drawn.std() == pytest.approx(0.08, abs=0.01)
        sampler.update(MANY, 0, 16)
    assert means == pytest.approx([1.148, 1.437, 1.465, 1.475], abs=0.004)


@pytest.mark.parametrize(
    ("n", "gamma", "visits"),
    [(16, 0.95, 3), (4, 0.95, 13), (2, 0.95, 59), (1, 0.95, None), (16, 0, None), (38, 0, 1)],
)
def test_visits_to_the_hot_end(n: int, gamma: float, visits: int | None) -> None:
    """Until the estimate of a task that always fails is within 5 % of the way to 0."""
    sampler = PTGS(1.5, gamma, 0.3)
    found = None
    for visit in range(1, 200):
        sampler.update([0], 0, n)
        if sampler.estimates([0])[0] <= 0.05 * 0.3 + 1e-7:
            found = visit
            break
    assert found == visits == visits_to_rail(n, gamma)


@pytest.mark.parametrize(
    ("gamma", "estimate"), [(0.95, 0.53), (0.7, 0.71), (0.5, 0.81), (0.0, 0.9)]
)
def test_forgetting_decides_how_far_an_estimate_lags(gamma: float, estimate: float) -> None:
    """Eight visits of 16 rollouts while success goes from .05 to .95."""
    rng, sampler = np.random.default_rng(0), PTGS(1.5, gamma)
    for p in np.linspace(0.05, 0.95, 8):
        sampler.update(MANY, rng.binomial(16, p, len(MANY)), 16)
    assert sampler.estimates(MANY).mean() == pytest.approx(estimate, abs=0.006)


def test_the_prior_fades_to_a_hundredth() -> None:
    sampler = PTGS(1.5, 0.95)
    for _ in range(400):
        sampler.update([0], 8, 16)
    a, b = sampler.posterior([0])
    assert a[0] + b[0] - 2 == pytest.approx(16 / (1 - 0.95), rel=1e-4)


def mixed_rate(sampler: PTGS, chance: object) -> float:
    """Return how many groups of 16 would be mixed, in the end, where success hangs on heat."""
    rng, ids = np.random.default_rng(1), np.arange(2000)
    for _ in range(12):
        heat = sampler.rollout_temperatures(ids, 16)
        sampler.record(ids, rng.random(heat.shape) < chance(heat))  # type: ignore[operator]
    p = chance(sampler.rollout_temperatures(ids, 16))  # type: ignore[operator]
    return float(1 - np.prod(p, axis=1).mean() - np.prod(1 - p, axis=1).mean())


@pytest.mark.parametrize(
    ("chance", "fixed", "tempered", "guarded"),
    [
        (lambda heat: 0.05 * np.exp(-6 * (heat - 1)), 0.56, 0.045, 0.36),
        (lambda heat: np.minimum(0.15 * np.exp(-10 * (heat - 1)), 1), 0.93, 0.02, 0.74),
    ],
)
def test_the_hot_trap_and_its_guard(
    chance: object, fixed: float, tempered: float, guarded: float
) -> None:
    assert mixed(chance(1.0), 16) == pytest.approx(fixed, abs=0.01)  # type: ignore[operator]
    assert mixed_rate(PTGS(), chance) == pytest.approx(tempered, abs=0.01)
    assert mixed_rate(PTGS(ref_share=0.5), chance) == pytest.approx(guarded, abs=0.03)
