"""How success rates are spread over tasks, and how much rollouts scatter given that.

What c successes in n rollouts would have been with other n cannot be read off c / n: a task with
no success in 8 may have a rate of 0 or of 5 %. Here the rates of an arm's tasks are a mixture on a
grid, fitted by likelihood without any shape being assumed (Kiefer and Wolfowitz 1956, by EM).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Tasks
from agentenvs.harness.tax.estimators import area

__all__ = ["Rates", "fit_rates", "scalability_noise"]

_Array = NDArray[np.float64]

# Even on the arcsine scale, where a rate's error is the same everywhere.
_GRID = 161
_ROUNDS = 300
# From here on the noise is taken as going with 1 / n.
_LARGE_N = 2048


class Rates(NamedTuple):
    """Success rates and their shares of the tasks.

    Attributes:
        rates: (P,) from 0 to 1.
        shares: (P,) summing to 1.
    """

    rates: _Array
    shares: _Array


def fit_rates(tasks: Tasks) -> Rates:
    """Return the mixture of success rates that makes the counts likeliest."""
    rates = np.sin(np.linspace(0, math.pi / 2, _GRID)) ** 2
    # Rounding must not leave the ends a hair inside.
    rates[0], rates[-1] = 0.0, 1.0
    kinds, where = tasks.kinds()
    chance = _binomial(kinds.c[:, None], kinds.n[:, None], rates)
    weight = np.bincount(where) / len(where)
    shares = np.full(_GRID, 1 / _GRID)
    for _ in range(_ROUNDS):
        shares = shares * ((weight / (chance @ shares)) @ chance)
    return Rates(rates, shares / shares.sum())


def scalability_noise(fitted: Rates, s: float, k: int, n: int) -> float:
    """Return the mean variance over tasks that n rollouts leave in a task's part of S(k).

    The part is a / (k - 1) - s q, as in `scalability_of` before the division by mean q.

    Args:
        fitted: the success rates.
        s: S(k).
        k: the budget, 2 <= k <= n.
        n: rollouts of each task.
    """
    size = min(n, max(_LARGE_N, 2 * k))
    counts = np.arange(size + 1)
    part = area(counts, size, k) / (k - 1) - s * (size - counts) / size
    chance = _binomial(counts[:, None], np.array(size), fitted.rates)
    mean = part @ chance
    variance = np.maximum(part**2 @ chance - mean**2, 0)
    return float(fitted.shares @ variance) * size / n


def _binomial(c: NDArray[np.int64], n: NDArray[np.int64], rates: _Array) -> _Array:
    """Return the chances of c successes in n, rates from 0 to 1 along the last axis."""
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, int(n.max()) + 1)))))
    inner = rates[1:-1]
    out = np.zeros(np.broadcast_shapes(c.shape, n.shape, rates.shape))
    out[..., :1], out[..., -1:] = c == 0, c == n
    ways = logs[n] - logs[c] - logs[n - c]
    out[..., 1:-1] = np.exp(ways + c * np.log(inner) + (n - c) * np.log1p(-inner))
    return out
