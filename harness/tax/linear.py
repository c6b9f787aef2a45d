"""Measures as sums over tasks: a value and how much each task pulls at it.

The delta method in one type. Every measure here is a mean over tasks or a ratio of two means; to
first order a task moves it by its pull (its influence), and the pulls are all that standard
errors, bands and multiplier draws need. Tasks that were drawn together count by their sums.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Tasks
from agentenvs.harness.tax.clusters import by_cluster, cluster_codes, cluster_count
from agentenvs.harness.tax.estimators import area
from agentenvs.harness.tax.shares import no_spread

__all__ = [
    "Linear",
    "by_cluster",
    "cluster_codes",
    "cluster_count",
    "mean_of",
    "scalability_of",
    "standard_error",
]


class Linear(NamedTuple):
    """An estimate and how much each task pulls at it.

    Attributes:
        value: the estimate; NaN where the measure is undefined.
        pull: (T,) influence of each task, summing to 0; the estimate's error is about the mean
            of the pulls of the tasks that were drawn.
    """

    value: float
    pull: NDArray[np.float64]

    def minus(self, other: Linear) -> Linear:
        """Return the difference of two measures over the same tasks."""
        return Linear(self.value - other.value, self.pull - other.pull)


def mean_of(values: NDArray[np.float64]) -> Linear:
    """Return the mean of (T,) values."""
    mean = float(values.sum()) / len(values)
    return Linear(mean, values - mean)


def scalability_of(tasks: Tasks, k: int) -> Linear:
    """Return S(k), linearised: a task pulls by (a / (k - 1) - S q) / mean q.

    NaN throughout where S is undefined: k = 1, or no failure.
    """
    fails = (tasks.n - tasks.c) / tasks.n
    mean = float(fails.sum()) / len(fails)
    if k == 1 or mean == 0:
        return Linear(math.nan, np.full(len(fails), math.nan))
    areas = area(tasks.c, tasks.n, k)
    value = float(areas.sum()) / len(fails) / ((k - 1) * mean)
    return Linear(value, (areas / (k - 1) - value * fails) / mean)


def standard_error(pull: NDArray[np.float64], clusters: NDArray[np.intp] | None = None) -> float:
    """Return the standard error of a measure from its pulls.

    Args:
        pull: (T,) influences, summing to 0.
        clusters: (T,) codes as `cluster_codes` gives; None where each task was drawn by itself.

    Returns:
        The root of G / (G - 1) times the sum of the squared pulls of the G clusters, over T; NaN
        where one cluster, or pulls all alike, leave the spread unknown.
    """
    sums = by_cluster(pull, clusters)
    groups = len(sums)
    if no_spread(sums):
        return math.nan
    return math.sqrt(float(np.dot(sums, sums)) * groups / (groups - 1)) / len(pull)
