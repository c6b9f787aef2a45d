"""Serving tasks, each with a policy and a number of tries of its own, judged on given rollouts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Tasks
from agentenvs.harness.tax.linear import critical_for, interval_of, mean_of
from agentenvs.harness.tax.routing.demand import Demand
from agentenvs.harness.tax.routing.options import failures
from agentenvs.harness.tax.shares import Estimate, quantile, share_interval

__all__ = ["Judge", "Means", "Served", "Serving", "mean_cost", "served"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


class Served(NamedTuple):
    """What serving all tasks once in some way gives and costs, without any pilot.

    Attributes:
        name: "base@28" or "post@1+base@3", say, "by pilot", "by task", "oracle" or "same
            rollouts".
        coverage: the share of tasks that at least one try solves.
        cost: the mean cost of a task.
        base_share: the share of tasks that are given to base; of a mixture, the share of tries.
    """

    name: str
    coverage: Estimate
    cost: Estimate
    base_share: float


class Serving(NamedTuple):
    """What each task is given, (T,): chance to be solved, cost, and share given to base."""

    coverage: _Floats
    cost: _Floats
    base: _Floats


class Means(NamedTuple):
    """What tasks are given on average in each of S cases, (S,), in the fields of `Serving`."""

    coverage: _Floats
    cost: _Floats
    base: _Floats


class Judge(NamedTuple):
    """What k tries of an arm give by rollouts set aside: a table over all counts that they allow.

    Attributes:
        start: (T,) where the rows of a task's number of rollouts begin.
        missed: (rows, K + 1) the chance that 0, ..., K tries all fail.
        cost: (rows, K + 1) the mean cost of that many tries.
    """

    start: _Ints
    missed: _Floats
    cost: _Floats

    @classmethod
    def of(cls, rollouts: _Ints, most: int, demand: Demand, arm: int) -> Judge:
        """Return the judge of tasks with so many rollouts (T,), for up to `most` tries."""
        sizes, where = np.unique(rollouts, return_inverse=True)
        starts = np.concatenate(([0], np.cumsum(sizes + 1)[:-1]))
        rows = [failures(Tasks(np.arange(n + 1), np.full(n + 1, n)), most) for n in sizes]
        missed = np.concatenate(rows)
        cost = np.column_stack((np.zeros(len(missed)), demand.costs(missed[:, :-1], arm)))
        return cls(starts[where], missed, cost)

    def curves(self, hits: _Ints, weights: _Floats) -> _Floats:
        """Return the mean chances (S, K + 1) of failure of S times T tasks' successes.

        The weights (S, T) of the tasks sum to 1 in each row.
        """
        rows = self.start + hits
        size = len(self.missed)
        flat = (rows + size * np.arange(len(rows))[:, None]).ravel()
        held = np.bincount(flat, weights.ravel(), size * len(rows)).reshape(-1, size)
        means: _Floats = held @ self.missed
        return means

    def at(self, hits: _Ints) -> tuple[_Floats, _Floats]:
        """Return the chances of failure and the costs of 0, ..., K tries, (S, T, K + 1)."""
        rows = self.start + hits
        return self.missed[rows], self.cost[rows]


def served(
    name: str,
    given: Serving,
    demand: Demand,
    confidence: float,
    codes: NDArray[np.intp] | None,
) -> Served:
    """Return the means of what tasks are given, with intervals over tasks or their clusters."""
    return Served(
        name,
        share_interval(given.coverage, quantile(confidence), codes),
        mean_cost(given.cost, demand, confidence, codes),
        float(np.mean(given.base)),
    )


def mean_cost(
    costs: _Floats, demand: Demand, confidence: float, codes: NDArray[np.intp] | None
) -> Estimate:
    """Return a mean cost, or a mean difference of costs, with its interval.

    Tasks that all cost the same do so always where all tries are paid, and where there is but one
    try, or no difference. Where verdicts happened to set the same cost there is no interval (NaN).
    """
    linear = mean_of(costs)
    certain = demand.stop == "never" or linear.value in (0.0, *demand.price)
    if certain and float(np.ptp(costs)) < 1e-13:
        return Estimate(linear.value, 0.0, linear.value, linear.value)
    return interval_of(linear, critical_for(confidence, codes, len(costs)), codes)
