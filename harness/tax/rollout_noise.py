"""How sure the measures are where these tasks are the whole benchmark: rollout noise alone.

Tasks are not drawn again; each keeps its chance of success p, and only its rollouts differ. Every
measure is a sum over tasks of unbiased estimates t(c) of some t(p), and

    Var t(c) = E t(c)^2 - t(p)^2

has an unbiased estimate itself: t(c)^2 less the unbiased estimate of t(p)^2. That one is known
for polynomials up to degree n: p^g q^h is estimated by the chance that the first g of the rollouts
in random order all succeed and the next h all fail. A(K)^2 has degree 2 K, hence K <= n / 2.
Putting c/n for p instead is biased where c is small: a task with one success in n becomes one
without any in 37 % of its replicates.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm, Tasks, paired, single_k
from agentenvs.harness.tax.estimators import area, areas_of, passes_of
from agentenvs.harness.tax.intervals import TaxInterval
from agentenvs.harness.tax.shares import Estimate, quantile
from agentenvs.harness.tax.student import student_quantile

__all__ = ["rollout_interval"]

# How many numbers are worked out at a time.
_BLOCK = 2**20


class _Measured(NamedTuple):
    """A measure and the variance that its rollouts give it.

    Attributes:
        value: the measure.
        variance: the sum of what the tasks contribute.
        squares: the sum of the squares of what the tasks contribute.
    """

    value: float
    variance: float
    squares: float

    def minus(self, other: _Measured) -> _Measured:
        """Return the drop; rollouts of different arms have nothing to do with each other."""
        variance, squares = self.variance + other.variance, self.squares + other.squares
        return _Measured(self.value - other.value, variance, squares)


class _Noise(NamedTuple):
    """Unbiased (co)variances of one task's pass@K, A(K) and share of failures q; all (T,)."""

    hit: NDArray[np.float64]
    area: NDArray[np.float64]
    fail: NDArray[np.float64]
    area_fail: NDArray[np.float64]


def rollout_interval(
    base: Arm,
    post: Arm,
    K: int,  # noqa: N803
    confidence: float = 0.95,
) -> TaxInterval:
    """Return what `sharpening_tax` does, and pass@K, with intervals for these very tasks.

    They say how far the numbers would move if the same policies played the same tasks again, and
    nothing of other tasks. They are the narrower the more rollouts there are; best is K <= n / 4,
    since the noise itself is known worse and worse towards K = n / 2. No interval (NaN) where its
    estimate is not above 0: every task always or never solved, or, by chance, hardly any seen.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        K: the budget, at most half of the smallest n of both.
        confidence: the share of intervals that should hold the truth.

    Raises:
        BadArgument: as `sharpening_tax`, K beyond n / 2, or `confidence` outside (0, 1).
    """
    arms = paired(base, post)
    smallest = arms.smallest_n
    k = single_k("K", K, smallest)
    if 2 * k > smallest:
        raise BadArgument(
            f"Expected `K` of at most n / 2, got K = {k}, but the smallest n is {smallest}: the "
            "noise of rollouts has no unbiased estimate there. `sharpening_tax_interval` has none "
            "of this limit; it covers the draw of tasks too."
        )
    quantile(confidence)
    hit_base, area_base, s_base = _arm(arms.base, k)
    hit_post, area_post, s_post = _arm(arms.post, k)
    return TaxInterval(
        K=k,
        confidence=confidence,
        tasks=len(arms.base.c),
        pass_base=_estimate(hit_base, confidence, 0.0, 1.0),
        pass_post=_estimate(hit_post, confidence, 0.0, 1.0),
        pass_gap=_estimate(hit_base.minus(hit_post), confidence, -1.0, 1.0),
        A_base=_estimate(area_base, confidence, 0.0, k - 1),
        A_post=_estimate(area_post, confidence, 0.0, k - 1),
        S_base=_estimate(s_base, confidence, 0.0, 1.0),
        S_post=_estimate(s_post, confidence, 0.0, 1.0),
        tax_A=_estimate(area_base.minus(area_post), confidence),
        tax_S=_estimate(s_base.minus(s_post), confidence),
        method="u-statistic",
        covers=("rollouts",),
        clusters=len(arms.base.c),
    )


def _arm(tasks: Tasks, k: int) -> tuple[_Measured, _Measured, _Measured]:
    """Return pass@k, A(k) and S(k) of one arm."""
    noise = _noise(tasks, k)
    areas, fails = areas_of(tasks, k), (tasks.n - tasks.c) / tasks.n
    hit = _measured(float(np.mean(passes_of(tasks, k))), noise.hit)
    rank = _measured(float(np.mean(areas)), noise.area)
    mean = float(np.mean(fails))
    if k == 1 or mean == 0:
        return hit, rank, _Measured(math.nan, math.nan, math.nan)
    s = rank.value / ((k - 1) * mean)
    # S as in `scalability_of`: a task pulls by (a / (k - 1) - S q) / mean q.
    pulls = noise.area / (k - 1) ** 2 - 2 * s / (k - 1) * noise.area_fail + s * s * noise.fail
    return hit, rank, _measured(s, pulls / (mean * mean))


def _measured(value: float, variances: NDArray[np.float64]) -> _Measured:
    parts = variances / len(variances) ** 2
    return _Measured(value, float(parts.sum()), float(np.dot(parts, parts)))


def _estimate(
    measured: _Measured, confidence: float, low: float = -math.inf, high: float = math.inf
) -> Estimate:
    value, variance, squares = measured
    # Rounding leaves about 1e-17 where nothing varies.
    if not variance > 1e-16 * max(1.0, value * value):
        return Estimate(value, math.nan, math.nan, math.nan)
    # Satterthwaite's degrees of freedom, as if each task had one: few where a few tasks make
    # most of the noise, as they do near K = n / 2.
    half = math.sqrt(variance) * student_quantile(confidence, max(2 * variance**2 / squares, 1.0))
    return Estimate(value, math.sqrt(variance), max(value - half, low), min(value + half, high))


def _noise(tasks: Tasks, k: int) -> _Noise:
    columns = np.empty((4, len(tasks.c)))
    for n in np.unique(tasks.n).tolist():
        where = np.flatnonzero(tasks.n == n)
        kinds, place = np.unique(tasks.c[where], return_inverse=True)
        parts = np.array_split(kinds, -(-len(kinds) * 2 * k // _BLOCK))
        table = np.concatenate([_variances(part, n, k) for part in parts], axis=1)
        columns[:, where] = table[:, place]
    return _Noise(*columns)


def _variances(c: NDArray[np.int64], n: int, k: int) -> NDArray[np.float64]:
    """Return the four rows of `_Noise` for (U,) different c at one n."""
    # A = sum of j p q^j, j < k: its square in powers of q, and A q.
    ranks = np.arange(float(k))
    squared = _products(c, n, 2, 2 * k - 2) @ np.convolve(ranks, ranks)
    crossed = _products(c, n, 1, k)[:, 1:] @ ranks
    missed = _products(c, n, 0, 2 * k)
    areas, fails = area(c, n, k), missed[:, 1]
    return np.stack(
        (
            missed[:, k] ** 2 - missed[:, 2 * k],
            areas**2 - squared,
            fails**2 - missed[:, 2],
            areas * fails - crossed,
        )
    )


def _products(c: NDArray[np.int64], n: int, successes: int, most: int) -> NDArray[np.float64]:
    """Return (U, most + 1) unbiased estimates of p^g q^h, g = `successes`, h = 0, ..., most."""
    start = np.ones((len(c), 1))
    for i in range(successes):
        start *= (np.maximum(c - i, 0) / (n - i))[:, None]
    drawn = np.arange(most)
    fails = np.maximum(n - c[:, None] - drawn, 0) / (n - successes - drawn)
    return start * np.cumprod(np.concatenate((np.ones_like(start), fails), axis=1), axis=1)
