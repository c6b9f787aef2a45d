"""Intervals over a handful of seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from agentenvs.harness.tax.student import student_quantile

__all__ = ["Spread", "over_seeds"]


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
    quantile = student_quantile(confidence, max(size - 1, 1))
    if not known:
        return Spread(math.nan, math.nan, math.nan, math.nan, 0)
    mean = math.fsum(known) / size
    if size == 1:
        return Spread(mean, math.nan, math.nan, math.nan, 1)
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (size - 1))
    half = quantile * sd / math.sqrt(size)
    return Spread(mean, sd, mean - half, mean + half, size)
