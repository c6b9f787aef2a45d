from __future__ import annotations

import itertools

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import pass_at_k, route, route_by_bin


def world(size: int = 80, n: int = 32, seed: int = 2):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 1.2, size)
    q = np.where(p < 0.3, p / 4, 1 - (1 - p) ** 4)
    return (rng.binomial(n, p), n), (rng.binomial(n, q), n)


def halved(base, post, k, edges):
    """Coverage at k in each bin, over all ways of halving base's rollouts one by one."""
    spans = list(itertools.pairwise(edges))
    weight, ours, theirs = np.zeros((3, len(spans)))
    for c, n, d, m in zip(*base, *post, strict=True):
        flags = [True] * c + [False] * (n - c)
        ways = list(itertools.combinations(range(n), n // 2))
        for way in ways:
            rate = sum(flags[at] for at in way) / (n // 2)
            at = next(i for i, (low, high) in enumerate(spans) if low <= rate < high or high == 1)
            left = c - sum(flags[one] for one in way)
            weight[at] += 1 / len(ways)
            ours[at] += float(pass_at_k(left, n - n // 2, k)) / len(ways)
            theirs[at] += float(pass_at_k(d, m, k)) / len(ways)
    return weight, ours / weight, theirs / weight


def test_bins_and_coverage_are_those_of_all_ways_of_halving() -> None:
    base, post = ([0, 1, 2, 5, 6, 3], [6, 6, 6, 6, 6, 7]), ([0, 4, 4, 1, 5, 2], [5, 5, 5, 6, 6, 4])
    edges = (0, 0.4, 0.7, 1)
    for k in (1, 2, 3):
        found = route_by_bin(base, post, budget=k, edges=edges, draws=20)
        weight, ours, theirs = halved(base, post, k, edges)
        assert found.K == 3
        assert [one.tasks for one in found.bins] == pytest.approx(weight)
        for at, one in enumerate(found.bins):
            arms = one.routing.base.option, one.routing.post.option
            # The least k with the most coverage may be below the budget's.
            assert [arm.coverage.value for arm in arms] == pytest.approx([ours[at], theirs[at]])


def test_all_tasks_lie_in_the_bins_whatever_their_n() -> None:
    base = ([0, 3, 5, 9], [8, 11, 5, 30])
    found = route_by_bin(base, ([1, 1, 1, 1], 6), target=0.5, draws=20)
    assert sum(one.tasks for one in found.bins) == pytest.approx(4)
    assert found.K == 3


def test_one_bin_of_the_other_policy_is_its_plain_coverage() -> None:
    base, post = world()
    found = route_by_bin(base, post, target=0.5, edges=(0, 1), draws=50)
    whole = route(base, post, target=0.5, draws=50)
    (only,) = found.bins
    assert only.tasks == pytest.approx(80)
    assert only.routing.post.option.k == whole.post.option.k
    # The mean over halves of an unbiased estimate is the estimate from all rollouts.
    assert only.routing.base.option.coverage.value == pytest.approx(
        whole.base.option.coverage.value
    )
    ends = only.routing.base.option.coverage
    assert ends.low == pytest.approx(whole.base.option.coverage.low, abs=0.01)


def test_easy_tasks_and_hard_ones_may_want_different_policies() -> None:
    found = route_by_bin(*world(200), budget=4)
    assert found.verdict == "differs"
    assert found.bins[0].routing.best.arm == "base"
    assert found.bins[-1].routing.best.arm == "post"


def test_one_policy_may_be_best_for_all() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(1, 1, 150)
    base, post = ((rng.binomial(32, chance), 32) for chance in (p, np.sqrt(p)))
    found = route_by_bin(base, post, budget=2)
    assert found.verdict == "same"
    assert all(one.routing.best.arm == "post" for one in found.bins)


def test_luck_is_not_taken_for_difficulty() -> None:
    """Both policies are the same: bins by the judging rollouts would favour post where base
    was unlucky, and base where it was lucky."""
    rng = np.random.default_rng(4)
    p = rng.beta(2, 2, 1500)
    base, post = ((rng.binomial(8, p), 8) for _ in range(2))
    found = route_by_bin(base, post, budget=1, edges=(0, 0.3, 0.7, 1), draws=200)
    assert found.verdict != "differs"
    for one in found.bins:
        gap = one.routing.base.option.coverage.value - one.routing.post.option.coverage.value
        assert abs(gap) < 0.04
    low = base[0] <= 2
    assert np.mean(post[0][low] - base[0][low]) / 8 > 0.1


def test_an_empty_bin_has_no_answer() -> None:
    found = route_by_bin(([8, 8, 8], 8), ([1, 2, 3], 8), target=0.5, draws=50)
    assert found.bins[0].tasks == 0
    assert found.bins[0].routing.best is None
    assert found.bins[0].routing.share_none == 1
    assert not route_by_bin(([8] * 3, 8), ([1] * 3, 8), budget=99).bins[0].routing.base.capped
    assert found.bins[-1].routing.best.arm == "base"


def test_few_tasks_leave_wide_bounds() -> None:
    """Two of forty tasks are hard and never solved: that says little of hard tasks."""
    base, post = ([0, 0] + [16] * 38, 16), ([0, 0] + [16] * 38, 16)
    hard = route_by_bin(base, post, target=0.5, draws=50).bins[0].routing
    assert hard.tasks == 2
    assert hard.base.furthest.coverage.value == 0
    assert hard.base.furthest.coverage.high > 0.4


def test_post_may_place_the_tasks() -> None:
    base, post = world(200)
    found = route_by_bin(base, post, budget=4, by="post")
    turned = route_by_bin(post, base, budget=4)
    assert [one.tasks for one in found.bins] == pytest.approx([one.tasks for one in turned.bins])
    for one, other in zip(found.bins, turned.bins, strict=True):
        ours, theirs = one.routing.post.option.coverage, other.routing.base.option.coverage
        assert tuple(ours) == pytest.approx(tuple(theirs), nan_ok=True)


def test_the_order_of_tasks_is_of_no_consequence() -> None:
    base, post = world()
    order = np.random.default_rng(0).permutation(80)
    first = route_by_bin(base, post, target=0.6)
    second = route_by_bin((base[0][order], 32), (post[0][order], 32), target=0.6)
    for one, other in zip(first.bins, second.bins, strict=True):
        assert one.routing.shares == other.routing.shares


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": (0, 0.5)}, "rise from 0 to 1"),
        ({"edges": (0, 0.5, 0.5, 1)}, "rise from 0 to 1"),
        ({"edges": "easy"}, "rise from 0 to 1"),
        ({"by": "both"}, '"base" or "post"'),
        ({"base": ([0, 1], 1), "post": ([0, 1], 1)}, "2 rollouts or more"),
        ({"target": 2}, "`target`"),
    ],
)
def test_bad_arguments(change, message) -> None:
    with pytest.raises(BadArgument, match=message):
        route_by_bin(**({"base": ([1, 2], 8), "post": ([1, 2], 8), "target": 0.5} | change))
