from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import Counts, curve, pilot_protocol

# Where it does not matter what is averaged over how much.
briefly = partial(pilot_protocol, splits=20, draws=20)


def world(size: int = 100, n: int = 32, seed: int = 1):
    """Post always solves half of the tasks and never the others; base solves some of all."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 1.5, size)
    q = np.where(rng.random(size) < 0.5, 0.98, 0.01)
    return (rng.binomial(n, p), n), (rng.binomial(n, q), n)


def flat(size: int = 400, n: int = 16, rate: float = 0.3, seed: int = 3):
    """Two policies that solve every task at the same rate: nothing to choose between."""
    rng = np.random.default_rng(seed)
    return tuple((rng.binomial(n, rate, size), n) for _ in range(2))


def test_choosing_by_task_pays_where_policies_solve_different_tasks() -> None:
    found = pilot_protocol(*world(), budget=2, uses=100)
    assert found.gain.low > 0.02
    assert found.by_task.cost.value <= 2.1
    assert found.saving.low > 0
    assert found.pays == "yes"
    assert found.by_task.coverage.value < found.same_rollouts.coverage.value + 0.01


def test_luck_in_the_pilot_is_not_taken_for_gain() -> None:
    """With nothing to choose, choosing by task must come out as plain tries do, while choice and
    judgement on the same rollouts see a gain that is not there."""
    found = pilot_protocol(*flat(), pilot=4, budget=2)
    truth = 1 - 0.7**2
    assert found.by_task.coverage.value == pytest.approx(truth, abs=0.03)
    assert found.oracle.coverage.value == pytest.approx(truth, abs=0.03)
    assert found.same_rollouts.coverage.value > truth + 0.05
    assert found.gain.value < 0.01
    assert found.pays == "no"


def test_the_pilots_cost_is_counted_and_spread_over_its_uses() -> None:
    base, post = world()
    once, often = (
        briefly(base, post, pilot=4, price=(1, 3), budget=6, uses=uses) for uses in (1, 50)
    )
    assert once.pilot_cost == often.pilot_cost == 4 * (1 + 3)
    assert once.total(once.by_task) == pytest.approx(once.by_task.cost.value + 16)
    assert often.total(often.by_task) == pytest.approx(often.by_task.cost.value + 16 / 50)
    assert often.total(often.by_pilot) == pytest.approx(often.by_pilot.cost.value + 16 / 50)
    assert once.total(once.base_k) == once.base_k.cost.value
    assert once.total(once.oracle) == once.oracle.cost.value
    assert once.by_task == often.by_task


def test_break_even_is_the_pilots_cost_over_what_a_serving_saves() -> None:
    found = briefly(*world(), budget=2)
    assert found.matched.coverage.value == pytest.approx(found.by_task.coverage.value)
    saving = found.matched.cost.value - found.by_task.cost.value
    assert found.saving.value == pytest.approx(saving)
    assert found.break_even.value == pytest.approx(16 / saving)
    assert found.break_even.low == pytest.approx(16 / found.saving.high)
    assert found.break_even.high == pytest.approx(16 / found.saving.low)
    below, within, above = (
        briefly(*world(), budget=2, uses=uses).pays
        for uses in (found.break_even.low / 2, found.break_even.value, found.break_even.high * 2)
    )
    assert (below, within, above) == ("no", "undecided", "yes")


def test_fixed_options_are_judged_on_all_rollouts() -> None:
    base, post = world()
    found = briefly(base, post, budget=3)
    assert (found.base_k.name, found.post_k.name, found.post_1.name) == (
        "base@3",
        "post@3",
        "post@1",
    )
    for served, (c, n), k in ((found.base_k, base, 3), (found.post_k, post, 3)):
        assert served.coverage.value == pytest.approx(float(curve(c, n, [k])[0]))
    assert found.base_k.base_share == 1
    assert found.post_k.base_share == 0


def test_a_pilot_finds_a_clear_best_option_and_not_a_close_one() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(1, 1, 100)
    weak, strong = ((rng.binomial(32, chance), 32) for chance in (p * 0.6, p))
    clear = pilot_protocol(weak, strong, budget=2, draws=20)
    assert clear.agreement == 1
    assert clear.decides
    assert clear.shares == (0, 0, 1)
    close = pilot_protocol(*flat(60, 32), budget=2, draws=20)
    assert close.agreement < 0.9
    assert not close.decides


def test_the_most_is_taken_where_no_way_is_seen() -> None:
    base, post = world()
    found = briefly(base, post, target=1.0)
    assert found.K == 24
    assert found.best is None
    assert math.isnan(found.gain.value)
    assert found.base_k is None
    assert found.share_none > 0.5
    assert "No option for all tasks is known" in found.words


def test_where_nothing_is_solved_no_pilot_helps() -> None:
    nothing = ([0] * 10, 16)
    found = briefly(nothing, nothing, budget=3)
    assert found.by_task.coverage.value == 0
    assert found.pays == "no" or found.saving.value >= 0
    unreachable = briefly(nothing, nothing, target=0.5)
    assert unreachable.best is None
    assert unreachable.share_none == 1


def test_everything_solved_needs_one_try() -> None:
    always = ([16] * 10, 16)
    found = briefly(always, always, target=0.9)
    assert found.by_task.coverage.value == 1
    assert found.by_task.cost.value == 1
    assert found.saving.value == pytest.approx(0)
    assert found.break_even.value == math.inf
    assert found.pays == "no"
    assert found.words.endswith("The pilot saves nothing.")


def test_the_same_arguments_give_the_same_result_in_any_order_of_tasks() -> None:
    base, post = world()
    first = briefly(base, post, target=0.7)
    assert first == briefly(base, post, target=0.7)
    order = np.random.default_rng(5).permutation(100)
    turned = briefly((base[0][order], 32), (post[0][order], 32), target=0.7)
    assert turned.shares == first.shares
    assert turned.by_task.coverage.value == pytest.approx(first.by_task.coverage.value)
    other = briefly(base, post, target=0.7, seed=1)
    assert other.by_task.coverage.value != first.by_task.coverage.value


def test_tasks_may_have_different_numbers_of_rollouts() -> None:
    rng = np.random.default_rng(2)
    n = rng.integers(12, 30, 50)
    found = briefly((rng.binomial(n, 0.3), n), (rng.binomial(n, 0.5), n), budget=2)
    assert n.min() == found.K + 8
    assert found.best.name == "post@2"


def test_splits_in_blocks_are_splits_all_the_same(monkeypatch) -> None:
    base, post = world(40)
    whole = pilot_protocol(base, post, budget=3, splits=30, draws=1)
    monkeypatch.setattr("agentenvs.harness.tax.routing.pilot_runs._BLOCK", 20_000)
    blocks = pilot_protocol(base, post, budget=3, splits=30, draws=1)
    assert blocks.by_task.coverage.value == pytest.approx(whole.by_task.coverage.value, abs=0.02)
    assert sum(blocks.shares) + blocks.share_none == pytest.approx(1)


def test_clusters_widen_the_intervals() -> None:
    base, post = world(40)
    many = [(np.repeat(c, 4), n) for c, n in (base, post)]
    labels = np.repeat(np.arange(40), 4)
    apart = pilot_protocol(*many, budget=2, splits=50)
    drawn = pilot_protocol(*many, budget=2, splits=50, clusters=labels)
    assert (drawn.clusters, drawn.tasks) == (40, 160)
    assert drawn.by_task.coverage.se > 1.5 * apart.by_task.coverage.se
    assert drawn.base_k.coverage.se > 1.5 * apart.base_k.coverage.se


def test_counts_are_matched_by_task() -> None:
    base, post = world(20)
    ids = [f"t{at}" for at in range(20)]
    one = Counts(ids, base[0], np.full(20, 32))
    two = Counts(ids[::-1], post[0][::-1], np.full(20, 32))
    assert briefly(one, two, budget=2) == briefly(base, post, budget=2)


def test_the_words_hold_the_numbers() -> None:
    found = briefly(*world(), budget=2)
    for part in (
        "8 rollouts of each task and policy cost 16 a task",
        f"solves {found.by_task.coverage.value:.1%}",
        found.matched.name,
        f"more than {found.break_even.value:.3g} times",
    ):
        assert part in found.words
    assert found.covers == ("tasks", "rollouts")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pilot": 32}, "no rollout would be left to judge by"),
        ({"pilot": 33}, "the smallest n is 32"),
        ({"pilot": 0}, "`pilot` of at least 1"),
        ({"pilot": 2.5}, "`pilot` to be an integer"),
        ({"budget": 0.5}, "pay for one try, 1, got 0.5"),
        ({"budget": None}, "got neither"),
        ({"uses": 0}, "`uses` above 0"),
        ({"uses": True}, "`uses` above 0"),
        ({"uses": float("nan")}, "`uses` above 0"),
        ({"splits": 0}, "`splits` of 1"),
        ({"draws": 0}, "`draws` of 1"),
        ({"seed": -1}, "`seed` to be an integer"),
        ({"confidence": 1}, "`confidence`"),
        ({"base": ([1], 1), "post": ([1], 1)}, "2 rollouts or more"),
    ],
)
def test_bad_arguments(change, message) -> None:
    base, post = world(5)
    with pytest.raises(BadArgument, match=message):
        pilot_protocol(**({"base": base, "post": post, "budget": 2} | change))


def test_intervals_hold_the_estimates_and_bounds_of_the_oracle_have_none() -> None:
    found = pilot_protocol(*world(), target=0.7, splits=40, draws=60)
    for one in (found.by_pilot, found.by_task, found.base_k, found.post_1, found.both):
        for part in (one.coverage, one.cost):
            assert part.low <= part.value <= part.high
    for part in (found.gain, found.saving):
        assert part.low <= part.value <= part.high
    assert math.isnan(found.oracle.coverage.low)
    assert math.isnan(found.same_rollouts.cost.high)


def test_a_mixture_of_both_policies_may_be_best_without_a_pilot() -> None:
    found = briefly(*world(), budget=2)
    assert found.both.name == "base@1+post@1"
    assert found.best.name == "base@1+post@1"
    assert found.gain.value == pytest.approx(
        found.by_task.coverage.value - found.both.coverage.value
    )


@pytest.mark.slow
def test_intervals_hold_what_the_protocol_comes_to_on_average() -> None:
    found = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.5, 1.2, 100)
        q = np.where(rng.random(100) < 0.3, 0.0, 1 - (1 - p) ** 4)
        arms = (rng.binomial(32, p), 32), (rng.binomial(32, q), 32)
        found.append(pilot_protocol(*arms, target=0.6, splits=40, draws=200))
    for name in ("gain", "saving"):
        parts = [getattr(one, name) for one in found]
        truth = np.mean([part.value for part in parts])
        assert np.mean([part.low <= truth <= part.high for part in parts]) > 0.9
    costs = [one.by_task.cost for one in found]
    truth = np.mean([cost.value for cost in costs])
    assert np.mean([cost.low <= truth <= cost.high for cost in costs]) > 0.88
