"""Measures as sums over tasks: a value and how much each task pulls at it.

The delta method in one type. Every measure here is a mean over tasks or a ratio of two means; to
first order a task moves it by its pull (its influence), and the pulls are all that standard
errors, bands and multiplier draws need. Tasks that were drawn together count by their sums.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Tasks
from agentenvs.harness.tax.clusters import effective_count, standard_error
from agentenvs.harness.tax.estimators import areas_of
from agentenvs.harness.tax.shares import Estimate, quantile
from agentenvs.harness.tax.student import student_quantile

__all__ = ["Linear", "critical_for", "critical_value", "interval_of", "mean_of", "scalability_of"]


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


def scalability_of(tasks: Tasks, k: int, areas: NDArray[np.float64] | None = None) -> Linear:
    """Return S(k), linearised: a task pulls by (a / (k - 1) - S q) / mean q.

    NaN throughout where S is undefined: k = 1, or no failure.

    Args:
        tasks: of one arm.
        k: the budget.
        areas: (T,) A(k) of the tasks, where they are at hand.
    """
    fails = (tasks.n - tasks.c) / tasks.n
    mean = float(fails.sum()) / len(fails)
    if k == 1 or mean == 0:
        return Linear(math.nan, np.full(len(fails), math.nan))
    if areas is None:
        areas = areas_of(tasks, k)
    value = float(areas.sum()) / len(fails) / ((k - 1) * mean)
    return Linear(value, (areas / (k - 1) - value * fails) / mean)


def interval_of(
    linear: Linear,
    critical: float,
    clusters: NDArray[np.intp] | None = None,
    low: float = -math.inf,
    high: float = math.inf,
) -> Estimate:
    """Return value -+ critical * se, cut to what the measure can be; NaN where se is unknown."""
    value, se = linear.value, standard_error(linear.pull, clusters)
    return Estimate(value, se, max(value - critical * se, low), min(value + critical * se, high))


def critical_for(confidence: float, clusters: NDArray[np.intp] | None, size: int) -> float:
    """Return `critical_value` for (size,) tasks with cluster codes, or None."""
    return critical_value(confidence, effective_count(clusters, size))


def critical_value(confidence: float, groups: float) -> float:
    """Return how many standard errors an interval reaches to each side.

    Student's quantile, since the error is estimated from as many squares as there are groups:
    2.26 with 10 of them, 1.98 with 120. NaN for a single one.

    Args:
        confidence: the share of intervals that should hold the truth.
        groups: tasks that were drawn by themselves, or `effective_count` of their clusters.

    Raises:
        BadArgument: `confidence` is no number between 0 and 1.
    """
    quantile(confidence)
    return _student(confidence, max(groups - 1, 1)) if groups > 1 else math.nan


_student = lru_cache(maxsize=256)(student_quantile)
