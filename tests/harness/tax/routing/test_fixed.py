from __future__ import annotations

import itertools

import numpy as np
import pytest

from agentenvs.harness.tax import expected_tries, pass_at_k
from agentenvs.harness.tax._checks import paired
from agentenvs.harness.tax.routing.demand import check_demand
from agentenvs.harness.tax.routing.fixed import Fixed, Menu, blend, choose, some_tries

C, D, N = np.array([0, 1, 3, 6, 2]), np.array([6, 0, 0, 5, 6]), 6
PRICE = (1.0, 1.7)


def fixed_of(target=None, budget=None, stop="never", price=PRICE, arms=((C, N), (D, N))):
    demand = check_demand(price, target, budget, stop)
    return Fixed.of(paired(*arms), int(arms[0][1]), demand), demand


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
    fixed, demand = fixed_of(*asked, stop)
    at, want = choose(fixed.menu(), demand, fixed.part("both")), search(*asked, stop)
    if want is None:
        assert at == -1
        return
    served = fixed.serving(at)
    coverage, cost = np.mean(served.coverage), np.mean(served.cost)
    key = (cost, -coverage) if asked[0] is not None else (-coverage, cost)
    assert key == pytest.approx(want)


@pytest.mark.parametrize("stop", ["never", "success"])
def test_the_menu_says_what_is_served(stop) -> None:
    fixed, _ = fixed_of(0.5, stop=stop)
    weights = np.array([0.4, 0.3, 0.0, 0.1, 0.2])
    menu, weighed = fixed.menu(), fixed.menu(weights)
    for at in range(len(menu.cost)):
        served = fixed.serving(at)
        assert menu.coverage[at] == pytest.approx(np.mean(served.coverage))
        assert menu.cost[at] == pytest.approx(np.mean(served.cost))
        assert weighed.coverage[at] == pytest.approx(weights @ served.coverage)
        assert weighed.cost[at] == pytest.approx(weights @ served.cost)


def test_options_are_named_by_who_is_asked_first() -> None:
    fixed, _ = fixed_of(0.5)
    names = [fixed.name(at) for at in range(len(fixed.menu().cost))]
    assert len(set(names)) == len(names) == 2 * N + 2 * N**2
    assert names[fixed.part("base")] == [f"base@{k}" for k in range(1, N + 1)]
    assert names[fixed.part("post")] == [f"post@{k}" for k in range(1, N + 1)]
    assert names[fixed.part("both")][0] == "base@1+post@1"
    assert names[-1] == f"post@{N}+base@{N}"
    assert fixed.serving(names.index("post@1+base@3")).base.tolist() == [0.75] * 5
    assert fixed.serving(0).base.tolist() == [1] * 5


def test_a_mixture_needs_a_try_of_each() -> None:
    fixed, demand = fixed_of(budget=2.6)
    assert choose(fixed.menu(), demand, fixed.part("both")) == -1
    fixed, demand = fixed_of(budget=2.7)
    assert fixed.name(choose(fixed.menu(), demand, fixed.part("both"))) == "base@1+post@1"


def test_who_is_asked_first_matters_where_success_stops() -> None:
    fixed, demand = fixed_of(1, None, "success", (1, 1), (([1, 1], 4), ([4, 4], 4)))
    at = choose(fixed.menu(), demand, fixed.part("both"))
    assert fixed.name(at) == "post@1+base@1"
    assert np.mean(fixed.serving(at).cost) == 1


def test_a_target_is_reached_cheaply_and_a_budget_used_well() -> None:
    for asked, name in (((0.55, None), "post@1"), ((None, 3), "base@3")):
        fixed, demand = fixed_of(*asked)
        alone = slice(2 * N)
        assert fixed.name(choose(fixed.menu(), demand, alone)) == name


def test_a_mixture_may_be_the_only_way() -> None:
    arms = (([0, 0, 8, 8], 8), ([8, 8, 0, 0], 8))
    fixed, demand = fixed_of(1, price=(1, 1), arms=arms)
    assert fixed.name(choose(fixed.menu(), demand)) == "base@1+post@1"
    half = demand._replace(target=0.5)
    assert fixed.name(choose(fixed.menu(), half)) == "base@1"


def test_numbers_of_tries_are_dense_at_first_and_hold_what_a_budget_pays() -> None:
    target = check_demand((1, 2), 0.5, None, "never")
    assert some_tries(1, target).tolist() == [1]
    assert some_tries(5, target).tolist() == [1, 2, 3, 4, 5]
    many = some_tries(1000, target)
    assert many[:12].tolist() == list(range(1, 13))
    assert many[-1] == 1000
    assert len(many) < 25
    assert {37, 74} <= set(some_tries(1000, check_demand((1, 2), None, 74.5, "never")).tolist())
    assert some_tries(9, check_demand((1, 2), None, 1e9, "never")).tolist() == list(range(1, 10))


def cheapest(menu, coverage):
    """The least cost of so much coverage, over all pairs of options."""
    found = []
    for a, x in zip(menu.coverage, menu.cost, strict=True):
        for b, y in zip(menu.coverage, menu.cost, strict=True):
            if a >= coverage:
                found.append(x)
            elif b >= coverage:
                found.append(x + (y - x) * (coverage - a) / (b - a))
    return min(found, default=None)


@pytest.mark.parametrize("seed", range(5))
def test_a_blend_is_the_cheapest_of_all_pairs(seed) -> None:
    rng = np.random.default_rng(seed)
    menu = Menu(rng.random(20), rng.random(20) + 0.1)
    for coverage in (0.0, 0.2, 0.5, 0.8, float(menu.coverage.max()), float(menu.coverage[3])):
        found = blend(menu, coverage)
        assert found.cost == pytest.approx(cheapest(menu, coverage))
        got = (1 - found.share) * menu.coverage[found.one] + found.share * menu.coverage[
            found.other
        ]
        assert got >= coverage - 1e-9
    assert blend(menu, float(menu.coverage.max()) + 0.01) is None


def test_a_blend_serves_what_it_says() -> None:
    fixed, _ = fixed_of(0.5)
    menu = fixed.menu()
    found = blend(menu, 0.6)
    name, served = fixed.blended(found)
    assert np.mean(served.coverage) == pytest.approx(0.6)
    assert np.mean(served.cost) == pytest.approx(found.cost)
    assert name == f"{fixed.name(found.one)} or, by lot, {fixed.name(found.other)} (" + (
        f"{found.share:.1%})"
    )
    exact = blend(menu, float(menu.coverage[found.other]))
    assert fixed.blended(exact)[0] == fixed.name(found.other)


def test_options_alike_are_one() -> None:
    menu = Menu(np.zeros(4), np.array([1.0, 2, 1, 3]))
    assert blend(menu, 0.0).cost == 1
    assert blend(menu, 0.1) is None
