from __future__ import annotations

import itertools

import numpy as np
import pytest

from agentenvs.harness.tax.routing.demand import check_demand
from agentenvs.harness.tax.routing.pilot_rule import allocate, guess


def table(p, q, weight, pilot):
    """The expected shares of pilot results of tasks with known rates."""
    from math import comb

    def chance(rate, hits):
        return comb(pilot, hits) * rate**hits * (1 - rate) ** (pilot - hits)

    results = np.array(list(itertools.product(range(pilot + 1), repeat=2)))
    shares = [
        sum(w * chance(a, i) * chance(b, j) for a, b, w in zip(p, q, weight, strict=True))
        for i, j in results.tolist()
    ]
    return results, np.array([shares])


def test_tries_as_many_as_the_pilot_had_are_told_by_it() -> None:
    p, q, weight = (0.0, 0.3, 0.6), (0.95, 0.05, 0.6), (0.3, 0.3, 0.4)
    results, shares = table(p, q, weight, 8)
    found = guess(results, shares, 8, np.array([1, 4, 8]), 8, "never")
    k = np.arange(9)
    for missed, rates in zip(found.overall, (p, q), strict=True):
        truth = sum(w * (1 - rate) ** k for rate, w in zip(rates, weight, strict=True))
        assert missed[0] == pytest.approx(truth, abs=0.01)


def test_a_result_is_read_with_what_other_tasks_show() -> None:
    """Where tasks either always or never succeed, one success says all."""
    results, shares = table((0.0, 1.0), (0.5, 0.5), (0.5, 0.5), 4)
    found = guess(results, shares, 4, np.array([1]), 4, "never")
    solved = 1 - found.given[0][0][0, :, 0]
    assert solved[results[:, 0] == 4].min() > 0.95
    assert solved[results[:, 0] == 0].max() < 0.05


def test_the_other_policys_result_tells_too() -> None:
    """Both have the same rate: where post did well, base is expected to do better."""
    results, shares = table((0.1, 0.9), (0.1, 0.9), (0.5, 0.5), 4)
    found = guess(results, shares, 4, np.array([1]), 4, "never")
    solved = 1 - found.given[0][0][0, :, 0]
    by = {tuple(pair): value for pair, value in zip(results.tolist(), solved, strict=True)}
    assert by[2, 4] > by[2, 0] + 0.3


def test_what_is_paid_follows_the_verdicts() -> None:
    results, shares = table((0.5,), (1.0,), (1.0,), 4)
    never, stops = (
        guess(results, shares, 4, np.array([1, 3]), 4, stop) for stop in ("never", "success")
    )
    assert never.given[0][1][0, 0] == pytest.approx([1, 3])
    at = results.tolist().index([2, 4])
    assert stops.given[1][1][0, at] == pytest.approx([1, 1], abs=0.01)
    assert stops.given[0][1][0, at] == pytest.approx([1, 1.75], abs=0.15)


def options(seed: int = 0):
    rng = np.random.default_rng(seed)
    rate = rng.random((1, 7, 2))
    tries = np.arange(1, 5)
    coverage = np.concatenate([1 - (1 - rate[..., [arm]]) ** tries for arm in (0, 1)], axis=2)
    cost = np.broadcast_to(np.concatenate((tries, 1.5 * tries)), coverage.shape)
    return coverage, cost, np.full((1, 7), 1 / 7)


def totals(coverage, cost, shares, chosen):
    take = (np.arange(7), chosen[0])
    return float(coverage[0][take] @ shares[0]), float(cost[0][take] @ shares[0])


@pytest.mark.parametrize("target", [0.5, 0.7, 0.85])
def test_a_target_is_met_and_no_cheaper_allocation_meets_it(target) -> None:
    coverage, cost, shares = options()
    chosen = allocate(coverage, cost, shares, check_demand((1, 1.5), target, None, "never"))
    reached, paid = totals(coverage, cost, shares, chosen)
    assert reached >= target
    for _ in range(3000):
        other = np.random.default_rng(_).integers(8, size=(1, 7))
        got, price = totals(coverage, cost, shares, other)
        assert got < reached or price >= paid - 1e-9


@pytest.mark.parametrize("budget", [1.2, 2.5, 4])
def test_a_budget_is_kept_and_no_other_allocation_of_the_cost_solves_more(budget) -> None:
    coverage, cost, shares = options(1)
    chosen = allocate(coverage, cost, shares, check_demand((1, 1.5), None, budget, "never"))
    reached, paid = totals(coverage, cost, shares, chosen)
    assert paid <= budget
    for _ in range(3000):
        other = np.random.default_rng(_).integers(8, size=(1, 7))
        got, price = totals(coverage, cost, shares, other)
        assert price > paid or got <= reached + 1e-9


def test_what_cannot_be_met_takes_the_most_coverage_or_the_least_cost() -> None:
    coverage, cost, shares = options()
    most = allocate(coverage, cost, shares, check_demand((1, 1.5), 1, None, "never"))
    assert totals(coverage, cost, shares, most)[0] == pytest.approx(coverage[0].max(1).mean())
    least = allocate(coverage, cost, shares, check_demand((1, 1.5), None, 0.5, "never"))
    assert totals(coverage, cost, shares, least)[1] == pytest.approx(1)


def test_large_pilots_do_not_drown_in_their_likelihoods() -> None:
    """With 6,000 rollouts every rate but a few has a likelihood that no float can hold."""
    results = np.array([[3000, 6000], [10, 0], [5990, 3000]])
    found = guess(results, np.full((1, 3), 1 / 3), 6000, np.array([1, 4]), 4, "never")
    solved = 1 - found.given[0][0][0, :, 0]
    assert solved == pytest.approx([0.5, 0, 1], abs=0.05)
    assert found.overall[1][0, 1] == pytest.approx(0.5, abs=0.05)
