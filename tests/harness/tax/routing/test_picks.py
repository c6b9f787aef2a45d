from __future__ import annotations

import numpy as np
import pytest

from agentenvs.harness.tax.routing.demand import check_demand
from agentenvs.harness.tax.routing.picks import Picked, pick, winners


def picked(*rows: tuple[int, float, float]) -> Picked:
    k, coverage, cost = zip(*rows, strict=True)
    return Picked(np.array(k), np.array(coverage), np.array(cost))


def test_the_least_tries_that_reach_a_target_are_picked() -> None:
    demand = check_demand((2.0, 1.0), 0.5, None, "never")
    found = pick(np.array([[4.0, 3.0, 2.0, 1.0], [4.0, 3.9, 3.8, 3.7]]), demand, 0)
    assert found.k.tolist() == [2, 0]
    assert (found.coverage[0], found.cost[0]) == (0.5, 4)


def test_tasks_of_no_weight_pick_nothing() -> None:
    demand = check_demand((1.0, 1.0), None, 3.0, "success")
    assert pick(np.zeros((1, 4)), demand, 1).k.tolist() == [0]


@pytest.mark.parametrize(
    ("base", "post", "place", "tied"),
    [
        ((3, 0.6, 3.0), (1, 0.6, 2.0), 1, False),
        ((3, 0.6, 3.0), (2, 0.6, 4.0), 0, False),
        ((3, 0.6, 3.0), (2, 0.6, 3.0), 0, True),
        ((0, 0.1, 1.0), (2, 0.6, 3.0), 2, False),
        ((0, 0.1, 1.0), (0, 0.1, 1.0), -1, False),
    ],
)
def test_the_cheaper_of_two_that_reach_a_target_wins(base, post, place, tied) -> None:
    demand = check_demand((1.0, 1.0), 0.5, None, "never")
    won, ties = winners(picked(base), picked(post), demand)
    assert (won.tolist(), ties.tolist()) == ([place], [tied])
