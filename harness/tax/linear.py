"""Measures as sums over tasks: a value and how much each task pulls at it.

The delta method in one type. Every measure here is a mean over tasks or a ratio of two means; to
first order a task moves it by its pull (its influence), and the pulls are all that standard
errors, bands and multiplier draws need. Tasks that were drawn together count by their sums.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm, Tasks
from agentenvs.harness.tax.estimators import area
from agentenvs.harness.tax.shares import no_spread

__all__ = [
    "Clusters",
    "Linear",
    "by_cluster",
    "cluster_codes",
    "cluster_count",
    "mean_of",
    "scalability_of",
    "standard_error",
]

Clusters = Sequence[Hashable] | Mapping[str, Hashable]
"""Which tasks belong together: a label for each task in base's order, or by task id."""


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


def by_cluster(pull: NDArray[np.float64], clusters: NDArray[np.intp] | None) -> NDArray[np.float64]:
    """Return the sums over the tasks of each cluster.

    Args:
        pull: (..., T) numbers of the tasks.
        clusters: (T,) codes from 0 to G - 1, or None.

    Returns:
        (..., G) sums; `pull` itself without clusters.
    """
    if clusters is None:
        return pull
    order = np.argsort(clusters, kind="stable")
    starts = np.searchsorted(clusters[order], np.arange(int(clusters.max()) + 1))
    sums: NDArray[np.float64] = np.add.reduceat(pull[..., order], starts, axis=-1)
    return sums


def cluster_codes(clusters: Clusters | None, arm: Arm, size: int) -> NDArray[np.intp] | None:
    """Return the number of each task's cluster, in base's order of tasks.

    Args:
        clusters: (T,) hashable labels in the order of base's tasks, or a mapping from task ids
            to labels (more ids than needed are fine); None where no tasks belong together.
        arm: the base arm, which has the ids and their order.
        size: how many tasks, T.

    Returns:
        (T,) codes from 0 to G - 1 in the order in which labels come first. None where each task
        has a label of its own, which is the same as no clusters.

    Raises:
        BadArgument: not a label for each task, a mapping without task ids to go by, or labels
            that cannot be compared.
    """
    if clusters is None:
        return None
    labels = _labels(clusters, arm, size)
    known: dict[Hashable, int] = {}
    try:
        codes = [known.setdefault(label, len(known)) for label in labels]
    except TypeError:
        raise BadArgument(
            "Expected `clusters` to hold hashable labels, such as strings or integers."
        ) from None
    return None if len(known) == size else np.array(codes, dtype=np.intp)


def cluster_count(clusters: NDArray[np.intp] | None, size: int) -> int:
    """Return how many clusters `size` tasks make."""
    return size if clusters is None else int(clusters.max()) + 1


def _labels(clusters: Clusters, arm: Arm, size: int) -> list[Hashable]:
    if isinstance(clusters, Mapping):
        ids = getattr(arm, "task_ids", None)
        if ids is None:
            raise BadArgument(
                "Expected `clusters` to list a label for each task, got a mapping: "
                "a pair (c, n) has no task ids to look up."
            )
        lacking = [task for task in ids if task not in clusters]
        if lacking:
            raise BadArgument(
                f"Expected a label in `clusters` for each task, got none for {lacking[0]!r} "
                f"({len(lacking)} of {size} lack one)."
            )
        return [clusters[task] for task in ids]
    if isinstance(clusters, str | bytes) or not isinstance(clusters, Sequence | np.ndarray):
        what = type(clusters).__name__
        raise BadArgument(f"Expected `clusters` to be a list or a mapping, got {what}.")
    if len(clusters) != size:
        raise BadArgument(
            f"Expected a label in `clusters` for each of {size} tasks, got {len(clusters)}."
        )
    return clusters.tolist() if isinstance(clusters, np.ndarray) else list(clusters)
