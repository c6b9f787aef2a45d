"""Rollouts split in two without drawing: how many of a task's successes fall into the first part.

What is chosen on some rollouts must be judged on others, or the unlucky tasks are called hard and
then found to do better (regression to the mean). Given c successes in n rollouts, the number
in m of them is hypergeometric, so that all ways of splitting are averaged in closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["first_part"]


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
