from __future__ import annotations

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS, Gate
from agentenvs.harness.ptgs.contrast import EDGES, Contrast


def sums(gaps: np.ndarray, estimate: float = 0.02, keep: float = 1.0) -> np.ndarray:
    contrast = Contrast(keep)
    contrast.add(1, np.full(len(gaps), estimate), np.ones(len(gaps)), gaps)
    return contrast.heated(2)


def test_heating_is_off_where_it_surely_lowers_success() -> None:
    rng = np.random.default_rng(0)
    worse, same, better = (rng.normal(shift, 0.1, 400) for shift in (-0.05, 0, 0.05))
    assert Gate().off(sums(worse)).tolist() == [True] + [False] * 5
    assert Gate().off(sums(worse, estimate=0.4)).tolist() == [False] * 3 + [True] + [False] * 2
    assert not Gate().off(sums(same)).any()
    assert not Gate().off(sums(better)).any()
    assert Gate(margin=0.02).off(sums(same))[0]
    assert not Gate(groups=401).off(sums(worse)).any()


def test_the_test_keeps_its_level() -> None:
    """Where heating changes nothing, at most 5 % of tests say that it does not raise success."""
    rng = np.random.default_rng(1)
    off = 0
    for _ in range(2000):
        ones = rng.binomial(8, 0.2, (2, 60)) / 8
        off += int(Gate().off(sums(ones[0] - ones[1]))[0])
    assert 0.02 < off / 2000 < 0.055


def test_equal_groups_are_no_proof() -> None:
    assert not Gate().off(sums(np.zeros(1000))).any()
    assert not Gate(groups=2).off(sums(np.full(3, -0.2))).any()
    assert Gate(groups=2).off(sums(np.full(100, -0.2)))[0]


def test_nothing_counts_before_the_next_step() -> None:
    contrast = Contrast(keep=0.5)
    one = np.array([0.1])
    contrast.add(3, one, one, np.array([-0.5]))
    contrast.add(3, one, one, np.array([-0.25]))
    assert contrast.heated(3).sum() == 0
    assert contrast.heated(4)[1].tolist() == [1, 0.5, -0.375, 0.15625]
    assert contrast.heated(6)[1].tolist() == [0.25, 0.03125, -0.09375, 0.0390625]
    contrast.add(6, one, -one, np.array([0.5]))
    assert contrast.heated(6)[1].tolist() == [0.25, 0.03125, -0.09375, 0.0390625]
    means = contrast.means(7)
    assert means["hot_minus_ref/0.05-0.15"] == -0.375
    assert means["cold_minus_ref/0.05-0.15"] == 0.5
    assert np.isnan(means["hot_minus_ref/0-0.05"])


def test_bins_hold_their_lower_edge() -> None:
    contrast = Contrast(keep=1)
    at = np.array(EDGES)
    contrast.add(1, at, np.ones(len(at)), np.zeros(len(at)))
    assert contrast.heated(2)[:, 0].tolist() == [1, 1, 1, 1, 1, 2]


def hot_rate(gate: Gate | None, slope: float, steps: int = 40) -> tuple[PTGS, float]:
    """Play 300 hard tasks whose success goes with T ** slope; return the share of hot groups."""
    sampler = PTGS(ref_share=0.5, gate=gate, seed=4)
    rng = np.random.default_rng(5)
    ids = np.arange(300)
    for _ in range(steps):
        heat = sampler.rollout_temperatures(ids, 16)
        sampler.record(ids, rng.random(heat.shape) < 0.04 * heat**slope)
    return sampler, float((sampler.temperatures(ids) > 1).mean())


def test_where_heat_lowers_success_it_is_switched_off_but_for_probes() -> None:
    ungated, hot = hot_rate(None, slope=-6)
    assert hot > 0.95
    assert ungated.stats()["hot_minus_ref/0.05-0.15"] < 0
    gated, hot = hot_rate(Gate(probe=0.1), slope=-6)
    assert gated.stats()["gate_off"] > 0
    assert 0.05 < hot < 0.15
    assert hot_rate(Gate(probe=0.0), slope=-6)[1] == 0
    assert "gate_off" not in ungated.stats()


def test_where_heat_raises_success_it_stays_on() -> None:
    gated, hot = hot_rate(Gate(), slope=2)
    assert hot > 0.95
    assert gated.stats()["gate_off"] == 0
    assert gated.stats()["hot_minus_ref/0.05-0.15"] > 0.01


def test_a_gate_that_is_off_still_cools() -> None:
    sampler = PTGS(ref_share=0.5, gate=Gate(probe=0, groups=2, confidence=0.6), target=0.5)
    hard = np.arange(200)
    for _ in range(5):
        sampler.temperatures(hard)
        sampler.update(hard, 2, 8, ref_successes=2, ref_n=4)
    easy = np.arange(200, 210)
    sampler.update(easy, 800, 800, ref_successes=400, ref_n=400)
    assert (sampler.temperatures(hard) <= 1).all()
    assert (sampler.temperatures(easy) < 1).all()


def test_a_gate_that_finds_that_heat_helps_again_opens() -> None:
    sampler = PTGS(ref_share=0.5, gate=Gate(probe=0.2, keep=0.8))
    rng, ids = np.random.default_rng(6), np.arange(300)
    shut = []
    for step in range(60):
        heat = sampler.rollout_temperatures(ids, 16)
        slope = -6 if step < 20 else 3
        sampler.record(ids, rng.random(heat.shape) < 0.04 * heat**slope)
        shut.append(sampler.stats()["gate_off"] > 0)
    assert shut[19]
    assert not shut[-1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"confidence": 0.5}, "`confidence` to be above 0.5 and below 1, got 0.5"),
        ({"margin": 2}, "`margin` to be at least -1 and at most 1, got 2"),
        ({"groups": 1}, "`groups` of 2 to .*, got 1"),
        ({"keep": 0}, "`keep` to be .*, got 0"),
        ({"probe": 1.5}, "`probe` to be at least 0 and at most 1, got 1.5"),
        ({"probe": None}, "`probe` to be a number, got None"),
    ],
)
def test_wrong_gates(wrong: dict, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        Gate(**wrong)
