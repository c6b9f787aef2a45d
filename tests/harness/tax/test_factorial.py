from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import (
    Counts,
    TwoByTwo,
    area,
    pass_at_k,
    pass_at_k_interval,
    scalability,
    sharpening_tax_interval,
    two_by_two,
)
from agentenvs.harness.tax.factorial import CELLS, EFFECTS

WEIGHTS = {
    "model_none": (-1, 0, 1, 0),
    "model_light": (0, -1, 0, 1),
    "model": (-0.5, -0.5, 0.5, 0.5),
    "harness_base": (-1, 1, 0, 0),
    "harness_post": (0, 0, -1, 1),
    "harness": (-0.5, 0.5, -0.5, 0.5),
    "interaction": (1, -1, -1, 1),
}
MEASURES = ("pass_1", "pass_K", "S")
Arms = tuple[tuple[Any, Any], tuple[Any, Any], tuple[Any, Any], tuple[Any, Any]]


def chances(rng: np.random.Generator, size: int) -> list[np.ndarray]:
    """Draw tasks: their chance of success in the four arms."""
    base = rng.beta(0.5, 1.2, size)
    post = np.where(rng.random(size) < 0.4, base**2, 1 - (1 - base) ** 3)
    helped = np.where(rng.random(size) < 0.3, post**1.5, 1 - (1 - post) ** 1.3)
    return [base, 1 - (1 - base) ** 2, post, helped]


def play(rng: np.random.Generator, size: int, n: Any) -> Arms:
    a, b, c, d = ((rng.binomial(n, p), n) for p in chances(rng, size))
    return a, b, c, d


@given(st.integers(0, 10_000), st.integers(2, 8))
def test_every_effect_is_the_difference_of_separate_estimates(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    ns = rng.integers(8, 20, (4, 12))
    arms = [(rng.binomial(n, p), n) for n, p in zip(ns, chances(rng, 12), strict=True)]
    found = two_by_two(*arms, K=k)
    values = {
        "pass_1": [pass_at_k_interval(c, n, 1).value for c, n in arms],
        "pass_K": [pass_at_k_interval(c, n, k).value for c, n in arms],
        "S": [scalability(c, n, k) for c, n in arms],
    }
    for measure, cells in values.items():
        told = getattr(found, measure)
        assert [getattr(told, name).value for name in CELLS] == pytest.approx(cells, abs=1e-15)
        shown = [getattr(told, name).value for name in CELLS]
        for name, weights in WEIGHTS.items():
            apart = math.fsum(w * v for w, v in zip(weights, shown, strict=True))
            assert getattr(told, name).value == apart


@pytest.mark.parametrize("clusters", [None, [at // 3 for at in range(30)]])
def test_two_arms_of_it_are_compared_as_two_runs_are(clusters: list[int] | None) -> None:
    arms = play(np.random.default_rng(1), 30, 16)
    found = two_by_two(*arms, K=8, clusters=clusters)
    pair = sharpening_tax_interval(arms[0], arms[2], 8, clusters=clusters)
    assert found.pass_K.model_none == pytest.approx(pair.pass_gap.negated())
    assert found.tax_S[0] == pytest.approx(pair.tax_S)
    assert found.S.base_none == pair.S_base
    assert found.pass_K.post_none == pair.pass_post
    assert found.clusters == pair.clusters


def test_errors_of_the_interaction_are_paired_by_task() -> None:
    arms = play(np.random.default_rng(2), 200, 16)
    found = two_by_two(*arms, K=8)
    hits = [pass_at_k(c, np.full(200, n), 8) for c, n in arms]
    whole = hits[3] - hits[2] - hits[1] + hits[0]
    assert found.pass_K.interaction.se == pytest.approx(whole.std(ddof=1) / math.sqrt(200))
    apart = math.sqrt(sum(getattr(found.pass_K, name).se ** 2 for name in CELLS))
    assert found.pass_K.interaction.se < 0.8 * apart


def test_tasks_drawn_again_scatter_as_much_as_the_errors_say() -> None:
    rng = np.random.default_rng(3)
    size, n, k = 80, 16, 8
    arms = play(rng, size, n)
    found = two_by_two(*arms, K=k)
    weights = rng.multinomial(size, np.full(size, 1 / size), 4000)
    ns = np.full(size, n)
    hits = np.array([weights @ pass_at_k(c, ns, k) for c, _ in arms]) / size
    fails = np.array([weights @ (1 - c / n) for c, _ in arms])
    scales = np.array([weights @ area(c, ns, k) for c, _ in arms]) / ((k - 1) * fails)
    for measure, cells in (("pass_K", hits), ("S", scales)):
        for effect in EFFECTS:
            told = getattr(getattr(found, measure), effect)
            drawn = np.asarray(WEIGHTS[effect]) @ cells
            assert told.se == pytest.approx(drawn.std(), rel=0.06)
            ends = np.quantile(drawn, [0.025, 0.975])
            assert (told.low, told.high) == pytest.approx(ends, abs=0.35 * told.se)


def test_runs_are_matched_by_task_id() -> None:
    arms = play(np.random.default_rng(4), 6, 8)
    ids = list("abcdef")
    order = [3, 1, 5, 0, 2, 4]
    counts = [Counts(ids, c, np.full(6, 8)) for c, _ in arms]
    moved = Counts([ids[at] for at in order], arms[2][0][order], np.full(6, 8))
    labels = {"a": 0, "b": 0, "c": 1, "d": 1, "e": 2, "f": 2, "unused": 9}
    found = two_by_two(counts[0], counts[1], moved, counts[3], 4, clusters=labels)
    again = two_by_two(*arms, K=4, clusters=[0, 0, 1, 1, 2, 2])
    np.testing.assert_equal(found[:8], again[:8])
    with pytest.raises(BadArgument, match="only in post-none: 'z'"):
        two_by_two(counts[0], counts[1], Counts(["z", *ids[1:]], *arms[2]), counts[3], 4)


def test_an_arm_that_solves_nothing_has_no_spread_to_go_by() -> None:
    base, _, post, _ = play(np.random.default_rng(5), 20, 8)
    nothing = np.zeros(20, dtype=int), 8
    found = two_by_two(nothing, base, nothing, post, 4)
    assert found.S.base_none.value == 0
    for name in ("model_none", "harness_base", "harness_post", "model", "harness", "interaction"):
        assert math.isnan(getattr(found.S, name).low)
        assert not math.isnan(getattr(found.S, name).value)
    assert found.S.model_light.se > 0
    told = found.pass_K.harness_base
    assert math.isnan(told.se)
    assert told.low < told.value < told.high <= 1
    assert found.found.tested == 0
    assert np.isnan(found.p).all()


def test_effects_that_need_no_odd_arm_are_not_touched_by_it() -> None:
    base, light, post, _ = play(np.random.default_rng(6), 20, 8)
    perfect = np.full(20, 8), 8
    found = two_by_two(base, light, post, perfect, 4)
    assert math.isnan(found.S.post_light.value)
    assert math.isnan(found.S.interaction.value)
    assert found.S.model_none.se > 0
    assert found.S.harness_base.se > 0


def test_one_try_has_no_scalability_and_is_tested_once() -> None:
    found = two_by_two(*play(np.random.default_rng(7), 20, 8), K=1)
    assert found.pass_K == found.pass_1
    assert math.isnan(found.S.model.value)
    assert found.found.tested == 3
    assert not found.high_variance


def test_nine_effects_are_judged_together() -> None:
    found = two_by_two(*play(np.random.default_rng(8), 60, 16), K=8)
    assert found.found.tested == 9
    assert found.p.shape == (9,)
    first, last = found.pass_1.model, found.S.interaction
    assert (found.p[0] < 0.05) == first.sure
    assert (found.p[8] < 0.05) == last.sure
    assert (found.found.adjusted >= found.p).all()
    assert found.found.rate == pytest.approx(0.05)


@pytest.mark.parametrize("size", [1, 2])
def test_few_tasks_are_no_error(size: int) -> None:
    found = two_by_two(*play(np.random.default_rng(9), size, 4), K=2)
    assert found.tasks == size
    assert -2 <= found.pass_1.interaction.low <= found.pass_1.interaction.high <= 2


def test_a_budget_beyond_the_smallest_n_is_refused() -> None:
    arms = play(np.random.default_rng(10), 5, 8)
    short = np.zeros(5, dtype=int), [8, 8, 3, 8, 8]
    with pytest.raises(BadArgument, match="smallest n is 3"):
        two_by_two(arms[0], arms[1], short, arms[3], 4)
    assert two_by_two(arms[0], arms[1], short, arms[3], 2).high_variance


def truth(tasks: list[np.ndarray], k: int) -> dict[str, list[float]]:
    """Return the measures of the four arms, as sums of p (1 - p)^j."""
    found: dict[str, list[float]] = {name: [] for name in MEASURES}
    for p in tasks:
        missed, late = np.ones_like(p), 0.0
        for tries in range(k):
            late += tries * float(np.mean(p * missed))
            missed = missed * (1 - p)
        found["pass_1"].append(float(np.mean(p)))
        found["pass_K"].append(1 - float(np.mean(missed)))
        found["S"].append(late / ((k - 1) * float(np.mean(1 - p))))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("size", [24, 50, 200])
def test_intervals_hold_the_truth_as_often_as_they_say(size: int) -> None:
    true = truth(chances(np.random.default_rng(1), 1_000_000), 8)
    rng = np.random.default_rng(7)
    runs, held = 400, np.zeros((3, len(WEIGHTS)))
    for _ in range(runs):
        found = two_by_two(*play(rng, size, 16), K=8)
        for row, measure in enumerate(MEASURES):
            for column, (name, weights) in enumerate(WEIGHTS.items()):
                value = float(np.dot(weights, true[measure]))
                told = getattr(getattr(found, measure), name)
                held[row, column] += told.low <= value <= told.high
    assert (held / runs).min() >= 0.92
    assert (held / runs).max() <= 0.98


@pytest.mark.slow
def test_of_nine_effects_that_are_not_there_few_are_found() -> None:
    rng = np.random.default_rng(3)
    runs, any_found = 500, 0
    for _ in range(runs):
        p = rng.beta(0.5, 1.2, 50)
        a, b, c, d = ((rng.binomial(16, p), 16) for _ in range(4))
        found: TwoByTwo = two_by_two(a, b, c, d, 8)
        any_found += found.found.found > 0
    assert any_found / runs <= 0.07
