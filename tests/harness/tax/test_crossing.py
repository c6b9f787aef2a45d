from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import Counts, crossover, crossover_interval


def draw(
    rng: np.random.Generator, size: int, n: int, lost: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """A post-trained arm that loses some tasks and solves the others sooner."""
    p = rng.beta(0.5, 2, size)
    q = np.where(rng.random(size) < lost, 0, 1 - (1 - p) ** 4)
    return rng.binomial(n, p), rng.binomial(n, q)


def test_replicates_are_what_crossover_gives_for_tasks_drawn_again() -> None:
    n, size = 16, 40
    base, post = draw(np.random.default_rng(1), size, n)
    found = crossover_interval((base, n), (post, n), n, draws=4000)
    rng = np.random.default_rng(2)
    ks = []
    for _ in range(1500):
        take = rng.integers(0, size, size)
        ks.append(crossover((base[take], n), (post[take], n), n).k)
    assert found.censored == pytest.approx(np.mean([k is None for k in ks]), abs=0.04)
    assert found.at_one == pytest.approx(np.mean([k == 1 for k in ks]), abs=0.04)
    ranks = sorted(n + 1 if k is None else k for k in ks)
    assert abs((found.low or n + 1) - ranks[37]) <= 1
    assert abs((found.high or n + 1) - ranks[-38]) <= 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30))
def test_the_interval_holds_k_and_does_not_hang_on_the_order_of_tasks(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    base, post = draw(rng, size, 8)
    found = crossover_interval((base, 8), (post, 8), 8, draws=200)
    assert found.k == crossover((base, 8), (post, 8), 8).k
    low, k, high = (9 if end is None else end for end in (found.low, found.k, found.high))
    assert low <= k <= high
    order = rng.permutation(size)
    again = crossover_interval((base[order], 8), (post[order], 8), 8, draws=200)
    assert repr(again) == repr(found)


def test_seed_draws_and_confidence() -> None:
    base, post = draw(np.random.default_rng(4), 60, 32)
    arms = (base, 32), (post, 32)
    wide, narrow = crossover_interval(*arms, 32), crossover_interval(*arms, 32, confidence=0.5)
    assert wide.low <= narrow.low <= narrow.high <= (wide.high or 33)
    assert (wide.K, wide.confidence, wide.draws) == (32, 0.95, 1000)
    other = crossover_interval(*arms, 32, seed=1)
    assert other.at_one + other.censored != wide.at_one + wide.censored
    # Blocks of draws are a matter of memory, not of the result.
    assert crossover_interval(*arms, 32, draws=1).draws == 1


def test_a_gap_in_every_task_is_sure() -> None:
    found = crossover_interval(([1, 2, 0], 8), ([5, 6, 7], 8), 1)
    assert (found.k, found.low, found.high, found.censored, found.at_one) == (
        None,
        None,
        None,
        1,
        0,
    )
    assert found.decides
    ahead = crossover_interval(([5, 6, 7], 8), ([1, 2, 0], 8), 8)
    assert (ahead.k, ahead.low, ahead.high, ahead.at_one) == (1, 1, 1, 1)
    assert ahead.decides


def test_few_tasks_that_disagree_do_not_decide() -> None:
    found = crossover_interval(([0, 8, 0, 1], 8), ([8, 0, 1, 2], 8), 8)
    assert (found.low, found.high, found.decides) == (1, None, False)
    assert 0 < found.at_one < 1 > found.censored > 0


@pytest.mark.parametrize("c", [[0, 0, 0], [3], [1, 5, 8]])
def test_equal_runs_are_the_same_curve(c: list[int]) -> None:
    found = crossover_interval((c, 8), (c, 8), 8)
    assert found.same
    assert not found.decides


def test_nothing_or_everything_solved_is_the_same_at_any_n() -> None:
    found = crossover_interval(([0, 4, 0], 4), ([0, 8, 0], 8), 4)
    assert found.same
    assert not found.decides


def test_one_kind_of_task_leaves_nothing_to_resample() -> None:
    found = crossover_interval(([1], 8), ([5], 8), 4)
    assert (found.k, found.low, found.high, found.same) == (None, 1, None, False)
    assert math.isnan(found.censored)
    assert math.isnan(found.at_one)


def test_counts_are_matched_by_task() -> None:
    one = Counts(["a", "b", "c"], np.array([1, 5, 0]), np.array([8, 8, 8]))
    two = Counts(["c", "a", "b"], np.array([0, 2, 8]), np.array([8, 8, 16]))
    pairs = crossover_interval(([1, 5, 0], 8), ([2, 8, 0], [8, 16, 8]), 8)
    assert repr(crossover_interval(one, two, 8)) == repr(pairs)


@pytest.mark.parametrize("draws", [0, -1, 1.5, True, "9", 10**7])
def test_draws_are_counted(draws) -> None:
    with pytest.raises(BadArgument, match="`draws` of 1 to 1000000"):
        crossover_interval(([1, 2], 4), ([2, 1], 4), 2, draws=draws)


def test_other_arguments_are_checked() -> None:
    with pytest.raises(BadArgument, match="`confidence`"):
        crossover_interval(([1, 2], 4), ([2, 1], 4), 2, confidence=2)
    with pytest.raises(BadArgument, match="the smallest n is 4"):
        crossover_interval(([1, 2], 4), ([2, 1], 4), 5)


def held(size: int, n: int, lost: float, rounds: int) -> float:
    rng = np.random.default_rng(5)
    p = rng.beta(0.5, 2, 400_000)
    ks = range(1, n + 1)
    q = 1 - (1 - p) ** 4
    gap = [np.mean((1 - lost) * (1 - q) ** k + lost - (1 - p) ** k) for k in ks]
    truth = next((k for k, above in zip(ks, gap, strict=True) if above >= 0), n + 1)
    count = 0
    for _ in range(rounds):
        base, post = draw(rng, size, n, lost)
        found = crossover_interval((base, n), (post, n), n)
        count += (found.low or n + 1) <= truth <= (found.high or n + 1)
    return count / rounds


def test_intervals_hold_k_as_often_as_they_say() -> None:
    assert held(24, 8, 0.4, rounds=200) > 0.89


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "n", "lost"), [(24, 32, 0.3), (50, 32, 0.3), (200, 32, 0.3), (200, 32, 0.15)]
)
def test_coverage_of_k_over_many_simulations(size: int, n: int, lost: float) -> None:
    assert held(size, n, lost, rounds=1000) > 0.92


def test_clusters_are_drawn_whole() -> None:
    n, size = 16, 60
    base, post = draw(np.random.default_rng(3), size, n)
    labels = np.repeat(np.arange(20), 3)
    found = crossover_interval((base, n), (post, n), n, draws=4000, clusters=labels.tolist())
    rng = np.random.default_rng(4)
    ks = []
    for _ in range(1500):
        take = (rng.integers(0, 20, 20)[:, None] * 3 + np.arange(3)).ravel()
        ks.append(crossover((base[take], n), (post[take], n), n).k)
    assert found.censored == pytest.approx(np.mean([k is None for k in ks]), abs=0.04)
    ranks = sorted(n + 1 if k is None else k for k in ks)
    assert abs((found.low or n + 1) - ranks[37]) <= 1
    assert abs((found.high or n + 1) - ranks[-38]) <= 1


def test_clusters_of_copies_count_once() -> None:
    n = 128
    base, post = draw(np.random.default_rng(5), 30, n)
    once = crossover_interval((base, n), (post, n), n)
    twice = (np.repeat(base, 2), n), (np.repeat(post, 2), n)
    labels = np.repeat(np.arange(30), 2).tolist()
    found = crossover_interval(*twice, n, draws=4000, clusters=labels)
    assert found.at_one == pytest.approx(once.at_one, abs=0.03)
    assert (found.k, found.low) == (once.k, once.low)
    naive = crossover_interval(*twice, n, draws=4000)
    assert naive.at_one < once.at_one - 0.03


def test_the_order_of_tasks_in_clusters_makes_no_difference() -> None:
    n, size = 32, 40
    base, post = draw(np.random.default_rng(6), size, n)
    labels = np.arange(size) // 3
    order = np.random.default_rng(7).permutation(size)
    one = crossover_interval((base, n), (post, n), n, clusters=labels.tolist())
    shuffled = (base[order], n), (post[order], n)
    assert crossover_interval(*shuffled, n, clusters=labels[order].tolist()) == one
    assert crossover_interval((base, n), (post, n), n, clusters=list(range(size))) == (
        crossover_interval((base, n), (post, n), n)
    )


def test_one_cluster_decides_nothing() -> None:
    found = crossover_interval(([1, 5, 2], 8), ([2, 8, 0], 8), 8, clusters=["a"] * 3)
    assert not found.decides
    assert math.isnan(found.censored)
