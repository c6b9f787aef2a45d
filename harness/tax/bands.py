"""Curves over budgets with bands that hold the whole curve at once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.harness.tax._checks import Arm, Paired, Tasks, paired
from agentenvs.harness.tax.clusters import (
    Clusters,
    by_cluster,
    cluster_codes,
    cluster_count,
    effective_count,
)
from agentenvs.harness.tax.curves import areas, budgets, misses
from agentenvs.harness.tax.simultaneous import (
    Band,
    Errors,
    Sup,
    bounded_band,
    checked_sup,
    open_band,
)

__all__ = ["Band", "CurveBands", "TaxBands", "curve_bands", "gap_band", "tax_bands"]

_Codes = NDArray[np.intp] | None
_Array = NDArray[np.float64]


class CurveBands(NamedTuple):
    """pass@k of both arms and its drop, made by `curve_bands`.

    Attributes:
        ks: (M,) budgets, rising.
        base, post: pass@k of the arms, each with a band for its whole curve.
        gap: pass@k of base minus that of post, arms paired by task, with a band of its own.
        critical: how many standard errors the bands are wide: base, post, gap.
        confidence: how often each band should hold its whole curve.
        method: how the bands were made.
        covers: what they cover.
        tasks: how many tasks they rest on.
        clusters: how many clusters of tasks, as many as tasks where each stands alone.
    """

    ks: NDArray[np.int64]
    base: Band
    post: Band
    gap: Band
    critical: tuple[float, float, float]
    confidence: float
    method: str
    covers: tuple[str, ...]
    tasks: int
    clusters: int


class TaxBands(NamedTuple):
    """S of both arms and the taxes, made by `tax_bands`.

    Attributes:
        ks: (M,) budgets from 2, rising.
        S_base, S_post: scalability of the arms; NaN where an arm never failed.
        tax_S, tax_A: base minus post.
        critical: how many standard errors the bands are wide: S_base, S_post, tax_S, tax_A.
        confidence, method, covers, tasks, clusters: as in `CurveBands`.
    """

    ks: NDArray[np.int64]
    S_base: Band
    S_post: Band
    tax_S: Band  # noqa: N815
    tax_A: Band  # noqa: N815
    critical: tuple[float, float, float, float]
    confidence: float
    method: str
    covers: tuple[str, ...]
    tasks: int
    clusters: int


def curve_bands(
    base: Arm,
    post: Arm,
    ks: ArrayLike | None = None,
    confidence: float = 0.95,
    clusters: Clusters | None = None,
    draws: int = 2000,
    seed: int = 0,
) -> CurveBands:
    """Return the pass@k curves of two arms and their drop, each with a band for all budgets.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        ks: budgets, at most the smallest n of both; by default all up to 64, then about 64 more
            up to the smallest n.
        confidence: how often each band should hold its whole curve.
        clusters: a label for each of base's tasks, or a mapping from task ids to labels; tasks
            of one label were drawn together.
        draws: curves of errors drawn for the width of a band.
        seed: of the draws.

    Raises:
        BadArgument: as `curve`, other tasks in one arm, or bad `clusters`, `confidence`, `draws`.
    """
    arms, codes, grid = _arguments(base, post, ks, clusters, least=1)
    sup = checked_sup(confidence, draws, seed)
    hits = [1 - misses(arm, grid) for arm in arms]
    made = [_share_band(arm, codes, sup) for arm in hits]
    gap = gap_band(hits[0], hits[1], codes, sup)
    size = len(arms.base.c)
    return CurveBands(
        ks=grid,
        base=made[0][0],
        post=made[1][0],
        gap=gap[0],
        critical=(made[0][1], made[1][1], gap[1]),
        confidence=confidence,
        method="sup-t",
        covers=("tasks", "rollouts"),
        tasks=size,
        clusters=cluster_count(codes, size),
    )


def tax_bands(
    base: Arm,
    post: Arm,
    ks: ArrayLike | None = None,
    confidence: float = 0.95,
    clusters: Clusters | None = None,
    draws: int = 2000,
    seed: int = 0,
) -> TaxBands:
    """Return S of two arms and the taxes over budgets, each with a band for all budgets.

    Arguments and errors as for `curve_bands`; budgets start at 2.
    """
    arms, codes, grid = _arguments(base, post, ks, clusters, least=2)
    sup = checked_sup(confidence, draws, seed)
    area = [areas(arm, grid, misses(arm, grid)) / (grid - 1) for arm in arms]
    first, second = (_scalability(arm, of, codes) for arm, of in zip(arms, area, strict=True))
    drop = area[0] - area[1]
    errors = mean_errors(drop, codes, -_most(grid), _most(grid))
    both = first.known & second.known
    differ = _spread(drop - drop.mean(axis=0), codes)
    tries = grid - 1
    tax_a, a_factor = _known(drop.mean(axis=0), errors, (-1.0, 1.0), both & differ, sup)
    s_base, base_factor = _known(first.value, first.errors, (0.0, 1.0), first.known, sup)
    s_post, post_factor = _known(second.value, second.errors, (0.0, 1.0), second.known, sup)
    tax_s, s_factor = _known(
        first.value - second.value,
        first.errors.minus(second.errors),
        (-1.0, 1.0),
        both & _spread(first.pull - second.pull, codes),
        sup,
    )
    size = len(arms.base.c)
    return TaxBands(
        ks=grid,
        S_base=s_base,
        S_post=s_post,
        tax_S=tax_s,
        tax_A=Band(*(tries * part for part in tax_a)),
        critical=(base_factor, post_factor, s_factor, a_factor),
        confidence=confidence,
        method="sup-t",
        covers=("tasks", "rollouts"),
        tasks=size,
        clusters=cluster_count(codes, size),
    )


def gap_band(base: _Array, post: _Array, codes: _Codes, sup: Sup) -> tuple[Band, float]:
    """Return the band of base minus post for (T, M) values in [0, 1], and its factor.

    Where no task tells the arms apart, the ends are those that the arms' own bands leave.
    """
    drop = base - post
    gap = drop.mean(axis=0)
    band, critical = bounded_band(gap, mean_errors(drop, codes, -1.0, 1.0), (-1.0, 1.0), sup)
    alike = ~_spread(drop - gap, codes)
    if alike.any():
        one, two = (_share_band(arm[:, alike], codes, sup)[0] for arm in (base, post))
        # The ends of two bands add in squares, as those of independent arms do.
        down = np.hypot(one.value - one.low, two.high - two.value)
        up = np.hypot(one.high - one.value, two.value - two.low)
        band.low[alike] = np.maximum(gap[alike] - down, -1.0)
        band.high[alike] = np.minimum(gap[alike] + up, 1.0)
    return band, critical


def _share_band(values: _Array, codes: _Codes, sup: Sup) -> tuple[Band, float]:
    return bounded_band(values.mean(axis=0), mean_errors(values, codes), (0.0, 1.0), sup)


def mean_errors(
    values: _Array, codes: _Codes, low: _Array | float = 0.0, high: _Array | float = 1.0
) -> Errors:
    """Return how the means of (T, M) values err, with half a task at `low` and at `high`."""
    return _ratio_errors(values, np.ones(len(values)), codes, low, high)


def _ratio_errors(
    values: _Array, weights: _Array, codes: _Codes, low: _Array | float, high: _Array | float
) -> Errors:
    """Return how sum of values / sum of weights errs; the half tasks weigh as usual ones do."""
    joint = by_cluster(weights, codes)
    total = float(weights.sum())
    # A task is met in the sums as often as it weighs, so this is the weight that is usual there.
    usual = float(joint @ joint) / total
    middle = (values.sum(axis=0) + usual * (low + high) / 2) / (total + usual)
    pulls = by_cluster((values - middle * weights[:, None]).T, codes).T
    if codes is not None and len(pulls) > 1:
        # A large cluster draws the mean to itself and looks quieter than it is.
        pulls = pulls * ((1 - 1 / len(pulls)) / (1 - np.bincount(codes) / len(codes)))[:, None]
    halves = math.sqrt(0.5) * usual * np.stack((low - middle, high - middle))
    groups = effective_count(codes, len(weights))
    return Errors(middle, pulls / (total + usual), halves / (total + usual), groups)


class _Scalability(NamedTuple):
    """S at each budget, each task's pull at it, its errors, and where its spread is known."""

    value: _Array
    pull: _Array
    errors: Errors
    known: NDArray[np.bool_]


def _scalability(tasks: Tasks, area: _Array, codes: _Codes) -> _Scalability:
    fails = (tasks.n - tasks.c) / tasks.n
    if not fails.any():
        nan = np.full(area.shape, math.nan)
        errors = Errors(nan[0], by_cluster(nan.T, codes).T, nan[:1], math.nan)
        return _Scalability(nan[0], nan, errors, np.zeros(len(nan[0]), dtype=bool))
    value = area.sum(axis=0) / fails.sum()
    pull = area - value * fails[:, None]
    errors = _ratio_errors(area, fails, codes, 0.0, 1.0)
    return _Scalability(value, pull, errors, _spread(pull, codes))


def _spread(pull: _Array, codes: _Codes) -> NDArray[np.bool_]:
    """Return where (T, M) pulls say anything: several clusters that are not all alike."""
    sums = by_cluster(pull.T, codes)
    # Rounding leaves about 1e-16 where every task has the same value.
    known: NDArray[np.bool_] = (np.abs(sums).max(axis=1) >= 1e-13) & (sums.shape[1] > 1)
    return known


def _known(
    value: _Array, errors: Errors, span: tuple[float, float], known: NDArray[np.bool_], sup: Sup
) -> tuple[Band, float]:
    """Return the band where the spread is known, NaN elsewhere, and its factor."""
    band = open_band(value)
    if not known.any():
        return band, math.nan
    part, critical = bounded_band(value[known], errors.at(known), span, sup)
    band.low[known], band.high[known] = part.low, part.high
    return band, critical


def _most(ks: NDArray[np.int64]) -> _Array:
    """Return about the most that A(K) / (K - 1) can be for a task; see `s_max`."""
    p = np.minimum(1.793 / ks, 1 - 1e-9)
    miss = (1 - p) ** (ks - 1)
    most: _Array = (1 - miss) / (p * (ks - 1)) - miss
    return most


def _arguments(
    base: Arm, post: Arm, ks: ArrayLike | None, clusters: Clusters | None, least: int
) -> tuple[Paired, _Codes, NDArray[np.int64]]:
    arms = paired(base, post)
    codes = cluster_codes(clusters, base, len(arms.base.c))
    smallest = arms.smallest_n
    return arms, codes, budgets(ks, smallest, least)
