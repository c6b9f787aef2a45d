from __future__ import annotations

import math

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import sample_size, sharpening_tax_interval
from agentenvs.harness.tax.rollout_noise import rollout_interval

Arms = tuple[tuple[np.ndarray, int], tuple[np.ndarray, int]]


def draw(
    rng: np.random.Generator, size: int, n: int, shape: tuple[float, float] = (0.5, 2)
) -> Arms:
    p = rng.beta(*shape, size)
    q = np.where(rng.random(size) < 0.3, 0, 1 - (1 - p) ** 4)
    return (rng.binomial(n, p), n), (rng.binomial(n, q), n)


def half_width(arms: Arms, k: int) -> float:
    tax = sharpening_tax_interval(*arms, k).tax_S
    return (tax.high - tax.low) / 2


def test_the_present_state() -> None:
    arms = draw(np.random.default_rng(0), 100, 16)
    found, tax = sample_size(*arms, 8), sharpening_tax_interval(*arms, 8).tax_S
    assert (found.K, found.tasks, found.rollouts, found.confidence) == (8, 100, 16, 0.95)
    assert (found.tax_S, found.half_width) == (tax.value, abs(tax.value))
    assert found.now == pytest.approx(tax.value - tax.low)
    assert found.enough == (tax.low > 0 or tax.high < 0)
    assert found.at_2K == pytest.approx(found.now, rel=1e-6)
    assert 0 < found.from_rollouts < 1
    assert found.floor == pytest.approx(found.now * math.sqrt(1 - found.from_rollouts))


def test_tasks_go_with_the_square_of_the_width() -> None:
    arms = draw(np.random.default_rng(1), 60, 16)
    now = sample_size(*arms, 8).now
    found = sample_size(*arms, 8, half_width=now / 2)
    # 240, less what Student's quantile gains from 60 to 240 tasks.
    assert found.tasks_needed == 233
    assert not found.enough
    same = sample_size(*arms, 8, half_width=now)
    assert (same.tasks_needed, same.rollouts_needed, same.enough) == (60, 16, True)
    assert sample_size(*arms, 8, half_width=2 * now).tasks_needed == 17
    assert sample_size(*arms, 8, half_width=100.0).tasks_needed == 2


def test_rollouts_cannot_go_below_what_tasks_differ_in() -> None:
    arms = draw(np.random.default_rng(2), 100, 16)
    floor = sample_size(*arms, 8).floor
    assert sample_size(*arms, 8, half_width=0.99 * floor).rollouts_needed is None
    above = sample_size(*arms, 8, half_width=1.05 * floor)
    assert above.rollouts_needed > 16
    assert sample_size(*arms, 8, half_width=10.0).rollouts_needed == 8


def test_what_rollouts_make_agrees_with_the_unbiased_estimate() -> None:
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(20):
        arms = draw(rng, 200, 32)
        found = sample_size(*arms, 8)
        fixed = rollout_interval(*arms, 8).tax_S.se
        total = sharpening_tax_interval(*arms, 8).tax_S.se
        ratios.append(found.from_rollouts / (fixed / total) ** 2)
    assert np.mean(ratios) == pytest.approx(1, abs=0.05)


def reached(shape: tuple[float, float], size: int, n: int, k: int, rounds: int) -> list[float]:
    """Half widths of samples as large as recommended, over those that were aimed at."""
    rng = np.random.default_rng(4)
    by_tasks, by_rollouts = [], []
    for _ in range(rounds):
        arms = draw(rng, size, n, shape)
        aim = (0.3 * sample_size(*arms, k).floor ** 2 + 0.7 * half_width(arms, k) ** 2) ** 0.5
        found = sample_size(*arms, k, half_width=aim)
        by_tasks.append(half_width(draw(rng, found.tasks_needed, n, shape), k) / aim)
        again = draw(rng, size, found.rollouts_needed, shape)
        by_rollouts.append(half_width(again, k) / aim)
    return [float(np.mean(by_tasks)), float(np.mean(by_rollouts))]


def test_recommended_samples_are_as_narrow_as_aimed_at() -> None:
    assert reached((0.5, 2), 100, 16, 8, rounds=30) == pytest.approx([1, 1], abs=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(0.5, 2), (0.1, 3), (1, 1)])
@pytest.mark.parametrize(("size", "n", "k"), [(100, 8, 8), (100, 16, 8), (200, 32, 32)])
def test_recommended_samples_over_many_simulations(
    shape: tuple[float, float], size: int, n: int, k: int
) -> None:
    assert reached(shape, size, n, k, rounds=200) == pytest.approx([1, 1], abs=0.15)


def test_clusters_are_drawn_whole() -> None:
    arms = draw(np.random.default_rng(6), 40, 16)
    many = tuple((np.repeat(c, 5), n) for c, n in arms)
    labels = np.repeat(np.arange(40), 5)
    alone, together = sample_size(*arms, 8, 0.1), sample_size(*many, 8, 0.1, clusters=labels)
    assert together.now == pytest.approx(alone.now)
    assert together.tasks_needed == pytest.approx(5 * alone.tasks_needed, abs=5)


def test_unequal_rollouts() -> None:
    rng = np.random.default_rng(7)
    n = rng.choice([8, 64], 200)
    p = rng.beta(0.5, 2, 200)
    arms = (rng.binomial(n, p), n), (rng.binomial(n, p**2), n)
    found = sample_size(*arms, 8)
    assert found.rollouts == 8
    assert 0 < found.from_rollouts < 1
    assert found.at_2K < found.now


@pytest.mark.parametrize(
    ("base", "post", "k"),
    [
        (([1, 2, 0], 4), ([0, 0, 0], 4), 2),
        (([4, 4, 4], 4), ([1, 2, 0], 4), 2),
        (([1, 2, 0], 4), ([1, 2, 0], 4), 2),
        (([1], 4), ([2], 4), 2),
        (([1, 2, 0], 4), ([2, 0, 3], 4), 1),
    ],
)
def test_without_an_interval_there_is_no_plan(base, post, k) -> None:
    found = sample_size(base, post, k)
    assert (found.tasks_needed, found.rollouts_needed, found.enough) == (None, None, False)
    for name in ("now", "from_rollouts", "floor", "at_2K"):
        assert math.isnan(getattr(found, name))


def test_a_tax_of_exactly_0_cannot_be_told_from_0() -> None:
    found = sample_size(([1, 2, 0, 2], 4), ([2, 1, 2, 0], 4), 2)
    assert (found.tax_S, found.half_width, found.enough) == (0, 0, False)
    assert (found.tasks_needed, found.rollouts_needed) == (None, None)
    assert found.now > 0


@pytest.mark.parametrize("width", [0, -1, math.nan, math.inf, True, "0.1"])
def test_half_widths_are_above_0(width) -> None:
    with pytest.raises(BadArgument, match="`half_width` above 0"):
        sample_size(([1, 2], 4), ([2, 0], 4), 2, half_width=width)


def test_other_arguments_are_checked() -> None:
    with pytest.raises(BadArgument, match="the smallest n is 4"):
        sample_size(([1, 2], 4), ([2, 0], 4), 5)
    with pytest.raises(BadArgument, match="`confidence`"):
        sample_size(([1, 2], 4), ([2, 0], 4), 2, confidence=2)
