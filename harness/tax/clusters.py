"""Tasks that belong together, such as repeated instructions: drawn as one, counted as one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm

__all__ = [
    "Clusters",
    "by_cluster",
    "cluster_codes",
    "cluster_count",
    "effective_count",
    "no_spread",
    "standard_error",
]

Clusters = Sequence[Hashable] | Mapping[str, Hashable]
"""Which tasks belong together: a label for each task in base's order, or by task id."""


def standard_error(pull: NDArray[np.float64], clusters: NDArray[np.intp] | None = None) -> float:
    """Return the standard error of a measure from its pulls, by the jackknife.

    A cluster's sum is judged against the tasks of the others, so that a large one, which draws
    the mean to itself, does not look quieter than it is.

    Args:
        pull: (T,) influences, summing to 0.
        clusters: (T,) codes as `cluster_codes` gives; None where each task was drawn by itself.

    Returns:
        The root of (G - 1) / G times the sum over the G clusters of (sum of pulls / tasks of the
        others) squared: without clusters, the standard deviation over the root of T. NaN where
        one cluster, or sums all alike, leave the spread unknown.
    """
    sums = by_cluster(pull, clusters)
    if no_spread(sums):
        return math.nan
    groups, others = len(sums), len(pull) - 1
    if clusters is not None:
        sums, others = sums / (len(pull) - np.bincount(clusters)), 1
    return math.sqrt(float(np.dot(sums, sums)) * (groups - 1) / groups) / others


def no_spread(pull: NDArray[np.float64]) -> bool:
    """Return whether deviations from the mean say nothing: one of them, or all alike."""
    # Rounding leaves about 1e-16 of a value where all are the same.
    return len(pull) < 2 or float(np.dot(pull, pull)) < 1e-24 * len(pull)


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


def effective_count(clusters: NDArray[np.intp] | None, size: int) -> float:
    """Return how many clusters of one size would tell the spread as surely.

    (sum of m^2)^2 / (sum of m^4) over the sizes m: Satterthwaite's rule for clusters whose tasks
    are alike. As many as there are where all have one size; few where a few have most tasks.
    """
    if clusters is None:
        return size
    squares = np.bincount(clusters).astype(np.float64) ** 2
    return float(squares.sum()) ** 2 / float(np.dot(squares, squares))


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
