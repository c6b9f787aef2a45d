"""Intervals over a handful of seeds: Student's t, without SciPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from agentenvs.errors import BadArgument

__all__ = ["Spread", "over_seeds", "t_quantile"]


class Spread(NamedTuple):
    """A mean over seeds with its interval.

    Attributes:
        mean: NaN where there is no value.
        sd: standard deviation between seeds; NaN with fewer than two.
        low, high: the ends of the t interval; NaN with fewer than two seeds.
        seeds: how many values the mean rests on.
    """

    mean: float
    sd: float
    low: float
    high: float
    seeds: int

    @property
    def decides(self) -> bool:
        """Whether there is an interval and 0 lies outside."""
        return self.low > 0 or self.high < 0


def over_seeds(values: Sequence[float], confidence: float = 0.95) -> Spread:
    """Return the mean of one value a seed, with the t interval for another such seed's mean.

    One seed has no interval: nothing says how far another one would lie. Seeds whose values are
    all alike have one of no width.

    Args:
        values: one a seed; NaN (undefined there) is left out.
        confidence: what the interval aims at.

    Raises:
        BadArgument: `confidence` outside (0, 1).
    """
    known = [float(value) for value in values if not math.isnan(value)]
    size = len(known)
    quantile = t_quantile(0.5 + confidence / 2, max(size - 1, 1))
    if not known:
        return Spread(math.nan, math.nan, math.nan, math.nan, 0)
    mean = math.fsum(known) / size
    if size == 1:
        return Spread(mean, math.nan, math.nan, math.nan, 1)
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (size - 1))
    half = quantile * sd / math.sqrt(size)
    return Spread(mean, sd, mean - half, mean + half, size)


def t_quantile(share: float, freedom: int) -> float:
    """Return the value below which a share of Student's t distribution lies.

    Args:
        share: between 0 and 1.
        freedom: degrees of freedom, at least 1.

    Raises:
        BadArgument: an argument out of range.

    Source: the finite sums for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and
    26.7.4), turned round by bisection.
    """
    if not 0 < share < 1:
        raise BadArgument(f"Expected a share between 0 and 1, got {share!r}.")
    if type(freedom) is not int or freedom < 1:
        raise BadArgument(f"Expected degrees of freedom of at least 1, got {freedom!r}.")
    if share == 0.5:
        return 0.0
    # Bisection over the angle, which is bounded, where t is not.
    low, high = -math.pi / 2, math.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        if _below(middle, freedom) < share:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _below(angle: float, freedom: int) -> float:
    """Return P(t < sqrt(freedom) tan(angle))."""
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term, total = (math.cos(angle), 0.0) if odd else (1.0, 0.0)
    for step in range(freedom // 2):
        total += term
        first = 2 * step + (2 if odd else 1)
        term *= square * first / (first + 1)
    inside = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return (1 + inside) / 2
