from __future__ import annotations

import math

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import (
    Counts,
    TaxInterval,
    bootstrap_cells,
    bootstrap_tax,
    scalability,
    sharpening_tax,
    sharpening_tax_interval,
)
from agentenvs.harness.tax.bootstrap import _poisson_table

MEASURES = ("A_base", "A_post", "S_base", "S_post", "tax_A", "tax_S")
EVERY = ("pass_base", "pass_post", "pass_gap", *MEASURES)

Pair = tuple[tuple[np.ndarray, int], tuple[np.ndarray, int]]


def pair(seed: int, size: int, n: int = 16) -> Pair:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 1.2, size)
    q = np.where(rng.random(size) < 0.4, p**2, 1 - (1 - p) ** 3)
    return (rng.binomial(n, p), n), (rng.binomial(n, q), n)


def close(one: TaxInterval, other: TaxInterval) -> None:
    for name in EVERY:
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-4, abs=1e-6), name


def test_weights_have_the_moments_of_poisson() -> None:
    weights = _poisson_table().astype(float)
    assert weights.mean() == pytest.approx(1, abs=1e-4)
    assert weights.var() == pytest.approx(1, abs=4e-4)
    for k in range(6):
        share = math.exp(-1) / math.factorial(k)
        assert np.mean(weights == k) == pytest.approx(share, abs=2e-5)


@pytest.mark.parametrize("k", [2, 8, 16])
def test_errors_and_ends_agree_with_the_delta_method(k: int) -> None:
    base, post = pair(0, 400)
    found = bootstrap_tax(base, post, [k]).intervals[0]
    delta = sharpening_tax_interval(base, post, k)
    for name in EVERY:
        one, other = getattr(found, name), getattr(delta, name)
        assert one.value == other.value
        assert one.se == pytest.approx(other.se, rel=0.05)
        assert one.low == pytest.approx(other.low, abs=0.3 * one.se)
        assert one.high == pytest.approx(other.high, abs=0.3 * one.se)
    assert (found.method, found.covers) == ("bootstrap", ("tasks", "rollouts"))
    assert (found.K, found.confidence, found.tasks, found.clusters) == (k, 0.95, 400, 400)


def test_replicates_scatter_as_tasks_drawn_one_by_one_do() -> None:
    (c, n), (d, _) = pair(1, 60)
    rng = np.random.default_rng(0)
    values = []
    for _ in range(2000):
        at = rng.integers(0, 60, 60)
        values.append(sharpening_tax((c[at], n), (d[at], n), 8)[1:])
    plain = np.array(values)
    found = bootstrap_tax((c, n), (d, n), [8]).intervals[0]
    for name, column in zip(MEASURES, plain.T, strict=True):
        mine = getattr(found, name)
        # Of tasks drawn one by one the variance is 1 - 1/T of what it should be, here it is not.
        assert mine.se == pytest.approx(column.std() * math.sqrt(60 / 59), rel=0.07)
        assert np.quantile(column, 0.025) == pytest.approx(mine.low, abs=0.25 * mine.se)


def test_the_same_seed_gives_the_same_in_any_order_of_tasks() -> None:
    (c, n), (d, _) = pair(2, 50)
    first = bootstrap_tax((c, n), (d, n), [4, 8], draws=500)
    assert bootstrap_tax((c, n), (d, n), [4, 8], draws=500) == first
    order = np.random.default_rng(0).permutation(50)
    turned = bootstrap_tax((c[order], n), (d[order], n), [4, 8], draws=500)
    for one, other in zip(first.intervals, turned.intervals, strict=True):
        close(one, other)
    again = bootstrap_tax((c, n), (d, n), [4, 8], draws=500, seed=1)
    assert again.intervals[0].tax_S.low != first.intervals[0].tax_S.low


def test_counts_are_matched_by_task() -> None:
    (c, n), (d, _) = pair(3, 20)
    ids = [f"task {at}" for at in range(20)]
    full = np.full(20, n)
    base, post = Counts(ids, c, full), Counts(ids[::-1], d[::-1], full)
    assert bootstrap_tax(base, post, [8]) == bootstrap_tax((c, n), (d, n), [8])


def test_cells_have_the_intervals_that_they_have_alone() -> None:
    pairs = [pair(seed, size) for seed, size in ((0, 40), (1, 25), (2, 40), (3, 1))]
    clusters = [None, None, np.arange(40) // 4, None]
    cells = bootstrap_cells(pairs, 8, draws=1000, seed=5, clusters=clusters)
    for (base, post), labels, cell in zip(pairs, clusters, cells, strict=True):
        alone = bootstrap_tax(base, post, [8], draws=1000, seed=5, clusters=labels)
        for name in EVERY:
            mine, other = getattr(cell, name), getattr(alone.intervals[0], name)
            assert mine == pytest.approx(other, rel=1e-4, abs=1e-6, nan_ok=True)
    assert [cell.clusters for cell in cells] == [40, 25, 10, 1]
    assert bootstrap_cells([], 8) == ()


def test_clusters_are_drawn_whole() -> None:
    (c, n), (d, _) = pair(4, 30)
    alone = bootstrap_tax((c, n), (d, n), [8], draws=1000).intervals[0]
    many, labels = (np.repeat(c, 5), n), np.repeat(np.arange(30), 5)
    together = bootstrap_tax(many, (np.repeat(d, 5), n), [8], draws=1000, clusters=labels)
    close(together.intervals[0]._replace(tasks=30), alone)
    assert together.intervals[0].tasks == 150


def test_without_spread_there_is_nothing_to_draw_again() -> None:
    base, post = ([1, 0, 2, 3] * 6, 8), ([0] * 24, 8)
    found, delta = (
        bootstrap_tax(base, post, [4]).intervals[0],
        sharpening_tax_interval(*(base, post), 4),
    )
    for name in ("pass_post", "pass_gap", "A_post", "S_post", "tax_A", "tax_S"):
        assert getattr(found, name) == pytest.approx(getattr(delta, name), nan_ok=True)
    assert found.S_base.se != delta.S_base.se
    one = bootstrap_tax(([3], 8), ([5], 8), [4]).intervals[0]
    assert math.isnan(one.tax_S.se)
    assert one.pass_base == sharpening_tax_interval(([3], 8), ([5], 8), 4).pass_base


def test_replicates_without_failure_are_counted_and_left_out() -> None:
    base, post = ([8] * 8 + [3, 6], 8), ([1, 4] * 5, 8)
    found = bootstrap_tax(base, post, [2, 4])
    assert found.undefined == pytest.approx(math.exp(-2), abs=0.015)
    for interval, k in zip(found.intervals, (2, 4), strict=True):
        # All that is left are these two, in whatever mixture, often one of them alone.
        ends = sorted(scalability([hits], 8, k) for hits in (3, 6))
        assert interval.S_base[2:] == pytest.approx(ends)
    solved = bootstrap_tax(([8, 8], 8), post=([1, 4], 8), Ks=[2])
    assert all(map(math.isnan, solved.intervals[0].tax_S))


def test_first_tries_alone_have_no_scalability() -> None:
    found = bootstrap_tax(*pair(5, 30), [1]).intervals[0]
    assert all(map(math.isnan, found.tax_S))
    assert found.pass_gap.low < found.pass_gap.value < found.pass_gap.high


def test_fewer_tasks_reach_further_out() -> None:
    few, many = (bootstrap_tax(*pair(6, size), [8]).intervals[0].tax_A for size in (8, 400))
    assert (few.high - few.low) / few.se > 1.08 * (many.high - many.low) / many.se


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"Ks": []}, "at least one budget"),
        ({"Ks": [17]}, "at most n, got K = 17"),
        ({"draws": 10}, "`draws` of 100 to 1000000, got 10"),
        ({"draws": 1e4}, "`draws` of 100"),
        ({"seed": -1}, "`seed` to be an integer of 0 or more"),
        ({"seed": None}, "`seed` to be an integer"),
        ({"confidence": 95}, "`confidence` between 0 and 1"),
        ({"clusters": [1, 2]}, "each of 20 tasks, got 2"),
        ({"post": ([1, 2], 16)}, "over the same tasks"),
    ],
)
def test_arguments_are_checked(changed: dict, message: str) -> None:
    base, post = pair(7, 20)
    with pytest.raises(BadArgument, match=message):
        bootstrap_tax(**{"base": base, "post": post, "Ks": [8], **changed})


def test_clusters_of_cells_go_by_cell() -> None:
    with pytest.raises(BadArgument, match="`clusters` for each of 2 pairs, got 1"):
        bootstrap_cells([pair(0, 4), pair(1, 4)], 8, clusters=[None])
