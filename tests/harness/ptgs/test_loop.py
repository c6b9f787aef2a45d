from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS, feedback, mixed, tracked, tracking_error

Curve = Callable[[Any], Any]

TRAP: Curve = lambda t: 0.05 * np.exp(-6 * (t - 1))  # noqa: E731
DEEP: Curve = lambda t: 0.15 * np.exp(-10 * (t - 1))  # noqa: E731
HELP: Curve = lambda t: 0.02 * t**3  # noqa: E731
COOL: Curve = lambda t: 1 - 0.1 * t**4  # noqa: E731


@pytest.mark.parametrize(
    ("curve", "fixed", "tempered"),
    [(TRAP, 0.56, 0.045), (DEEP, 0.93, 0.02), (HELP, 0.28, 0.61), (COOL, 0.82, 0.30)],
)
def test_what_feedback_does_to_groups(curve: Curve, fixed: float, tempered: float) -> None:
    found = feedback(curve, 16)
    assert found.fixed == pytest.approx(fixed, abs=6e-3)
    assert found.mixed.mean() == pytest.approx(tempered, abs=8e-3)


@pytest.mark.parametrize(("curve", "guarded"), [(TRAP, 0.36), (DEEP, 0.74)])
def test_half_a_group_at_t_ref_bounds_the_loss(curve: Curve, guarded: float) -> None:
    found = feedback(curve, 16, ref_share=0.5)
    assert found.mixed.mean() == pytest.approx(guarded, abs=5e-3)
    assert found.estimate[-1] == pytest.approx(curve(1.0), abs=0.01)


def test_where_temperature_does_not_matter_neither_does_tempering() -> None:
    found = feedback(lambda t: np.full_like(t, 0.02), 16, visits=5)
    assert found.mixed == pytest.approx([found.fixed] * 5)


def test_the_trap_keeps_a_task_hot() -> None:
    found = feedback(TRAP, 16, visits=30)
    assert found.temperature[0] == pytest.approx(1.0276, abs=0.02)
    assert (found.temperature[5:] > 1.45).all()
    assert (found.estimate[5:] < 0.05).all()


def test_the_sampler_itself_falls_into_the_trap() -> None:
    sampler, ids, rng = PTGS(seed=1), np.arange(1500), np.random.default_rng(0)
    share = []
    for _ in range(12):
        p = TRAP(sampler.temperatures(ids))
        share.append(mixed(p, 16).mean())
        sampler.update(ids, rng.binomial(16, p), 16)
    expected = feedback(TRAP, 16, visits=12, tasks=1500).mixed
    assert share == pytest.approx(expected.tolist(), abs=0.03)


def test_the_same_seed_plays_the_same() -> None:
    one, two = (feedback(HELP, 8, visits=4, tasks=50, seed=3).mixed for _ in range(2))
    assert one.tolist() == two.tolist()
    assert one.tolist() != feedback(HELP, 8, visits=4, tasks=50, seed=4).mixed.tolist()


def test_curves_are_cut_to_chances_and_must_be_numbers() -> None:
    assert feedback(lambda t: 3 * t, 4, visits=2, tasks=9).mixed.tolist() == [0, 0]
    for curve in (lambda t: 0.5, lambda t: t * np.nan, lambda t: t.astype(str)):
        with pytest.raises(BadArgument, match="Expected `curve` to give finite numbers"):
            feedback(curve, 4)
    with pytest.raises(BadArgument, match="`n` of at least 2"):
        feedback(HELP, 1, ref_share=0.5)
    with pytest.raises(BadArgument, match="`visits`"):
        feedback(HELP, 4, visits=0)


@pytest.mark.parametrize(("gamma", "end"), [(0.95, 0.534), (0.7, 0.705), (0.5, 0.806), (0.0, 0.9)])
def test_the_estimate_lags_behind_a_task_that_is_being_learned(gamma: float, end: float) -> None:
    assert tracked(np.linspace(0.05, 0.95, 8), 16, gamma)[-1] == pytest.approx(end, abs=5e-4)


def test_the_sampler_lags_as_said() -> None:
    p, sampler, ids = np.linspace(0.05, 0.95, 8), PTGS(gamma=0.7), np.arange(4000)
    rng, means = np.random.default_rng(0), []
    for chance in p:
        sampler.update(ids, rng.binomial(16, chance, len(ids)), 16)
        means.append(sampler.estimates(ids).mean())
    assert means == pytest.approx(tracked(p, 16, 0.7).tolist(), abs=0.01)


def test_tracked_refuses_what_is_no_list_of_chances() -> None:
    with pytest.raises(BadArgument, match=r"list visits, got shape \(\)"):
        tracked(0.5, 16)
    with pytest.raises(BadArgument, match="`p` between 0 and 1"):
        tracked([0.5, 1.5], 16)


def test_the_best_discount_falls_with_drift() -> None:
    """On a grid: about .8, .3 to .7, .3, .3 at 16 rollouts and drifts of .1, .3, .6 and 1."""
    grid = np.array([0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1])
    best = [grid[np.argmin(tracking_error(grid, 16, drift))] for drift in (0.1, 0.3, 0.6, 1.0)]
    assert best[0] == 0.8
    assert 0.3 <= best[1] <= 0.7
    assert best[2:] == [0.3, 0.3]
    assert grid[np.argmin(tracking_error(grid, 2, 0.3))] > best[1]


def test_nothing_is_forgotten_of_what_does_not_move() -> None:
    still = tracking_error([0.5, 0.9, 1.0], 16, 0.0)
    assert (np.diff(still) < 0).all()
    assert isinstance(float(tracking_error(0.9, 16, 0.1, tasks=50)), float)
    with pytest.raises(BadArgument, match="`drift` to be at least 0, got -1"):
        tracking_error(0.9, 16, -1.0)
    with pytest.raises(BadArgument, match="`visits`"):
        tracking_error(0.9, 16, 0.1, visits=1)
