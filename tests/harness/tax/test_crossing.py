from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import (
    Counts,
    crossover,
    crossover_set,
    curve_bands,
)


def draw(seed: int, size: int, n: int) -> tuple[tuple[np.ndarray, int], tuple[np.ndarray, int]]:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 2, size)
    q = np.where(rng.random(size) < 0.3, 0, 1 - (1 - p) ** 4)
    return (rng.binomial(n, p), n), (rng.binomial(n, q), n)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 16))
def test_the_set_is_what_the_band_of_the_gap_allows(seed: int, size: int, n: int) -> None:
    base, post = draw(seed, size, n)
    found = crossover_set(base, post, n, draws=100)
    gap = curve_bands(base, post, draws=100).gap
    allowed = [
        k
        for k in range(1, n + 1)
        if gap.high[k - 1] >= -1e-12 and all(low < -1e-12 for low in gap.low[: k - 1])
    ]
    assert found.ks == tuple(allowed)
    assert found.censored == bool((gap.low < -1e-12).all())
    assert found.k == crossover(base, post, n).k
    # The estimate is always among what its own band allows.
    assert found.censored if found.k is None else found.k in found.ks
    if not np.isnan(found.share_censored):
        assert found.share.sum() + found.share_censored == pytest.approx(1)
        assert found.stays_above <= found.share.sum() + 1e-12


def test_shares_are_those_of_tasks_drawn_again_one_by_one() -> None:
    base, post = draw(1, 40, 16)
    found = crossover_set(base, post, 16, draws=5000)
    rng = np.random.default_rng(5)
    ks = []
    for _ in range(400):
        some = rng.integers(40, size=40)
        ks.append(crossover((base[0][some], 16), (post[0][some], 16), 16).k)
    assert found.share_censored == pytest.approx(ks.count(None) / 400, abs=0.08)
    assert found.share[0] == pytest.approx(ks.count(1) / 400, abs=0.08)


def test_many_budgets_are_looked_at_in_part() -> None:
    base, post = draw(2, 60, 1500)
    found = crossover_set(base, post, 1500, draws=200)
    every = curve_bands(base, post, np.arange(1, 1501), draws=200).gap
    reaches, behind = every.high >= -1e-12, every.low < -1e-12
    exact = {k for k in range(1, 1501) if reaches[k - 1] and behind[: k - 1].all()}
    assert found.k == crossover(base, post, 1500).k
    assert found.share.shape == (1500,)
    # Bands over other budgets have all but the same width.
    assert len(exact ^ set(found.ks)) <= 0.05 * len(exact)


def test_stays_above_is_that_of_tasks_drawn_again() -> None:
    rng = np.random.default_rng(3)
    # Curves that touch: base solves rare tasks, post others sometimes.
    c, d = rng.binomial(12, rng.beta(0.3, 1, 30)), rng.binomial(12, rng.beta(0.6, 1.6, 30))
    found = crossover_set((c, 12), (d, 12), 12, draws=4000)
    stays = []
    for _ in range(1500):
        take = rng.integers(0, 30, 30)
        stays.append(crossover((c[take], 12), (d[take], 12), 12).stays_above)
    assert found.stays_above == pytest.approx(np.mean(stays), abs=0.04)
    assert 0.02 < found.stays_above < 0.98


def test_base_ahead_beyond_doubt_is_one_alone() -> None:
    found = crossover_set(([5, 6, 7] * 8, 8), ([1, 2, 0] * 8, 8), 8)
    assert (found.k, found.ks, found.censored, found.same) == (1, (1,), False, False)
    assert (found.share[0], found.stays_above, found.decides) == (1, 1, True)


def test_equal_arms_leave_everything_open_and_are_told_apart() -> None:
    arm = ([1, 4, 0, 2] * 6, 8)
    found = crossover_set(arm, arm, 8)
    assert found.same
    assert not found.decides
    assert (found.ks, found.censored) == (tuple(range(1, 9)), True)
    assert np.isnan(found.share).all()
    assert math.isnan(found.share_censored)
    assert math.isnan(found.stays_above)
    assert crossover_set(([0] * 9, 8), ([0] * 9, 8), 8).same


def test_post_ahead_everywhere_is_censored_alone() -> None:
    found = crossover_set(([1, 2, 0] * 8, 8), ([5, 6, 7] * 8, 8), 2)
    assert (found.k, found.ks, found.censored, found.share_censored) == (None, (), True, 1)
    assert found.decides


def test_one_task_decides_nothing() -> None:
    found = crossover_set(([1], 8), ([5], 8), 4)
    assert (found.ks, found.censored, found.decides) == ((1, 2, 3, 4), True, False)
    assert np.isnan(found.share).all()


def test_more_confidence_allows_more() -> None:
    base, post = draw(2, 120, 32)
    wide, narrow = (crossover_set(base, post, 32, confidence=c) for c in (0.99, 0.5))
    assert set(narrow.ks) < set(wide.ks)
    assert narrow.share.tolist() == wide.share.tolist()


def test_repeated_tasks_in_clusters_are_worth_one_task() -> None:
    base, post = draw(6, 40, 16)
    labels = np.repeat(np.arange(40), 5)
    many = [(np.repeat(c, 5), n) for c, n in (base, post)]
    one, five = crossover_set(base, post, 16), crossover_set(*many, 16, clusters=labels)
    assert (one.ks, one.censored) == (five.ks, five.censored)
    assert five.share == pytest.approx(one.share, abs=0.04)
    assert (five.tasks, five.clusters) == (200, 40)
    assert len(crossover_set(*many, 16).ks) < len(five.ks)


def test_order_of_tasks_and_seed() -> None:
    base, post = draw(8, 60, 16)
    first = crossover_set(base, post, 16)
    order = np.random.default_rng(0).permutation(60)
    again = crossover_set((base[0][order], 16), (post[0][order], 16), 16)
    assert repr(again) == repr(first)
    other = crossover_set(base, post, 16, seed=1)
    assert other.share.tolist() != first.share.tolist()


def test_counts_are_matched_by_task() -> None:
    one = Counts(["a", "b", "c"], np.array([1, 5, 0]), np.array([8, 8, 8]))
    two = Counts(["c", "a", "b"], np.array([0, 2, 8]), np.array([8, 8, 16]))
    pairs = crossover_set(([1, 5, 0], 8), ([2, 8, 0], [8, 16, 8]), 8)
    assert repr(crossover_set(one, two, 8)) == repr(pairs)
    assert pairs.covers == ("tasks", "rollouts")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"K": 5}, "the smallest n is 4"),
        ({"K": 2.0}, "`K` to be an integer"),
        ({"K": 2, "draws": 0}, "`draws`"),
        ({"K": 2, "confidence": 0}, "`confidence`"),
        ({"K": 2, "clusters": [1]}, "`clusters`"),
    ],
)
def test_arguments_are_checked(options, message) -> None:
    with pytest.raises(BadArgument, match=message):
        crossover_set(([1, 2], 4), ([2, 1], 4), **options)
