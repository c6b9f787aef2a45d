"""How sure k* is: a bootstrap over tasks, both arms of a task drawn together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Arm, Paired, Tasks, check_seed, check_times, paired
from agentenvs.harness.tax.clusters import Clusters, by_cluster, cluster_codes, cluster_count
from agentenvs.harness.tax.measures import TIE, crossover
from agentenvs.harness.tax.resampled import ends
from agentenvs.harness.tax.shares import quantile

__all__ = ["CrossoverInterval", "crossover_interval"]

# How many numbers a block of draws or of curves holds at a time.
_BLOCK = 2**21

_Times = NDArray[np.int64] | NDArray[np.float64]


class CrossoverInterval(NamedTuple):
    """k* with its interval.

    An interval from 1 to None says nothing: the data do not decide. So it is where there is
    nothing to resample: one task, tasks all alike, or arms that are equal task by task. The
    shares are NaN then.

    Attributes:
        k: k* as `crossover` gives it; None where it lies beyond K.
        low, high: the ends of the interval; None where an end lies beyond K.
        K: the largest budget looked at.
        confidence: what the interval aims at.
        draws: how many replicates it rests on.
        censored: the share of replicates whose k* lies beyond K.
        at_one: the share of replicates with k* = 1.
        same: whether both curves are the same up to K, so that neither crosses the other.
    """

    k: int | None
    low: int | None
    high: int | None
    K: int
    confidence: float
    draws: int
    censored: float
    at_one: float
    same: bool

    @property
    def decides(self) -> bool:
        """Whether the interval leaves anything out."""
        return self.low != 1 or self.high is not None


def crossover_interval(
    base: Arm,
    post: Arm,
    K: int,  # noqa: N803
    confidence: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> CrossoverInterval:
    """Return k* with a percentile interval from tasks drawn again with replacement.

    Rollouts are not drawn again: a task's counts hold their noise already. The same arguments
    give the same interval, in whatever order the tasks come.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        K: the largest budget to look at, at most the smallest n of both.
        confidence: the share of intervals that should hold the truth.
        draws: replicates, up to a million.
        seed: of the draws.
        clusters: tasks that are drawn together: a label for each task in base's order, or a
            mapping from task ids to labels.

    Raises:
        BadArgument: as `crossover`, or `confidence` outside (0, 1), or no sensible `draws`, or no
            label for a task.
    """
    arms = paired(base, post)
    quantile(confidence)
    check_times("draws", draws)
    rng = np.random.default_rng(check_seed(seed))
    found = crossover(arms.base, arms.post, K)
    same = bool((np.abs(found.gap) <= TIE).all())
    size = len(arms.base.c)
    codes = cluster_codes(clusters, base, size)
    groups = cluster_count(codes, size)
    kinds, where = np.unique(np.column_stack((*arms.base, *arms.post)), axis=0, return_inverse=True)
    where = where.reshape(-1)
    if len(kinds) == 1 or groups == 1 or _alike(arms):
        nan = math.nan
        return CrossoverInterval(found.k, 1, None, found.K, confidence, draws, nan, nan, same)
    each = Paired(*(Tasks(*kinds[:, at : at + 2].T) for at in (0, 2)))
    if codes is None:
        lots = _lots(rng, np.bincount(where), draws)
    else:
        lots = _cluster_lots(rng, where, codes, draws)
    ranks = np.concatenate([_first_crossings(each, times, K) for times in lots])
    low, high = ends(ranks, confidence, K + 1 if found.k is None else found.k)
    return CrossoverInterval(
        k=found.k,
        low=None if low > K else int(low),
        high=None if high > K else int(high),
        K=found.K,
        confidence=confidence,
        draws=draws,
        censored=float(np.mean(ranks > K)),
        at_one=float(np.mean(ranks == 1)),
        same=same,
    )


def _alike(arms: Paired) -> bool:
    """Return whether no task tells the arms apart."""
    (c, n), (d, m) = arms
    return bool((((c == d) & (n == m)) | ((c == 0) & (d == 0)) | ((c == n) & (d == m))).all())


def _lots(rng: np.random.Generator, held: NDArray[np.int64], draws: int) -> Iterator[_Times]:
    """Yield (B, U) how often each replicate holds each kind of task.

    Args:
        rng: what to draw with.
        held: (U,) how many tasks of each kind there are.
        draws: replicates in all.
    """
    size = int(held.sum())
    for part in _parts(draws, max(1, _BLOCK // len(held))):
        yield rng.multinomial(size, held / size, part)


def _cluster_lots(
    rng: np.random.Generator, where: NDArray[np.intp], codes: NDArray[np.intp], draws: int
) -> Iterator[_Times]:
    """Yield the same where whole clusters are drawn.

    Args:
        rng: what to draw with.
        where: (T,) the kind of each task.
        codes: (T,) its cluster.
        draws: replicates in all.
    """
    groups = int(codes.max()) + 1
    order = np.lexsort((where, codes))
    ends = np.cumsum(np.bincount(codes))[:-1]
    kinds = [part.tolist() for part in np.split(where[order], ends)]
    # By what is in them, so that the order of the tasks makes no difference.
    rank = np.empty(groups, dtype=np.intp)
    rank[sorted(range(groups), key=kinds.__getitem__)] = np.arange(groups)
    for part in _parts(draws, max(1, _BLOCK // len(codes))):
        times = rng.multinomial(groups, np.full(groups, 1 / groups), part)
        yield by_cluster(times[:, rank[codes]].astype(np.float64), where)


def _parts(total: int, most: int) -> Iterator[int]:
    while total > 0:
        yield min(total, most)
        total -= most


def _first_crossings(arms: Paired, times: _Times, most: int) -> NDArray[np.int64]:
    """Return k* of each replicate, `most` + 1 where it lies beyond.

    Args:
        arms: U kinds of tasks.
        times: (B, U) how often a replicate holds each kind.
        most: the largest budget.
    """
    ranks = np.full(len(times), most + 1)
    open_ones = np.arange(len(times))
    shares = times / times.sum(axis=1, keepdims=True)
    missed = [np.ones((len(arm.c), 1)) for arm in arms]
    step = max(1, min(64, _BLOCK // len(arms.base.c)))
    for start in range(0, most, step):
        drawn = np.arange(start, min(start + step, most))
        for at, arm in enumerate(arms):
            left = np.maximum((arm.n - arm.c)[:, None] - drawn, 0) / (arm.n[:, None] - drawn)
            missed[at] = missed[at][:, -1:] * np.cumprod(left, axis=1)
        # Base has caught up where it fails no more often.
        above = shares[open_ones] @ (missed[1] - missed[0]) >= -TIE
        hit = above.any(axis=1)
        ranks[open_ones[hit]] = start + 1 + above[hit].argmax(axis=1)
        open_ones = open_ones[~hit]
        if not open_ones.size:
            break
    return ranks
