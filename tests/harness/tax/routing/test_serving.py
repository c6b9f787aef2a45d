from __future__ import annotations

import math

import numpy as np
import pytest

from agentenvs.harness.tax import expected_tries, pass_at_k
from agentenvs.harness.tax.routing.demand import check_demand
from agentenvs.harness.tax.routing.serving import Judge, Serving, mean_cost, served

NEVER = check_demand((1, 2), 0.5, None, "never")
STOPS = check_demand((1, 2), 0.5, None, "success")


def test_a_judge_knows_every_count_of_every_size() -> None:
    rollouts = np.array([5, 3, 5, 9])
    judge = Judge.of(rollouts, 3, STOPS, 1)
    for task, n in enumerate(rollouts.tolist()):
        for c in range(n + 1):
            row = judge.start[task] + c
            for k in (1, 2, 3):
                assert 1 - judge.missed[row, k] == pytest.approx(float(pass_at_k(c, n, k)))
                assert judge.cost[row, k] == pytest.approx(2 * float(expected_tries(c, n, k)))


def test_curves_are_weighted_means_over_tasks() -> None:
    rollouts = np.array([5, 3, 5, 9])
    judge = Judge.of(rollouts, 3, NEVER, 0)
    hits = np.array([[0, 3, 2, 1], [5, 0, 0, 9]])
    weights = np.array([[0.25] * 4, [0.5, 0.2, 0.3, 0]])
    for row, c, share in zip(judge.curves(hits, weights), hits, weights, strict=True):
        want = [1, *(share @ (1 - pass_at_k(c, rollouts, k)) for k in (1, 2, 3))]
        assert row == pytest.approx(want)


def test_served_are_means_with_intervals() -> None:
    given = Serving(np.array([0.2, 0.8, 0.5]), np.array([1.0, 4.0, 3.0]), np.array([1.0, 0.0, 0.5]))
    found = served("by task", given, STOPS, 0.95, None)
    assert found.coverage.value == pytest.approx(0.5)
    assert 0 <= found.coverage.low < 0.5 < found.coverage.high <= 1
    assert found.cost.value == pytest.approx(8 / 3)
    assert found.cost.se == pytest.approx(np.std(given.cost, ddof=1) / math.sqrt(3))
    assert found.base_share == 0.5


def test_costs_that_no_verdict_moves_are_certain() -> None:
    same = np.full(4, 3.0)
    assert mean_cost(same, NEVER, 0.95, None) == (3, 0, 3, 3)
    assert math.isnan(mean_cost(same, STOPS, 0.95, None).low)
    assert mean_cost(np.full(4, 2.0), STOPS, 0.95, None) == (2, 0, 2, 2)
    assert mean_cost(np.zeros(4), STOPS, 0.95, None) == (0, 0, 0, 0)
