"""Bins of difficulty from one part of the rollouts, so that the other part can judge.

What is chosen on some rollouts must be judged on others, or the unlucky tasks are called hard and
then found to do better (regression to the mean). Given c successes in n rollouts, the number
in m of them is hypergeometric, so that all ways of splitting are averaged in closed form and
nothing is drawn.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument

__all__ = ["EDGES", "Span", "first_part", "in_bins", "spans_of"]

EDGES = (0.0, 0.05, 0.25, 0.5, 1.0)
"""Where bins of difficulty end, unless told otherwise."""

Span = tuple[float, float]
"""A bin: low <= rate < high, or <= 1 where it ends at 1."""


def spans_of(edges: Sequence[float]) -> list[Span]:
    """Return the bins between `edges`.

    Raises:
        BadArgument: they do not rise from 0 to 1.
    """
    try:
        cuts = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        cuts = np.empty(0)
    whole = cuts.ndim == 1 and len(cuts) > 1 and cuts[0] == 0 and cuts[-1] == 1
    if not whole or not (np.diff(cuts) > 0).all():
        raise BadArgument(f"Expected `edges` that rise from 0 to 1, got {edges!r}.")
    return list(itertools.pairwise(cuts.tolist()))


def in_bins(rates: NDArray[np.float64], spans: Sequence[Span]) -> NDArray[np.float64]:
    """Return a 1 where one of M rates lies in one of B bins, (M, B)."""
    low, high = np.array(spans).T
    at = rates[:, None]
    inside: NDArray[np.bool_] = (at >= low) & ((at < high) | ((high == 1) & (at == 1)))
    return inside.astype(np.float64)


def first_part(c: NDArray[np.int64], n: int, m: int) -> NDArray[np.float64]:
    """Return the chances of 0, ..., m successes in m of n rollouts, of which c succeeded.

    Args:
        c: (T,) successes, 0 <= c <= n.
        n: rollouts.
        m: how many of them form the first part, 0 <= m <= n.

    Returns:
        (T, m + 1) rows that sum to 1.
    """
    log = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    all_c, first = c[:, None], np.arange(m + 1)
    possible = (first <= all_c) & (m - first <= n - all_c)
    hits = np.where(possible, first, np.maximum(m - (n - all_c), 0))
    ways = log[all_c] - log[hits] - log[all_c - hits]
    ways = ways + log[n - all_c] - log[m - hits] - log[n - all_c - (m - hits)]
    # Near the log's own size, so that nothing overflows.
    weight = np.where(possible, np.exp(ways - (log[n] - log[m] - log[n - m])), 0.0)
    chance: NDArray[np.float64] = weight / weight.sum(axis=1, keepdims=True)
    return chance
