"""Shares of tasks with their intervals, which stay in [0, 1] and exist at its ends.

A normal interval is no use where policies are weak: with success rates from Beta(0.1, 3), 24
tasks and 8 rollouts it holds the true pass@1 in 81 % of the cases instead of 95 %, and where
every task is at 0 it is empty. Here the interval is Wilson's, for as many tasks as a
yes-or-no question would need to be as sure as these tasks are. That number comes from the
tasks' own spread, measured with half a task that always fails and half a task that always
succeeds added, so that no spread is ever taken for certainty. `docs/intervals.md` has the coverage.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import as_tasks, single_k
from agentenvs.harness.tax.clusters import by_cluster, cluster_codes, standard_error
from agentenvs.harness.tax.estimators import pass_at_k, pass_hat_k

__all__ = [
    "Estimate",
    "PartitionInterval",
    "partition_interval",
    "pass_at_k_interval",
    "quantile",
    "share_interval",
    "wilson_ends",
]


_Numbers = float | NDArray[np.float64]


class Estimate(NamedTuple):
    """A number with its standard error and interval.

    `se` is NaN where the spread cannot be estimated: a single task, or a value that is the same
    for every task (then nothing says how far another task would lie). There `low` and `high` are
    NaN too, but for shares, which have bounds all the same.

    Attributes:
        value: the estimate; NaN where the measure is undefined.
        se: its standard error.
        low, high: the ends of the interval.
    """

    value: float
    se: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0

    def negated(self) -> Estimate:
        """Return the difference the other way round."""
        # 0.0 - 0.0 is no -0.
        return Estimate(0.0 - self.value, self.se, 0.0 - self.high, 0.0 - self.low)


class PartitionInterval(NamedTuple):
    """The shares of `Partition`, each with its interval."""

    never: Estimate
    sometimes: Estimate
    always: Estimate


def pass_at_k_interval(
    c: ArrayLike,
    n: ArrayLike,
    k: int,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:
    """Return mean pass@k over tasks with its interval, which lies in [0, 1].

    Args:
        c: (T,) successes.
        n: (T,) rollouts, or one number for all tasks.
        k: tries, at most the smallest n.
        confidence: the share of intervals that should hold the truth.
        clusters: (T,) labels of tasks that were drawn together; None where each stands for itself.

    Raises:
        BadArgument: as `curve`, or `confidence` outside (0, 1), or not a label for each task.
    """
    tasks = as_tasks(c, n)
    tries = single_k("k", k, int(tasks.n.min()))
    codes = cluster_codes(clusters, tasks, len(tasks.c))
    return share_interval(pass_at_k(tasks.c, tasks.n, tries), quantile(confidence), codes)


def partition_interval(
    c: ArrayLike,
    n: ArrayLike,
    m: int | None = None,
    confidence: float = 0.95,
    clusters: Sequence[Hashable] | None = None,
) -> PartitionInterval:
    """Return the shares of `partition`, each with its interval over tasks.

    Args:
        c: (T,) successes.
        n: (T,) rollouts, or one number for all tasks.
        m: rollouts to standardise to, at most the smallest n; default the smallest n.
        confidence: the share of intervals that should hold the truth.
        clusters: (T,) labels of tasks that were drawn together; None where each stands for itself.

    Raises:
        BadArgument: as `partition`, or `confidence` outside (0, 1), or not a label for each task.
    """
    tasks = as_tasks(c, n)
    smallest = int(tasks.n.min())
    size = single_k("m", smallest if m is None else m, smallest)
    z = quantile(confidence)
    some, every = pass_at_k(tasks.c, tasks.n, size), pass_hat_k(tasks.c, tasks.n, size)
    codes = cluster_codes(clusters, tasks, len(tasks.c))
    bins = 1 - some, some - every, every
    return PartitionInterval(*(share_interval(values, z, codes) for values in bins))


def share_interval(
    values: NDArray[np.float64], z: float, clusters: NDArray[np.intp] | None = None
) -> Estimate:
    """Return the mean of the tasks' values in [0, 1] with Wilson's interval.

    Args:
        values: (T,) numbers in [0, 1].
        z: the normal quantile of the interval's ends.
        clusters: (T,) codes of tasks that were drawn together; the half a task that is added at
            0 and at 1 is then half a cluster of the size that a task is usually found in.
    """
    size = len(values)
    total = float(values.sum())
    mean = total / size
    sizes = np.ones(1) if clusters is None else np.bincount(clusters).astype(np.float64)
    usual = 1.0 if clusters is None else float(np.dot(sizes, sizes)) / size
    middle = (total + usual / 2) / (size + usual)
    off = by_cluster(values - middle, clusters)
    groups = len(off)
    if clusters is not None and groups > 1:
        # A large cluster draws the mean to itself and looks quieter than it is.
        off = off * ((1 - 1 / groups) / (1 - sizes / size))
    squares = float(np.dot(off, off)) + 0.5 * usual**2 * (middle**2 + (1 - middle) ** 2)
    variance = squares * (groups + 1) / max(groups - 1, 1) / (size + usual) ** 2
    like = middle * (1 - middle) / variance
    low, high = wilson_ends(mean, like, z)
    return Estimate(mean, standard_error(values - mean, clusters), float(low), float(high))


def wilson_ends(share: _Numbers, like: _Numbers, z: float) -> tuple[_Numbers, _Numbers]:
    """Return Wilson's interval of shares that are as sure as `like` answers of yes or no.

    Args:
        share: numbers in [0, 1].
        like: as many answers; fractions too.
        z: how many standard errors an end is away.
    """
    shrink = 1 + z * z / like
    centre = (share + z * z / (2 * like)) / shrink
    noise = np.maximum(share * (1 - share), 0) / like + (z / (2 * like)) ** 2
    half = z / shrink * np.sqrt(noise)
    # Rounding must not put an end on the wrong side of the share.
    low = np.minimum(np.maximum(centre - half, 0.0), share)
    return low, np.maximum(np.minimum(centre + half, 1.0), share)


def quantile(confidence: float) -> float:
    """Return the normal quantile for a two-sided interval.

    Raises:
        BadArgument: `confidence` is no number between 0 and 1, or so close to 1 that half of what
            is left to it cannot be seen.
    """
    fine = isinstance(confidence, float | int) and 0 < confidence < 1
    if not fine or 0.5 + confidence / 2 == 1:
        raise BadArgument(f"Expected `confidence` between 0 and 1, got {confidence!r}.")
    return NormalDist().inv_cdf(0.5 + confidence / 2)
