"""Tasks, or clusters of them, drawn again with replacement: and the ends of what comes out."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax.clusters import cluster_count

__all__ = ["drawn_again", "ends"]

# How many numbers a block of replicates holds at a time.
_BLOCK = 2**21


def drawn_again(
    size: int,
    draws: int,
    rng: np.random.Generator,
    clusters: NDArray[np.intp] | None = None,
    width: int = 1,
) -> Iterator[NDArray[np.float64]]:
    """Yield how often each task is drawn, in blocks of replicates.

    Args:
        size: T tasks.
        draws: replicates in all.
        rng: draws them.
        clusters: (T,) codes of tasks that are drawn together.
        width: numbers that a replicate is worked out on, where more than T.

    Yields:
        (B, T) whole numbers; without clusters each row sums to T.
    """
    units = cluster_count(clusters, size)
    block = max(1, _BLOCK // max(size, width))
    for start in range(0, draws, block):
        rows = min(block, draws - start)
        places = rng.integers(units, size=(rows, units)) + units * np.arange(rows)[:, None]
        times = np.bincount(places.ravel(), minlength=rows * units).reshape(rows, units)
        yield (times if clusters is None else times[:, clusters]).astype(np.float64)


def ends(values: NDArray[np.generic], confidence: float, point: float) -> tuple[float, float]:
    """Return the percentile interval of replicates, widened to hold the estimate."""
    if not len(values):
        return point, point
    ranked = np.sort(values)
    tail = (1 - confidence) / 2 * (len(ranked) - 1)
    low, high = ranked[math.floor(tail)], ranked[math.ceil(len(ranked) - 1 - tail)]
    return min(float(low), point), max(float(high), point)
