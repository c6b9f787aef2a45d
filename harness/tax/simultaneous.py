"""Bands that hold many estimates at once: how wide, and around what.

A band is as wide as c standard errors everywhere, with c such that jointly normal errors of the
estimates' correlation stay within with the chance asked for (studentised sup-t). Near the ends of
what an estimate can be, or with a few tasks that decide everything, such a band does not hold
what it says. Hence the ends are Wilson's, and the spread and the correlation are measured with
half a task at either extreme added, as `shares` does for one estimate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import check_seed, check_times
from agentenvs.harness.tax.shares import quantile, wilson_ends
from agentenvs.harness.tax.student import student_quantile

__all__ = [
    "Band",
    "Errors",
    "Sup",
    "bounded_band",
    "checked_sup",
    "open_band",
    "sup_t",
    "wilson_band",
]

_BLOCK = 2**21
# What of an estimate's variance may be left out of the drawn curves of errors.
_LEFT_OUT = 1e-6

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


class Errors(NamedTuple):
    """How M estimates err, with half a task at either extreme added.

    Attributes:
        middle: (M,) the estimates with the half tasks.
        pulls: (G, M) what each task, or cluster of tasks, adds to the error of all of them; the
            errors are the sums.
        halves: (H, M) the same of the half tasks.
        groups: how many tasks, or clusters of one size, tell the spread as surely.
    """

    middle: _Array
    pulls: _Array
    halves: _Array
    groups: float

    def minus(self, other: Errors) -> Errors:
        """Return the errors of differences of estimates over the same tasks."""
        halves = np.concatenate((self.halves, other.halves))
        return Errors(self.middle - other.middle, self.pulls - other.pulls, halves, self.groups)

    def at(self, where: NDArray[np.bool_]) -> Errors:
        """Return the errors of some of the estimates."""
        middle, pulls, halves = (x[..., where] for x in self[:3])
        return Errors(middle, pulls, halves, self.groups)


class Sup(NamedTuple):
    """How sure a band shall be, and what it is drawn from."""

    confidence: float
    draws: int
    seed: int


def checked_sup(confidence: float, draws: int, seed: int) -> Sup:
    """Return what a band is drawn from.

    Raises:
        BadArgument: `confidence` outside (0, 1), not 1 to a million `draws`, or a `seed` that is
            none.
    """
    quantile(confidence)
    return Sup(confidence, check_times("draws", draws), check_seed(seed))


def bounded_band(
    value: _Array, errors: Errors, span: tuple[float, float], sup: Sup
) -> tuple[Band, float]:
    """Return Wilson's ends for many estimates at once, and the factor c.

    Args:
        value: (M,) estimates.
        errors: how they err.
        span: the least and the most that an estimate can be.
        sup: confidence, draws and seed.
    """
    units = np.concatenate((errors.pulls, errors.halves))
    critical = sup_t(units, max(errors.groups - 1, 1), sup)
    return wilson_band(value, errors, span, critical), critical


def wilson_band(value: _Array, errors: Errors, span: tuple[float, float], critical: float) -> Band:
    """Return Wilson's ends for estimates that reach `critical` standard errors to each side.

    Args:
        value: (M,) estimates.
        errors: how they err.
        span: the least and the most that an estimate can be.
        critical: the factor.
    """
    low, high = span
    groups = len(errors.pulls)
    units = np.concatenate((errors.pulls, errors.halves))
    variance = np.einsum("um,um->m", units, units) * (groups + 1) / max(groups - 1, 1)
    # As many tries as a yes-or-no question would need to be as sure.
    like = (errors.middle - low) * (high - errors.middle) / variance
    share = np.clip((value - low) / (high - low), 0, 1)
    bottom, top = (low + (high - low) * end for end in wilson_ends(share, like, critical))
    # Rounding must not put an end on the wrong side of the value.
    return Band(value, np.minimum(bottom, value), np.maximum(top, value))


def open_band(value: _Array) -> Band:
    """Return estimates without a band."""
    return Band(value, np.full(len(value), math.nan), np.full(len(value), math.nan))


def sup_t(pulls: _Array, freedom: float, sup: Sup) -> float:
    """Return the factor c such that all estimates lie within c standard errors.

    The limit of multiplier draws: errors are normal with the correlation that the pulls show, so
    that the factor does not hang on the order of tasks. Their common scale has the freedom of an
    estimated one, which makes up for few tasks.

    Args:
        pulls: (U, M) what U independent units add to the errors of M estimates.
        freedom: degrees of freedom of the standard errors.
        sup: confidence, draws and seed.

    Returns:
        At least the two-sided quantile of Student's t.
    """
    unit = pulls / np.sqrt(np.einsum("um,um->m", pulls, pulls))
    root = _root(unit)
    rng = np.random.default_rng(sup.seed)
    scale = np.sqrt(rng.chisquare(freedom, sup.draws) / freedom)
    most = np.empty(sup.draws)
    step = max(1, _BLOCK // unit.shape[1])
    for start in range(0, sup.draws, step):
        part = slice(start, min(start + step, sup.draws))
        errors = rng.standard_normal((part.stop - start, len(root))) @ root
        most[part] = np.abs(errors).max(axis=1)
    least = student_quantile(sup.confidence, freedom)
    return max(float(np.quantile(most / scale, sup.confidence)), least)


def _root(unit: _Array) -> _Array:
    """Return (R, M) rows whose products are the correlations of the columns of `unit`.

    Pivoted Cholesky: neighbouring budgets err alike, so that few rows hold all, and it is unique
    where eigenvectors have arbitrary signs.
    """
    left = np.ones(unit.shape[1])
    rows: list[_Array] = []
    for _ in range(min(unit.shape)):
        at = int(left.argmax())
        if left[at] < _LEFT_OUT:
            break
        row = unit[:, at] @ unit
        for before in rows:
            row -= before[at] * before
        row /= math.sqrt(left[at])
        rows.append(row)
        left = np.maximum(left - row**2, 0.0)
    return np.array(rows)
