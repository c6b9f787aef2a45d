from __future__ import annotations

import math

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import scalability
from agentenvs.harness.tax._checks import Tasks
from agentenvs.harness.tax.clusters import standard_error
from agentenvs.harness.tax.linear import (
    Linear,
    critical_value,
    interval_of,
    mean_of,
    scalability_of,
)

TASKS = Tasks(np.array([0, 1, 5, 8, 2, 3]), np.full(6, 8))


def test_pulls_sum_to_0() -> None:
    for linear in (mean_of(np.array([0.5, 0.25, 3.0])), scalability_of(TASKS, 4)):
        assert linear.pull.sum() == pytest.approx(0, abs=1e-14)
    assert scalability_of(TASKS, 4).value == pytest.approx(scalability(*TASKS, 4))


def test_pulls_are_the_derivative_by_a_task_s_weight() -> None:
    step = 1_000_000
    many = Tasks(*(np.repeat(x, [step] * 5 + [step + 1]) for x in TASKS))
    one, other = scalability_of(TASKS, 4), scalability_of(many, 4)
    slope = (other.value - one.value) * (6 * step + 1)
    assert slope == pytest.approx(one.pull[5], rel=1e-4)


def test_clusters_of_one_task_change_nothing() -> None:
    pull = scalability_of(TASKS, 4).pull
    assert standard_error(pull, np.arange(6)) == pytest.approx(standard_error(pull))


def test_undefined_measures_stay_undefined() -> None:
    solved = Tasks(np.array([4, 4]), np.array([4, 4]))
    assert all(map(math.isnan, interval_of(scalability_of(solved, 2), 2.0, None, 0.0, 1.0)))
    assert all(map(math.isnan, interval_of(scalability_of(TASKS, 1), 2.0)))


def test_intervals_are_cut_to_the_bounds() -> None:
    found = interval_of(Linear(0.5, np.array([3.0, -3.0])), 2.0, None, 0.0, 1.0)
    assert found == (0.5, 3.0, 0.0, 1.0)


def test_few_groups_reach_further() -> None:
    assert critical_value(0.95, 10) == pytest.approx(2.262157)
    assert critical_value(0.95, 10_000) == pytest.approx(1.960201)
    assert math.isnan(critical_value(0.95, 1))
    with pytest.raises(BadArgument, match="`confidence` between 0 and 1"):
        critical_value(1.5, 1)
