"""Whether two measures put cells in the same order: Spearman's rank correlation."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax.shares import quantile

__all__ = ["Correlation", "rank_interval", "ranks", "rho_of", "spearman"]

_METHOD = "fisher-z, bonett-wright"
# Fewer pairs have no standard error.
_LEAST = 4


class Correlation(NamedTuple):
    """A rank correlation with its interval.

    All numbers but `n` are NaN with fewer than four pairs, or where one side has no spread.

    Attributes:
        rho: Spearman's correlation, from -1 to 1.
        low, high: the ends of the interval.
        n: pairs that it rests on.
        method: how the interval was made.
        confidence: what the interval aims at.
    """

    rho: float
    low: float
    high: float
    n: int
    method: str = _METHOD
    confidence: float = 0.95


def spearman(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Correlation:
    """Return the rank correlation of two measures of the same things.

    Equal values share the mean of their ranks. The interval is that of Bonett and Wright (2000):
    normal on the scale of atanh(rho), with variance (1 + rho^2 / 2) / (n - 3). It takes the pairs
    as drawn independently: cells that share a model or a benchmark make it too narrow.

    Args:
        x: (n,) numbers. A pair with a NaN on either side is left out.
        y: (n,) numbers.
        confidence: the share of intervals that should hold the truth.

    Raises:
        BadArgument: no numbers, not one list each, different lengths, or `confidence` outside
            (0, 1).
    """
    one, two = _column("x", x), _column("y", y)
    if len(one) != len(two):
        raise BadArgument(
            f"Expected `x` and `y` of one length, got {len(one)} and {len(two)} numbers."
        )
    both = ~(np.isnan(one) | np.isnan(two))
    return rank_interval(rho_of(one[both], two[both]), int(both.sum()), confidence)


def rank_interval(rho: float, n: int, confidence: float) -> Correlation:
    """Return a correlation that was found with `n` pairs, with its interval."""
    z = quantile(confidence)
    if math.isnan(rho) or n < _LEAST:
        return Correlation(math.nan, math.nan, math.nan, n, confidence=confidence)
    # At the very ends atanh is infinite and the interval would be empty. Half of one swap of
    # neighbours short of them is as near as n pairs can tell.
    most = 1 - 6 / (n**3 - n)
    inner = min(max(rho, -most), most)
    half = z * math.sqrt((1 + inner * inner / 2) / (n - 3))
    low, high = math.tanh(math.atanh(inner) - half), math.tanh(math.atanh(inner) + half)
    return Correlation(rho, min(low, rho), max(high, rho), n, confidence=confidence)


def rho_of(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return Spearman's correlation of two (n,) arrays without NaN; NaN where it is undefined."""
    if len(x) < _LEAST:
        return math.nan
    one, two = ranks(x), ranks(y)
    one, two = one - one.mean(), two - two.mean()
    scale = math.sqrt(float(one @ one) * float(two @ two))
    return min(max(float(one @ two) / scale, -1.0), 1.0) if scale else math.nan


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ranks from 1 to n of (n,) values; equal ones share the mean of theirs."""
    _, which, times = np.unique(values, return_inverse=True, return_counts=True)
    shared: NDArray[np.float64] = (np.cumsum(times) - (times - 1) / 2)[which]
    return shared


def _column(name: str, value: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadArgument(f"Expected `{name}` to list numbers, got {value!r:.80}.") from None
    if array.ndim != 1:
        raise BadArgument(f"Expected `{name}` to be one list, got shape {array.shape}.")
    return array
