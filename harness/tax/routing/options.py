"""A policy asked k times: what it solves, what it costs, and how sure both are."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Tasks
from agentenvs.harness.tax.clusters import by_cluster, no_spread
from agentenvs.harness.tax.curves import misses
from agentenvs.harness.tax.linear import critical_for
from agentenvs.harness.tax.routing.demand import Demand
from agentenvs.harness.tax.shares import Estimate, quantile, share_interval, wilson_ends

__all__ = ["KINDS", "Kind", "Option", "Weighed", "failures", "option_at"]

Kind = Literal["base@k", "post@1", "post@k"]
KINDS: tuple[Kind, ...] = ("base@k", "post@1", "post@k")
"""The options; post@k has k of 2 or more, base@k may have k = 1."""

_Floats = NDArray[np.float64]
_Codes = NDArray[np.intp] | None


class Option(NamedTuple):
    """A policy and how often it is asked.

    Attributes:
        arm: "base" or "post".
        k: tries a task.
        coverage: the share of tasks that at least one try solves.
        cost: the mean cost of a task; without spread where all tries are paid.
        high_variance: whether k is more than half of the rollouts, where estimates scatter most.
    """

    arm: Literal["base", "post"]
    k: int
    coverage: Estimate
    cost: Estimate
    high_variance: bool

    @property
    def kind(self) -> Kind:
        """Which of the three options it is."""
        return "base@k" if self.arm == "base" else "post@1" if self.k == 1 else "post@k"

    def __str__(self) -> str:
        return f"{self.arm}@{self.k}"


class Weighed(NamedTuple):
    """An arm's tasks with the weights that they have in what is asked.

    Attributes:
        weight: (T,) from 0 to 1.
        missed: (T, K + 1) the weight times the chance that 0, ..., K tries all fail.
        n: the rollouts that judge, the fewest of any task.
    """

    weight: _Floats
    missed: _Floats
    n: int


def failures(tasks: Tasks, most: int | None = None) -> _Floats:
    """Return the chances (T, K + 1) that 0, ..., K tries all fail; K is `most` or the least n."""
    ks = np.arange(1, (int(tasks.n.min()) if most is None else most) + 1)
    return np.column_stack((np.ones(len(tasks.c)), misses(tasks, ks)))


def option_at(
    arm: int, k: int, side: Weighed, demand: Demand, confidence: float, codes: _Codes
) -> Option:
    """Return k tries of an arm (0 base, 1 post) with intervals over tasks or their clusters."""
    weight, z = by_cluster(side.weight, codes), quantile(confidence)
    solved = side.weight - side.missed[:, k]
    if (side.weight == 1).all():
        coverage = share_interval(solved, z, codes)
    else:
        coverage = _share(by_cluster(solved, codes), weight, z)
    price = demand.price[arm]
    if demand.stop == "never" or k == 1:
        cost = Estimate(price * k, 0.0, price * k, price * k)
    else:
        paid = by_cluster(price * side.missed[:, :k].sum(axis=1), codes)
        critical = critical_for(confidence, codes, len(side.weight))
        cost = _mean(paid, weight, critical, price, price * k)
    return Option("post" if arm else "base", k, coverage, cost, 2 * k > side.n)


def _mean(parts: _Floats, weight: _Floats, critical: float, low: float, high: float) -> Estimate:
    """Return a weighted mean -+ critical * se, cut to what it can be."""
    total = float(weight.sum())
    if not total:
        return Estimate(math.nan, math.nan, math.nan, math.nan)
    value = float(parts.sum()) / total
    se = _error(parts - value * weight, total)
    return Estimate(value, se, max(value - critical * se, low), min(value + critical * se, high))


def _share(parts: _Floats, weight: _Floats, z: float) -> Estimate:
    """Return a weighted share with Wilson's interval, as `share_interval` where all weights are 1.

    Here tasks, or clusters, count as so many as equal ones that would scatter as much.
    """
    total = float(weight.sum())
    if not total:
        return Estimate(math.nan, math.nan, math.nan, math.nan)
    mean, squares = float(parts.sum()) / total, float(np.dot(weight, weight))
    size = total**2 / squares
    middle = (size * mean + 0.5) / (size + 1)
    away = parts - middle * weight
    around = size * float(np.dot(away, away)) / squares
    spread = (around + 0.5 * middle**2 + 0.5 * (1 - middle) ** 2) / (size + 1)
    like = middle * (1 - middle) / spread * max(size - 1, 1)
    low, high = wilson_ends(mean, like, z)
    return Estimate(mean, _error(parts - mean * weight, total), float(low), float(high))


def _error(pull: _Floats, total: float) -> float:
    """Return the standard error of a ratio to `total` from what each task or cluster pulls."""
    size = len(pull)
    if no_spread(pull):
        return math.nan
    return math.sqrt(float(np.dot(pull, pull)) * size / (size - 1)) / total
