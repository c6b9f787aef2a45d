"""Which budgets may be the first crossing k*: an interval by resampling, a set by a band."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Arm, Paired, paired, single_k
from agentenvs.harness.tax.bands import gap_band
from agentenvs.harness.tax.clusters import Clusters, by_cluster, cluster_codes, cluster_count
from agentenvs.harness.tax.curves import misses
from agentenvs.harness.tax.linear import critical_for
from agentenvs.harness.tax.measures import TIE, crossover
from agentenvs.harness.tax.resampled import drawn_again
from agentenvs.harness.tax.simultaneous import Sup, checked_sup

__all__ = ["CrossoverSet", "crossover_set"]

# Up to so many budgets, each is looked at.
_DENSE = 512


class CrossoverSet(NamedTuple):
    """Where k* may lie, made by `crossover_set`.

    `low` and `high` are what replicates of the tasks say, about as often right as `confidence`.
    `ks` and `censored` are more cautious: all that a band over the whole gap allows, right at
    least as often. Each is everything where the data say nothing; so it is for arms that are the
    same, which `same` tells apart.

    Attributes:
        k: k* as `crossover` gives it; None where it lies beyond K.
        low, high: the ends of the percentile interval; None where an end lies beyond K.
        ks: the budgets that the band of the gap allows as the first crossing, rising. Beyond
            1,024 budgets, about half of these are looked at, and what lies between two of them
            is allowed where either is.
        censored: whether the band allows that base does not catch up within K.
        share: (K,) how often replicates have their k* at 1, ..., K (at the budgets looked at);
            NaN where no task differs from another, so that there is nothing to draw again.
        share_censored: how often they have none up to K.
        stays_above: how often they have one and base stays at or above from there to K.
        K: the largest budget looked at.
        confidence: how often the set should hold the true k*.
        method: how the set was made.
        covers: what it covers.
        same: whether both curves are the same up to K, so that neither crosses the other.
        tasks: how many tasks it rests on.
        clusters: how many clusters of tasks, as many as tasks where each stands alone.
        draws: how many replicates the shares rest on.
    """

    k: int | None
    low: int | None
    high: int | None
    ks: tuple[int, ...]
    censored: bool
    share: NDArray[np.float64]
    share_censored: float
    stays_above: float
    K: int
    confidence: float
    method: str
    covers: tuple[str, ...]
    same: bool
    tasks: int
    clusters: int
    draws: int

    @property
    def decides(self) -> bool:
        """Whether the interval leaves out the first try, or what lies beyond K."""
        return self.low != 1 or self.high is not None


def crossover_set(
    base: Arm,
    post: Arm,
    K: int,  # noqa: N803
    confidence: float = 0.95,
    clusters: Clusters | None = None,
    draws: int = 2000,
    seed: int = 0,
) -> CrossoverSet:
    """Return where the first k may lie at which base solves as many tasks as post.

    The interval goes from one percentile of the k* of replicates to the other: tasks are drawn
    again with replacement, both arms of a task and all tasks of a cluster together; rollouts are
    not, since counts hold their noise. It is widened to hold the estimate, and to Student's tails
    where there are few tasks or clusters. Where an arm has the same value in every task, which
    replicates would take for exact, and where there is one cluster, its ends are those of the set.

    k is in the set where the band of the gap reaches 0 or more at k and lies, with its lower
    end, below 0 at all smaller budgets. Since the band holds the whole true gap as often as
    `confidence` says, the set holds the true k* at least as often.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        K: the largest budget to look at, at most the smallest n of both.
        confidence: how often the set should hold the true k*.
        clusters: a label for each of base's tasks, or a mapping from task ids to labels; tasks
            of one label were drawn together.
        draws: curves of errors drawn for the band, and replicates for the shares.
        seed: of the draws.

    Raises:
        BadArgument: as `crossover`, or bad `clusters`, `confidence`, `draws`.
    """
    arms = paired(base, post)
    size = len(arms.base.c)
    most = single_k("K", K, arms.smallest_n)
    codes = cluster_codes(clusters, base, size)
    sup = checked_sup(confidence, draws, seed)
    found = crossover(arms.base, arms.post, most)
    ks = _looked_at(most)
    hits = [1 - misses(arm, ks) for arm in arms]
    band, _ = gap_band(hits[0], hits[1], codes, sup)
    # Unknown ends leave everything open.
    reaches = ~(band.high < -TIE)
    behind = ~(band.low >= -TIE)
    open_until = np.concatenate(([True], np.logical_and.accumulate(behind)))
    # A budget between two that were looked at may be k* where the next one may, or where the
    # band had reached 0 at the last one and was still open.
    at = np.searchsorted(ks, np.arange(1, most + 1))
    exact = ks[at] == np.arange(1, most + 1)
    last = np.where(exact, at, at - 1)
    allowed = open_until[at] & (reaches[at] | reaches[last])
    if found.k is not None:
        allowed[found.k - 1] = True
    counts, stays = _replicates(hits[0] - hits[1], arms, codes, sup)
    share = np.zeros(most)
    share[ks - 1] = counts[:-1]
    low, high = int(allowed.argmax()) + 1, most - int(allowed[::-1].argmax())
    if not allowed.any():
        low = most + 1
    if open_until[-1]:
        high = most + 1
    critical = critical_for(confidence, codes, size)
    unknown = any(_alike(values) for values in (*hits, hits[0] - hits[1]))
    if not (unknown or math.isnan(critical)):
        tail = NormalDist().cdf(-critical)
        low, high = _ends(share, tail, most + 1 if found.k is None else found.k)
    return CrossoverSet(
        k=found.k,
        low=None if low > most else low,
        high=None if high > most else high,
        ks=tuple((np.flatnonzero(allowed) + 1).tolist()),
        censored=bool(open_until[-1]),
        share=share,
        share_censored=float(counts[-1]),
        stays_above=stays,
        K=most,
        confidence=confidence,
        method="percentile, sup-t",
        covers=("tasks", "rollouts"),
        same=bool((np.abs(found.gap) <= TIE).all()),
        tasks=size,
        clusters=cluster_count(codes, size),
        draws=draws,
    )


def _ends(share: NDArray[np.float64], tail: float, point: int) -> tuple[int, int]:
    """Return the least and the largest k* of what is left when both tails are cut off."""
    below = np.cumsum(share)
    # Rounding must not keep a k* that no replicate has.
    low = int(np.searchsorted(below, tail + 1e-12)) + 1
    high = int(np.searchsorted(below, 1 - tail - 1e-12)) + 1
    return min(low, point), max(high, point)


def _alike(values: NDArray[np.float64]) -> bool:
    """Return whether (T, M) values are the same in all tasks."""
    return bool(np.abs(values - values[0]).max() < 1e-13)


def _looked_at(most: int) -> NDArray[np.int64]:
    """Return the budgets at which the band is worked out: all, or beyond 512 about 512 more."""
    if most <= 2 * _DENSE:
        return np.arange(1, most + 1)
    rest = np.rint(np.geomspace(_DENSE, most, _DENSE + 1)).astype(np.int64)
    return np.unique(np.concatenate((np.arange(1, _DENSE + 1), rest)))


def _replicates(
    gaps: NDArray[np.float64], arms: Paired, codes: NDArray[np.intp] | None, sup: Sup
) -> tuple[NDArray[np.float64], float]:
    """Return how often k* is 1, ..., K and beyond, and how often base stays above.

    Args:
        gaps: (T, M) pass@k of base minus that of post, at M rising budgets.
        arms: the counts, by which tasks are put in an order of their own.
        codes: the tasks' clusters.
        sup: draws and seed.
    """
    most = gaps.shape[1]
    if _alike(gaps):
        return np.full(most + 1, math.nan), math.nan
    order = np.lexsort((*arms.base, *arms.post))
    units = gaps[order] if codes is None else by_cluster(gaps.T, codes).T
    draws, rng = sup.draws, np.random.default_rng(sup.seed)
    found = np.zeros(most + 1, dtype=np.int64)
    stays = 0
    for times in drawn_again(len(units), draws, rng, width=most):
        above = times @ units >= -TIE * len(gaps)
        hit, first = above.any(axis=1), above.argmax(axis=1)
        found += np.bincount(np.where(hit, first, most), minlength=most + 1)
        # If it stays, no budget from the first on is missing.
        stays += int((hit & (above.sum(axis=1) == most - first)).sum())
    return found / draws, stays / draws
