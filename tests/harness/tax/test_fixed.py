from __future__ import annotations

import itertools

import numpy as np
import pytest

from agentenvs.harness.tax import expected_tries, pass_at_k
from agentenvs.harness.tax._checks import paired
from agentenvs.harness.tax.demand import check_demand
from agentenvs.harness.tax.fixed import Fixed, better

C, D, N = np.array([0, 1, 3, 6, 2]), np.array([6, 0, 0, 5, 6]), 6
PRICE = (1.0, 1.7)


def search(target, budget, stop):
    """The best mixture by trying all of them, in both orders."""
    found = []
    for first, j, k in itertools.product((0, 1), range(1, N + 1), range(1, N + 1)):
        one, two = ((C, D), (D, C))[first]
        fail = 1 - pass_at_k(one, N, j)
        coverage = np.mean(1 - fail * (1 - pass_at_k(two, N, k)))
        if stop == "never":
            cost = PRICE[first] * j + PRICE[1 - first] * k
        else:
            cost = np.mean(
                PRICE[first] * expected_tries(one, N, j)
                + PRICE[1 - first] * fail * expected_tries(two, N, k)
            )
        if (target is not None and coverage >= target - 1e-12) or (
            budget is not None and cost <= budget + 1e-12
        ):
            found.append((cost, -coverage) if target is not None else (-coverage, cost))
    return min(found, default=None)


@pytest.mark.parametrize("stop", ["never", "success"])
@pytest.mark.parametrize("asked", [(0.5, None), (0.9, None), (1, None), (None, 2.7), (None, 5)])
def test_the_best_mixture_is_that_of_a_search(stop, asked) -> None:
    demand = check_demand(PRICE, *asked, stop)
    found = Fixed.of(paired((C, N), (D, N)), N).both(demand)
    want = search(*asked, stop)
    if want is None:
        assert found is None
        return
    coverage, cost = np.mean(found.serving.coverage), np.mean(found.serving.cost)
    key = (cost, -coverage) if asked[0] is not None else (-coverage, cost)
    assert key == pytest.approx(want)


def test_a_mixture_needs_a_try_of_each() -> None:
    fixed = Fixed.of(paired((C, N), (D, N)), N)
    assert fixed.both(check_demand(PRICE, None, 2.6, "never")) is None
    least = fixed.both(check_demand(PRICE, None, 2.7, "never"))
    assert least.name == "base@1+post@1"
    assert least.serving.base.tolist() == [0.5] * 5


def test_who_is_asked_first_matters_where_success_stops() -> None:
    fixed = Fixed.of(paired(([1, 1], 4), ([4, 4], 4)), 4)
    found = fixed.both(check_demand((1, 1), 1, None, "success"))
    assert found.name == "post@1+base@1"
    assert np.mean(found.serving.cost) == 1


def test_the_better_way_is_cheaper_for_a_target_and_solves_more_for_a_budget() -> None:
    fixed = Fixed.of(paired((C, N), (D, N)), N)
    for asked, name in (((0.55, None), "post@1"), ((None, 3), "base@3")):
        demand = check_demand((1, 1.7), *asked, "never")
        ways = [fixed.arm(0, demand), None, fixed.arm(1, demand)]
        assert better(ways, demand).name == name
        assert better(reversed(ways), demand).name == name
    assert better([None, None], demand) is None


def test_the_cheapest_way_to_a_coverage_may_be_a_mixture() -> None:
    fixed = Fixed.of(paired(([0, 0, 8, 8], 8), ([8, 8, 0, 0], 8)), 8)
    demand = check_demand((1, 1), None, 1, "never")
    assert fixed.cheapest(1.0, demand).name == "base@1+post@1"
    assert fixed.cheapest(0.5, demand).name == "base@1"
    assert Fixed.of(paired(([0], 8), ([0], 8)), 8).cheapest(0.1, demand) is None
