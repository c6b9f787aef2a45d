"""Curves over budgets with bands that hold the whole curve at once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.harness.tax._checks import Arm, Paired, Tasks, paired
from agentenvs.harness.tax.clusters import Clusters, by_cluster, cluster_codes, cluster_count
from agentenvs.harness.tax.curves import areas, budgets, misses
from agentenvs.harness.tax.shares import quantile
from agentenvs.harness.tax.simultaneous import check_draws, sup_t

__all__ = ["Band", "CurveBands", "TaxBands", "curve_bands", "gap_band", "tax_bands"]

_Codes = NDArray[np.intp] | None
_Array = NDArray[np.float64]


class Band(NamedTuple):
    """A curve over budgets with its band.

    Attributes:
        value: (M,) the estimates.
        low, high: (M,) the ends of the band; NaN where the spread is unknown.
    """

    value: _Array
    low: _Array
    high: _Array


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
    arms, codes, grid = _arguments(base, post, ks, confidence, clusters, draws, least=1)
    hits = [1 - misses(arm, grid) for arm in arms]
    first, second = (_share_band(values, codes, confidence, draws, seed) for values in hits)
    gap = gap_band(hits[0], hits[1], codes, confidence, draws, seed)
    size = len(arms.base.c)
    return CurveBands(
        ks=grid,
        base=first[0],
        post=second[0],
        gap=gap[0],
        critical=(first[1], second[1], gap[1]),
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
    arms, codes, grid = _arguments(base, post, ks, confidence, clusters, draws, least=2)
    parts = [_scalability(arm, grid) for arm in arms]
    (s_base, s_base_pull, area_base), (s_post, s_post_pull, area_post) = parts
    drop = area_base - area_post
    tax_a = drop.mean(axis=0)
    made = [
        _plain_band(s_base, s_base_pull, codes, confidence, draws, seed, (0.0, 1.0)),
        _plain_band(s_post, s_post_pull, codes, confidence, draws, seed, (0.0, 1.0)),
        _plain_band(s_base - s_post, s_base_pull - s_post_pull, codes, confidence, draws, seed),
        _plain_band(tax_a, drop - tax_a, codes, confidence, draws, seed),
    ]
    size = len(arms.base.c)
    return TaxBands(
        ks=grid,
        S_base=made[0][0],
        S_post=made[1][0],
        tax_S=made[2][0],
        tax_A=made[3][0],
        critical=(made[0][1], made[1][1], made[2][1], made[3][1]),
        confidence=confidence,
        method="sup-t",
        covers=("tasks", "rollouts"),
        tasks=size,
        clusters=cluster_count(codes, size),
    )


def _arguments(
    base: Arm,
    post: Arm,
    ks: ArrayLike | None,
    confidence: float,
    clusters: Clusters | None,
    draws: int,
    least: int,
) -> tuple[Paired, _Codes, NDArray[np.int64]]:
    arms = paired(base, post)
    codes = cluster_codes(clusters, base, len(arms.base.c))
    quantile(confidence)
    check_draws(draws)
    smallest = int(min(arms.base.n.min(), arms.post.n.min()))
    return arms, codes, budgets(ks, smallest, least)


def _share_band(
    values: _Array, codes: _Codes, confidence: float, draws: int, seed: int
) -> tuple[Band, float]:
    """Return the band of a mean of (T, M) values in [0, 1]: Wilson's, with the factor for all."""
    critical = sup_t(_with_halves(values, codes), confidence, draws, seed, _freedom(values, codes))
    return _wilson(values, codes, critical), critical


def gap_band(
    base: _Array, post: _Array, codes: _Codes, confidence: float, draws: int, seed: int
) -> tuple[Band, float]:
    """Return the band of base minus post for (T, M) values in [0, 1], and its factor."""
    drop = base - post
    value = drop.mean(axis=0)
    return _plain_band(value, drop - value, codes, confidence, draws, seed, (-1.0, 1.0))


def _with_halves(values: _Array, codes: _Codes) -> _Array:
    size = len(values)
    middle = (values.sum(axis=0) + 0.5) / (size + 1)
    units = by_cluster((values - middle).T, codes).T
    halves = np.stack((-middle, 1 - middle)) * math.sqrt(0.5)
    return np.concatenate((units, halves))


def _wilson(values: _Array, codes: _Codes, z: float) -> Band:
    """Return `share_interval` of each column."""
    size, mean = len(values), values.mean(axis=0)
    middle = (size * mean + 0.5) / (size + 1)
    spread = (np.einsum("tm,tm->m", values, values) + 0.5) / (size + 1) - middle**2
    like = middle * (1 - middle) / spread * max(size - 1, 1) / _design(values - mean, codes)
    shrink = 1 + z * z / like
    centre = (mean + z * z / (2 * like)) / shrink
    noise = np.maximum(mean * (1 - mean), 0) / like + (z / (2 * like)) ** 2
    half = z / shrink * np.sqrt(noise)
    low = np.minimum(np.clip(centre - half, 0, 1), mean)
    return Band(mean, low, np.maximum(np.clip(centre + half, 0, 1), mean))


def _design(pull: _Array, codes: _Codes) -> _Array | float:
    """Return how much clusters widen the variance of a mean, at least 1."""
    if codes is None:
        return 1.0
    size, groups = len(pull), cluster_count(codes, len(pull))
    sums = by_cluster(pull.T, codes)
    plain = np.einsum("tm,tm->m", pull, pull) * size / (size - 1)
    joint = np.einsum("mg,mg->m", sums, sums) * groups / max(groups - 1, 1)
    known = plain > 1e-20
    wider = np.divide(joint, plain, out=np.full(len(plain), size / groups), where=known)
    least_one: _Array = np.maximum(wider, 1.0)
    return least_one


def _freedom(values: _Array, codes: _Codes) -> int:
    return max(cluster_count(codes, len(values)) - 1, 1)


def _plain_band(
    value: _Array,
    pull: _Array,
    codes: _Codes,
    confidence: float,
    draws: int,
    seed: int,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> tuple[Band, float]:
    """Return value -+ c standard errors, NaN where an estimate has no spread."""
    units = by_cluster(pull.T, codes).T
    groups = len(units)
    known = np.isfinite(value) & (np.abs(units).max(axis=0) >= 1e-13)
    low, high = (np.full(len(value), math.nan) for _ in range(2))
    if groups < 2 or not known.any():
        return Band(value, low, high), math.nan
    critical = sup_t(units[:, known], confidence, draws, seed, groups - 1)
    square = np.einsum("um,um->m", units[:, known], units[:, known])
    half = critical * np.sqrt(square * groups / (groups - 1)) / len(pull)
    low[known] = np.maximum(value[known] - half, bounds[0])
    high[known] = np.minimum(value[known] + half, bounds[1])
    return Band(value, low, high), critical


def _scalability(tasks: Tasks, ks: NDArray[np.int64]) -> tuple[_Array, _Array, _Array]:
    """Return S at each budget, each task's pull at it, and each task's areas."""
    area = areas(tasks, ks, misses(tasks, ks))
    fails = ((tasks.n - tasks.c) / tasks.n)[:, None]
    mean = float(fails.mean())
    if mean == 0:
        return np.full(len(ks), math.nan), np.full(area.shape, math.nan), area
    value = area.mean(axis=0) / ((ks - 1) * mean)
    return value, (area / (ks - 1) - value * fails) / mean, area
