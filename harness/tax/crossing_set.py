"""Which budgets may be the first crossing: the set for k* that a band over all budgets allows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Arm, Paired, paired, single_k
from agentenvs.harness.tax.bands import gap_band
from agentenvs.harness.tax.clusters import Clusters, by_cluster, cluster_codes, cluster_count
from agentenvs.harness.tax.curves import misses
from agentenvs.harness.tax.measures import TIE, crossover
from agentenvs.harness.tax.resampled import drawn_again
from agentenvs.harness.tax.simultaneous import Sup, checked_sup

__all__ = ["CrossoverSet", "crossover_set"]


class CrossoverSet(NamedTuple):
    """Every budget that may be k*, made by `crossover_set`.

    The set is (1,) where base is ahead at the first try, beyond doubt. It holds every budget, and
    is `censored` as well, where the data say nothing; so it is for arms that are the same, which
    `same` tells apart.

    Attributes:
        k: k* as `crossover` gives it; None where it lies beyond K.
        ks: the budgets that the band of the gap allows as the first crossing, rising.
        censored: whether the band allows that base does not catch up within K.
        share: (K,) how often replicates have their k* at 1, ..., K; NaN where no task differs
            from another, so that there is nothing to draw again.
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
        """Whether the set leaves anything out."""
        return len(self.ks) < self.K or not self.censored


def crossover_set(
    base: Arm,
    post: Arm,
    K: int,  # noqa: N803
    confidence: float = 0.95,
    clusters: Clusters | None = None,
    draws: int = 2000,
    seed: int = 0,
) -> CrossoverSet:
    """Return every k that may be the first at which base solves as many tasks as post.

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
    ks = np.arange(1, most + 1)
    hits = [1 - misses(arm, ks) for arm in arms]
    band, _ = gap_band(hits[0], hits[1], codes, sup)
    # Unknown ends leave everything open.
    reaches = ~(band.high < -TIE)
    behind = ~(band.low >= -TIE)
    open_until = np.concatenate(([True], np.logical_and.accumulate(behind)))
    allowed = reaches & open_until[:-1]
    share, stays = _replicates(hits[0] - hits[1], arms, codes, sup)
    return CrossoverSet(
        k=found.k,
        ks=tuple(ks[allowed].tolist()),
        censored=bool(open_until[-1]),
        share=share[:most],
        share_censored=float(share[most]),
        stays_above=stays,
        K=most,
        confidence=confidence,
        method="sup-t",
        covers=("tasks", "rollouts"),
        same=bool((np.abs(found.gap) <= TIE).all()),
        tasks=size,
        clusters=cluster_count(codes, size),
        draws=draws,
    )


def _replicates(
    gaps: NDArray[np.float64], arms: Paired, codes: NDArray[np.intp] | None, sup: Sup
) -> tuple[NDArray[np.float64], float]:
    """Return how often k* is 1, ..., K and beyond, and how often base stays above.

    Args:
        gaps: (T, K) pass@k of base minus that of post.
        arms: the counts, by which tasks are put in an order of their own.
        codes: the tasks' clusters.
        sup: draws and seed.
    """
    most = gaps.shape[1]
    if np.abs(gaps - gaps[0]).max() < 1e-13:
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
