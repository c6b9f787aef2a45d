"""Quantiles and tails of Student's t, whole degrees of freedom or not, without SciPy."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument

__all__ = ["student_quantile", "student_tail"]

_NODES = 80
# Above this confidence the share outside is worked out by itself.
_OUTER = 0.999


def student_quantile(confidence: float, freedom: float) -> float:
    """Return t such that Student's distribution holds `confidence` between -t and t.

    With x = sqrt(freedom) tan u its density is cos(u) ** (freedom - 1). Newton's method starts
    from the normal quantile, which lies below; the share held is concave in t, so that no step
    goes too far. Where next to nothing lies outside, rounding of the share held would drown it,
    and `student_tail` takes its place.

    Args:
        confidence: in (0, 1), and far enough from 1 for half of the rest to be seen.
        freedom: degrees of freedom, at least 1, fractions too.

    Raises:
        BadArgument: an argument out of range.
    """
    if not 0 < confidence < 1 or 0.5 + confidence / 2 == 1:
        raise BadArgument(f"Expected `confidence` between 0 and 1, got {confidence!r}.")
    if not 1 <= freedom < math.inf:
        raise BadArgument(f"Expected degrees of freedom of at least 1, got {freedom!r}.")
    nodes, weights = _legendre()
    log_beta = math.lgamma(freedom / 2) + math.lgamma(0.5) - math.lgamma((freedom + 1) / 2)
    whole, root = math.exp(log_beta) / 2, math.sqrt(freedom)
    t = NormalDist().inv_cdf(0.5 + confidence / 2)
    for _ in range(100):
        angle = math.atan(t / root)
        slope = math.cos(angle) ** (freedom + 1) / (whole * root)
        if confidence > _OUTER:
            more = student_tail(t, freedom) - (1 - confidence)
        else:
            more = (
                confidence - angle * float(weights @ np.cos(angle * nodes) ** (freedom - 1)) / whole
            )
        step = more / slope
        t += step
        if abs(step) < 1e-12 * t:
            break
    return t


def student_tail(t: float, freedom: float) -> float:
    """Return how much of Student's distribution lies beyond -t and t.

    With x = sqrt(freedom) cot v it is the integral of sin(v) ** (freedom - 1) from 0, which is
    taken from the end where the most of it lies.

    Args:
        t: any number; the sign does not matter.
        freedom: degrees of freedom, at least 1, fractions too.

    Raises:
        BadArgument: `freedom` out of range.
    """
    if not 1 <= freedom < math.inf:
        raise BadArgument(f"Expected degrees of freedom of at least 1, got {freedom!r}.")
    nodes, weights = _legendre()
    log_beta = math.lgamma(freedom / 2) + math.lgamma(0.5) - math.lgamma((freedom + 1) / 2)
    top = math.atan2(math.sqrt(freedom), abs(t))
    # Where the integrand has fallen by e ** -40: along its slope, or as a bell.
    slope = (freedom - 1) / math.tan(top)
    width = min(top, 40 / max(slope, 1e-9), 9 / math.sqrt(max(freedom - 1, 1e-9)))
    at = top - width * nodes
    part = width * float(weights @ np.sin(at) ** (freedom - 1))
    return min(2 * part / math.exp(log_beta), 1.0)


@cache
def _legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the nodes and weights of Gauss-Legendre on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2
