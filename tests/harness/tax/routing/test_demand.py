from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import expected_tries
from agentenvs.harness.tax._checks import check_times
from agentenvs.harness.tax.routing.demand import check_demand


def exact_tries(c: int, n: int, k: int) -> Fraction:
    """E[min(H, k)] over all orders of c successes and n - c failures."""
    return sum((Fraction(comb(n - c, j), comb(n, j)) for j in range(k)), Fraction(0))


def test_expected_tries_are_those_of_all_orders() -> None:
    for n in range(1, 13):
        c = np.arange(n + 1)
        for k in range(1, n + 1):
            want = [float(exact_tries(one, n, k)) for one in c.tolist()]
            assert expected_tries(c, n, k) == pytest.approx(want, rel=1e-13)


def test_expected_tries_have_the_closed_form_of_the_hockey_stick() -> None:
    n, k = 128, 40
    for c in (0, 1, 7, 128):
        closed = Fraction(n + 1, c + 1) * (1 - Fraction(comb(n - c, k), comb(n + 1, k)))
        assert exact_tries(c, n, k) == closed
        assert float(expected_tries(c, n, k)) == pytest.approx(float(closed), rel=1e-13)


def test_one_try_is_always_paid_and_hopeless_tasks_pay_all() -> None:
    assert expected_tries([0, 3, 8], 8, 1).tolist() == [1, 1, 1]
    assert expected_tries([0, 8], 8, 5).tolist() == [5, 1]


def test_tries_beyond_the_rollouts_are_refused() -> None:
    with pytest.raises(BadArgument, match="the smallest n is 4"):
        expected_tries([1, 2], [4, 9], 5)


def test_costs_from_mean_failures_are_those_of_the_tasks() -> None:
    c, n = np.array([0, 1, 4, 6]), 6
    missed = np.array([[comb(n - one, j) / comb(n, j) for j in range(n + 1)] for one in c])
    for stop, each in (("never", lambda k: k), ("success", lambda k: expected_tries(c, n, k))):
        demand = check_demand((2, 3), 0.5, None, stop)
        costs = demand.costs(missed.mean(axis=0)[None, :-1], 1)[0]
        want = [3 * np.mean(each(k)) for k in range(1, n + 1)]
        assert costs == pytest.approx(want, rel=1e-12)


def test_a_target_takes_the_least_k_and_a_budget_the_least_with_the_most_coverage() -> None:
    coverage = np.array([[0.2, 0.5, 0.5, 0.8]])
    cost = np.array([[1.0, 2.0, 3.0, 4.0]])

    def pick(**asked: float) -> int:
        demand = check_demand((1, 1), asked.get("target"), asked.get("budget"), "never")
        return int(demand.choose(coverage, cost)[0])

    assert [pick(target=t) for t in (0.1, 0.5, 0.51, 0.8, 0.81)] == [1, 2, 4, 4, 0]
    assert [pick(budget=b) for b in (0.5, 1, 2.9, 3, 100)] == [0, 1, 2, 2, 4]


def test_a_target_that_is_met_up_to_rounding_is_met() -> None:
    demand = check_demand((1, 1), 0.3, None, "never")
    assert demand.choose(np.array([[0.1 + 0.2 - 1e-16, 0.9]]), np.array([[1.0, 2.0]]))[0] == 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "a `target` or a `budget`, got neither"),
        ({"target": 0.5, "budget": 3}, "got both"),
        ({"target": 0}, "`target` above 0"),
        ({"target": 80}, "at most 1, got 80"),
        ({"target": float("nan")}, "`target`"),
        ({"target": True}, "`target`"),
        ({"budget": -1}, "`budget` above 0"),
        ({"budget": float("inf")}, "`budget`"),
        ({"budget": 1, "price": (0, 1)}, "`price`"),
        ({"budget": 1, "price": (1, 2, 3)}, "`price`"),
        ({"budget": 1, "price": 2.0}, "`price`"),
        ({"budget": 1, "price": "12"}, "`price`"),
        ({"budget": 1, "price": (1e200, 1)}, "`price` of 1e-100 to"),
        ({"budget": 1, "price": (10**400, 1)}, "`price` of 1e-100 to"),
        ({"target": 0.5, "price": (1, 1e-320)}, "`price` of 1e-100 to"),
        ({"budget": 1e101}, "`budget` of 1e-100 to"),
        ({"budget": 1, "stop": "sometimes"}, '"never" or "success"'),
        ({"budget": 1, "stop": np.zeros(3)}, '"never" or "success"'),
    ],
)
def test_what_is_asked_must_make_sense(asked, message) -> None:
    arguments = {"price": (1, 1), "target": None, "budget": None, "stop": "never"} | asked
    with pytest.raises(BadArgument, match=message):
        check_demand(**arguments)


def test_numbers_of_numpy_are_numbers() -> None:
    found = check_demand((np.float32(0.5), np.int8(2)), None, np.float32(4), "never")
    assert (found.price, found.budget) == ((0.5, 2.0), 4.0)


@pytest.mark.parametrize("times", [0, 1.0, True, 2_000_000, "3"])
def test_draws_are_a_whole_number(times) -> None:
    with pytest.raises(BadArgument, match="`draws` of 1 to 1000000"):
        check_times("draws", times)
