from __future__ import annotations

import math

import numpy as np
import pytest

from agentenvs.harness.ptgs import PTGS


def test_nothing_is_known_at_first() -> None:
    told = PTGS().stats()
    assert (told["step"], told["target"], told["groups"]) == (0, 0.5, 0)
    for name in ("brier", "brier_mean", "rails", "heated", "zero_advantage", "mean_T"):
        assert math.isnan(told[name])
        assert math.isnan(told[f"last/{name}"])


def test_shares_of_the_last_step_and_since_the_start() -> None:
    sampler = PTGS(tau=2)
    heat = sampler.temperatures(["a", "b"])
    sampler.update(["a", "b"], [0, 3], 8)
    sampler.temperatures(["a"])
    sampler.update(["a", "c"], [8, 8], 8)
    told = sampler.stats()
    assert (told["groups"], told["last/groups"]) == (4, 2)
    assert (told["zero_advantage"], told["last/zero_advantage"]) == (0.75, 1)
    assert told["heated"] == ((heat > 1).sum() + 1) / 3
    assert told["last/heated"] == 1


def test_a_step_may_come_in_parts() -> None:
    sampler = PTGS()
    sampler.update(["a"], 1, 8, step=4)
    sampler.update(["b", "c"], 0, 8, step=4)
    assert sampler.stats()["last/groups"] == 3
    assert sampler.stats()["last/zero_advantage"] == pytest.approx(2 / 3, abs=1e-7)


def test_the_estimate_is_judged_by_the_next_group() -> None:
    sampler = PTGS(gamma=1)
    sampler.update(["a", "b"], [2, 0], [2, 6])
    assert math.isnan(sampler.stats()["brier"])
    sampler.update(["a", "b", "new"], [3, 0, 1], [4, 4, 4])
    # 3/4 against 1 1 1 0, 1/8 against 0 0 0 0.
    wanted = ((3 * 0.25**2 + 0.75**2) / 4 + 0.125**2) / 2
    assert sampler.stats()["brier"] == pytest.approx(wanted, abs=1e-6)
    assert sampler.stats()["brier_mean"] == pytest.approx(0.375 * 0.625, abs=1e-6)


def test_with_rollouts_at_t_ref_those_judge() -> None:
    sampler = PTGS(ref_share=0.5, gamma=1)
    for _ in range(2):
        sampler.update(["a"], 6, 8, ref_successes=2, ref_n=4)
    assert sampler.stats()["brier"] == pytest.approx(0.25, abs=1e-6)


def test_rails() -> None:
    sampler = PTGS(gamma=1)
    sampler.update(np.arange(50), 0, 4000)
    sampler.temperatures(np.arange(50))
    sampler.update(np.arange(50), 0, 8)
    assert sampler.stats()["rails"] == 1
    assert sampler.stats()["mean_T"] == pytest.approx(1.5, abs=0.01)


def test_a_calibrated_estimate_beats_the_base_rate() -> None:
    rng, ids = np.random.default_rng(0), np.arange(500)
    p = rng.beta(0.5, 0.5, 500)
    sampler = PTGS(gamma=1)
    for _ in range(10):
        sampler.update(ids, rng.binomial(16, p), 16)
    told = sampler.stats()
    assert told["brier"] == pytest.approx((p * (1 - p)).mean(), rel=0.1)
    assert told["brier"] < 0.7 * told["brier_mean"]
