from __future__ import annotations

import math

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import (
    KINDS,
    Counts,
    expected_tries,
    pass_at_k,
    pass_at_k_interval,
    route,
)

# Post solves half of the tasks at once and the others never; base needs some tries.
BASE, POST = ([3] * 20 + [2] * 20, 8), ([8] * 20 + [0] * 20, 8)


def world(size: int = 60, n: int = 16, seed: int = 1):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 1.2, size)
    q = np.where(rng.random(size) < 0.4, 0.0, 1 - (1 - p) ** 4)
    return (rng.binomial(n, p), n), (rng.binomial(n, q), n)


def naive(base, post, price, target, budget, stop):
    """The best k of each arm from pass@k and expected tries, one k at a time."""
    found = []
    for arm, (c, n) in enumerate((base, post)):
        rows = []
        for k in range(1, int(np.min(n)) + 1):
            tries = k if stop == "never" else np.mean(expected_tries(c, n, k))
            rows.append((k, float(np.mean(pass_at_k(c, n, k))), price[arm] * float(tries)))
        if target is not None:
            fit = [row for row in rows if row[1] >= target - 1e-12]
            found.append(fit[0] if fit else None)
        else:
            fit = [row for row in rows if row[2] <= budget + 1e-9]
            top = max((row[1] for row in fit), default=0)
            found.append(next((row for row in fit if row[1] >= top - 1e-12), None))
    return found


@pytest.mark.parametrize("stop", ["never", "success"])
@pytest.mark.parametrize(
    "asked",
    [{"target": 0.3}, {"target": 0.5}, {"target": 0.66}, {"budget": 1.0}, {"budget": 5.5}],
)
@pytest.mark.parametrize("price", [(1, 1), (1, 2.5), (3, 1)])
def test_the_best_option_is_that_of_a_search_over_all_k(stop, asked, price) -> None:
    base, post = world()
    found = route(base, post, price, stop=stop, draws=50, **asked)
    first, second = naive(base, post, price, asked.get("target"), asked.get("budget"), stop)
    for choice, want in ((found.base, first), (found.post, second)):
        if want is None:
            assert choice.option is None
            continue
        k, coverage, cost = want
        assert choice.option.k == k
        assert choice.option.coverage.value == pytest.approx(coverage)
        assert choice.option.cost.value == pytest.approx(cost)
    options = [one for one in (first, second) if one is not None]
    if not options:
        assert found.best is None
    elif "target" in asked:
        assert found.best.cost.value == pytest.approx(min(one[2] for one in options))
    else:
        assert found.best.coverage.value == pytest.approx(max(one[1] for one in options))


def test_each_target_has_its_own_answer() -> None:
    half, most, all_of_them = (route(BASE, POST, target=t) for t in (0.5, 0.8, 1.0))
    assert (str(half.best), half.best.kind) == ("post@1", "post@1")
    assert (str(most.best), most.runner_up) == ("base@4", None)
    assert most.saving.value == math.inf
    assert "post@8 solves 50.0%" in most.words
    assert str(all_of_them.best) == "base@7"
    assert all_of_them.best.high_variance
    assert not half.best.high_variance


def test_a_target_beyond_all_rollouts_is_not_reached() -> None:
    base, post = ([1, 0, 0], 8), ([8, 0, 0], 8)
    found = route(base, post, target=0.9, draws=100)
    assert found.best is None
    assert found.runner_up is None
    assert (found.base.option, found.post.option) == (None, None)
    assert (found.base.furthest.k, found.post.furthest.k) == (8, 8)
    assert found.post.furthest.coverage.value == pytest.approx(1 / 3)
    assert found.base.k_low is None or found.base.k_low <= 8
    assert found.base.k_high is None
    assert math.isnan(found.saving.value)
    assert not found.decided
    assert "No option is known to solve 90 %" in found.words


def test_a_budget_below_every_price_buys_nothing() -> None:
    found = route(BASE, POST, price=(2, 3), budget=1)
    assert found.best is None
    assert found.share_none == 1
    assert (found.base.k_low, found.base.k_high) == (None, None)
    assert found.words == "1 a task pays for no try of either policy."
    dear = route(BASE, POST, price=(2, 3), budget=2.5)
    assert str(dear.best) == "base@1"
    assert dear.runner_up is None
    assert dear.saving.value == pytest.approx(dear.best.coverage.value)


def test_a_budget_for_more_tries_than_rollouts_is_marked() -> None:
    assert route(BASE, POST, budget=9).base.capped
    assert not route(BASE, POST, budget=8).base.capped
    assert not route(BASE, POST, target=0.5).base.capped
    # Two or three of eight succeed: seldom are more than three tries paid.
    assert route(BASE, POST, budget=3, stop="success").base.capped
    assert not route(([0], 8), ([0], 8), budget=8, stop="success").base.capped
    assert route(([0], 8), ([0], 8), budget=9, stop="success").base.capped


def test_stopping_at_success_makes_tries_cheaper_and_more_of_them_affordable() -> None:
    never, stops = (route(BASE, POST, budget=3, stop=stop) for stop in ("never", "success"))
    assert never.base.option.k == 3
    assert stops.base.option.k > 3
    assert stops.base.option.cost.value <= 3
    assert never.base.option.cost == (3, 0, 3, 3)
    assert stops.base.option.cost.low < stops.base.option.cost.value


def test_coverage_has_the_interval_of_pass_at_k() -> None:
    base, post = world()
    found = route(base, post, target=0.5)
    for choice, (c, n) in ((found.base, base), (found.post, post)):
        want = pass_at_k_interval(c, n, choice.option.k)
        assert tuple(choice.option.coverage) == pytest.approx(tuple(want), nan_ok=True)


def test_post_once_and_the_ends_are_always_told() -> None:
    found = route(*world(), target=0.5)
    assert (found.post_1.arm, found.post_1.k) == ("post", 1)
    assert found.post_1.coverage.value == pytest.approx(np.mean(world()[1][0]) / 16)


def test_shares_are_those_of_tasks_drawn_again_one_replicate_at_a_time() -> None:
    base, post = world(size=12, n=6)
    found = route(base, post, target=0.5, draws=300, seed=5)
    order = np.lexsort((base[0], np.full(12, 6), post[0], np.full(12, 6)))
    rng = np.random.default_rng(5)
    kinds, ks = [], []
    for drawn in rng.integers(12, size=(300, 12)):
        pair = [(np.array(c)[order][drawn], n) for c, n in (base, post)]
        one, two = naive(*pair, (1, 1), 0.5, None, "never")
        ks.append(7 if one is None else one[0])
        if one is None and two is None:
            kinds.append(None)
        elif two is None or (one is not None and (one[2], -one[1]) <= (two[2], -two[1] + 1e-12)):
            kinds.append("base@k")
        else:
            kinds.append("post@1" if two[0] == 1 else "post@k")
    assert found.shares == tuple(kinds.count(kind) / 300 for kind in KINDS)
    assert found.share_none == kinds.count(None) / 300
    assert found.base.share_reached == sum(k < 7 for k in ks) / 300
    ks.sort()
    low = min(ks[int(0.025 * 299)], found.base.option.k)
    assert found.base.k_low == low
    high = max(ks[math.ceil(299 * 0.975)], found.base.option.k)
    assert found.base.k_high == (None if high > 6 else high)


def test_all_shares_sum_to_1_and_repeat() -> None:
    for asked in ({"target": 0.6}, {"budget": 4}):
        found = route(*world(), **asked)
        assert sum(found.shares) + found.share_none == pytest.approx(1)
        assert sum(found.arm_shares) == pytest.approx(sum(found.shares))
        assert found == route(*world(), **asked)


def test_the_order_of_tasks_is_of_no_consequence() -> None:
    base, post = world()
    order = np.random.default_rng(0).permutation(60)
    turned = (base[0][order], 16), (post[0][order], 16)
    first, second = route(base, post, target=0.6), route(*turned, target=0.6)
    assert first.shares == second.shares
    assert tuple(first.saving) == pytest.approx(tuple(second.saving), nan_ok=True)


def test_counts_are_matched_by_task() -> None:
    base, post = world(size=10)
    ids = [f"t{at}" for at in range(10)]
    one = Counts(ids, base[0], np.full(10, 16))
    two = Counts(ids[::-1], post[0][::-1], np.full(10, 16))
    assert route(one, two, target=0.4) == route(base, post, target=0.4)


def test_each_arm_goes_as_far_as_its_own_rollouts() -> None:
    found = route(([1, 2], [9, 6]), ([1, 2], [3, 4]), target=0.99)
    assert (found.base.furthest.k, found.post.furthest.k) == (6, 3)


def test_equal_arms_tie_and_base_is_named() -> None:
    base, _ = world()
    found = route(base, base, target=0.5)
    assert found.share_tied == pytest.approx(1 - found.share_none)
    assert found.best.arm == "base"
    assert found.saving.value == 0


@pytest.mark.parametrize(("base", "post"), [(([4], 8), ([8], 8)), (([4, 4, 4], 8), ([8, 8, 8], 8))])
def test_where_nothing_can_be_drawn_nothing_is_decided(base, post) -> None:
    found = route(base, post, target=0.7)
    assert str(found.best) == "post@1"
    assert found.shares == (0, 1, 0)
    assert not found.decided
    assert "the data do not decide" in found.words


def test_clear_cases_are_decided() -> None:
    base, post = ([0, 1, 0, 1] * 20, 8), ([7, 8, 5, 6] * 20, 8)
    found = route(base, post, target=0.7)
    assert found.best.kind == "post@1"
    assert found.decided
    assert "the data do not decide" not in found.words


def test_clusters_of_equal_tasks_are_as_unsure_as_one_task_of_each() -> None:
    base, post = world(size=20)
    many = [(np.repeat(c, 4), n) for c, n in (base, post)]
    labels = np.repeat(np.arange(20), 4)
    alone = route(base, post, budget=3, stop="success", draws=4000)
    apart = route(*many, budget=3, stop="success", draws=4000)
    drawn = route(*many, budget=3, stop="success", draws=4000, clusters=labels)
    assert (drawn.clusters, drawn.tasks) == (20, 80)
    assert drawn.saving.se == pytest.approx(alone.saving.se, rel=0.1)
    assert apart.saving.se < 0.6 * drawn.saving.se
    one, two = drawn.base.option, alone.base.option
    assert tuple(one.cost) == pytest.approx(tuple(two.cost))
    assert tuple(one.coverage) == pytest.approx(tuple(two.coverage))


def test_what_it_covers_is_said() -> None:
    found = route(*world(), target=0.5)
    assert (found.method, found.covers) == ("bootstrap", ("tasks", "rollouts"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": None}, "got neither"),
        ({"confidence": 95}, "`confidence` between 0 and 1"),
        ({"draws": 0}, "`draws` of 1"),
        ({"seed": -1}, "`seed` to be an integer"),
        ({"clusters": [1, 2]}, "`clusters` for each of 60"),
        ({"base": ([1], 2)}, "over the same tasks"),
        ({"base": ([], 2)}, "one or more tasks"),
    ],
)
def test_bad_arguments(change, message) -> None:
    base, post = world()
    with pytest.raises(BadArgument, match=message):
        route(**({"base": base, "post": post, "target": 0.5} | change))


@pytest.mark.slow
def test_what_is_called_decided_is_seldom_wrong() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 1.2, 200_000)
    q = np.where(rng.random(len(p)) < 0.4, 0.0, 1 - (1 - p) ** 4)
    truth = [np.mean(1 - (1 - one) ** 3) for one in (p, q)]
    best = "base" if truth[0] > truth[1] else "post"
    wrong = decided = 0
    for seed in range(400):
        at = np.random.default_rng(seed).integers(len(p), size=100)
        draw = np.random.default_rng(seed + 10_000)
        found = route((draw.binomial(16, p[at]), 16), (draw.binomial(16, q[at]), 16), budget=3)
        decided += found.decided
        wrong += found.decided and found.best.arm != best
    assert wrong / 400 < 0.07
