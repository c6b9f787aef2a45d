"""The Beta distribution without SciPy: its CDF, its quantiles, and means over it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["cdf", "expectation", "log_beta", "quantile"]

_Floats = NDArray[np.float64]
_NODES = 80


def log_beta(a: float, b: float) -> float:
    """Return ln B(a, b)."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@cache
def _legendre() -> tuple[_Floats, _Floats]:
    """Return the nodes and weights of Gauss-Legendre on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2


def cdf(x: ArrayLike, a: float, b: float) -> _Floats:
    """Return I_x(a, b), the chance that Beta(a, b) is at most `x`, for x in [0, 1] of any shape.

    By the continued fraction of DLMF 8.17.22, on the side of the mean where it converges fast.
    """
    at = np.asarray(x, dtype=np.float64)
    low = at <= (a + 1) / (a + b + 2)
    # Each side sees the other's points as 0, so that nothing overflows that is thrown away.
    left = _lower(np.where(low, at, 0.0), a, b)
    right = _lower(np.where(low, 0.0, 1 - at), b, a)
    whole: _Floats = np.where(low, left, 1 - right)
    return whole[()]


def _lower(x: _Floats, a: float, b: float) -> _Floats:
    with np.errstate(divide="ignore"):
        front = np.exp(a * np.log(x) + b * np.log1p(-x) - log_beta(a, b)) / a
    tiny = 1e-300
    d = 1 - (a + b) * x / (a + 1)
    d = 1 / np.where(np.abs(d) < tiny, tiny, d)
    c, fraction = np.ones_like(x), d
    for step in range(1, 200 + 20 * math.isqrt(math.ceil(max(a, b)))):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            d, c = 1 + term * d, 1 + term / c
            d = 1 / np.where(np.abs(d) < tiny, tiny, d)
            c = np.where(np.abs(c) < tiny, tiny, c)
            fraction = fraction * d * c
        if np.all(np.abs(d * c - 1) < 1e-14):
            break
    product: _Floats = front * fraction
    return product


def quantile(q: ArrayLike, a: float, b: float) -> _Floats:
    """Return x with I_x(a, b) = q, for q in [0, 1] of any shape, to about 1e-16."""
    share = np.asarray(q, dtype=np.float64)
    low, high = np.zeros_like(share), np.ones_like(share)
    for _ in range(60):
        middle = (low + high) / 2
        under = cdf(middle, a, b) < share
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    inner = (share > 0) & (share < 1)
    found: _Floats = np.where(inner, (low + high) / 2, share)
    return found[()]


def expectation(values: Callable[[_Floats], _Floats], a: float, b: float, kink: float) -> float:
    """Return the mean of `values(p)` for p ~ Beta(a, b).

    Gauss-Legendre between the ends, the kink and multiples of the standard deviation. Next to an
    end, p = u s^m with m a >= 6 takes the density's pole away.

    Args:
        values: smooth on both sides of `kink`.
        a: the parameter that counts successes, positive.
        b: the one that counts failures, positive.
        kink: where `values` has a corner, in (0, 1).
    """
    mean = a / (a + b)
    sd = math.sqrt(mean * (1 - mean) / (a + b + 1))
    around = [mean + width * sd for width in (-30, -10, -4, -1.5, 0, 1.5, 4, 10, 30)]
    cuts = sorted({0.0, kink, 1.0, *(cut for cut in around if 0 < cut < 1)})
    nodes, weights = _legendre()
    norm, total = log_beta(a, b), 0.0
    for low, high in itertools.pairwise(cuts):
        if low == 0.0:
            total += _end(values, a, b, high, norm, nodes, weights)
        elif high == 1.0:
            total += _end(lambda q: values(1 - q), b, a, 1 - low, norm, nodes, weights)
        else:
            p = low + (high - low) * nodes
            density = np.exp((a - 1) * np.log(p) + (b - 1) * np.log1p(-p) - norm)
            total += (high - low) * float(weights @ (density * values(p)))
    return total


def _end(
    values: Callable[[_Floats], _Floats],
    a: float,
    b: float,
    high: float,
    norm: float,
    nodes: _Floats,
    weights: _Floats,
) -> float:
    """Integrate over [0, high], where the density may have a pole at 0."""
    power = max(1, math.ceil(6 / a))
    p = high * nodes**power
    log = a * math.log(high) + (power * a - 1) * np.log(nodes) + (b - 1) * np.log1p(-p) - norm
    return power * float(weights @ (np.exp(log) * values(p)))
