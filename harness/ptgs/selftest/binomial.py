"""Tails of the binomial law, summed from its terms: no approximation."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["accepted", "chance_within"]


@lru_cache(maxsize=64)
def _factorials(n: int) -> NDArray[np.float64]:
    k = np.arange(n + 1, dtype=np.float64)
    return np.concatenate([[0.0], np.log(k[1:]).cumsum()])


def _terms(n: int, p: float) -> NDArray[np.float64]:
    """Return the chance of each count 0 .. n."""
    if p <= 0.0 or p >= 1.0:
        certain = np.zeros(n + 1)
        certain[0 if p <= 0.0 else n] = 1.0
        return certain
    logs, k = _factorials(n), np.arange(n + 1)
    every: NDArray[Any] = np.exp(
        logs[n] - logs[k] - logs[n - k] + k * math.log(p) + (n - k) * math.log1p(-p)
    )
    return every


def accepted(n: int, low: float, high: float, alpha: float) -> tuple[int, int]:
    """Return the counts that n draws give but with chance `alpha`, for any p in [low, high].

    Each side has half of `alpha`: below with p = `low`, above with p = `high`.
    """
    below = _terms(n, low).cumsum()
    above = _terms(n, high)[::-1].cumsum()
    return (
        int(np.searchsorted(below, alpha / 2, side="right")),
        n - int(np.searchsorted(above, alpha / 2, side="right")),
    )


def chance_within(n: int, p: float, bounds: tuple[int, int]) -> float:
    """Return the chance that a count of n draws with p lies in `bounds`, both included."""
    low, high = bounds
    return float(_terms(n, p)[max(low, 0) : high + 1].sum()) if low <= high else 0.0
