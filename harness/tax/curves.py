"""Whole curves of single tasks: r_k and A(K) at many budgets at once, for bands over budgets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Tasks, check_k, integers

__all__ = ["areas", "budgets", "log_budgets", "misses"]

# How many numbers a table holds at a time.
_BLOCK = 2**21
# Up to here every budget is shown; beyond, about as many on a log scale.
_DENSE = 64


def log_budgets(n: int) -> NDArray[np.int64]:
    """Return budgets that show a curve up to n: all up to 64, then about 64 on a log scale.

    n/4, n/2 and n are always among them.
    """
    dense = np.arange(1, min(n, _DENSE) + 1)
    if n <= 2 * _DENSE:
        return np.arange(1, n + 1)
    sparse = np.rint(np.geomspace(_DENSE, n, _DENSE + 1)).astype(np.int64)
    return np.unique(np.concatenate((dense, sparse, [n // 4, n // 2, n])))


def budgets(ks: ArrayLike | None, smallest_n: int, least: int = 1) -> NDArray[np.int64]:
    """Return checked budgets in rising order, each once; by default `log_budgets` of n.

    Raises:
        BadArgument: none, or no list of whole numbers from `least` to the smallest n.
    """
    if ks is None:
        grid = log_budgets(smallest_n)
        grid = grid[grid >= least]
        if not grid.size:
            raise BadArgument(f"Expected at least {least} rollouts of each task, got {smallest_n}.")
        return grid
    grid = integers("ks", ks)
    if grid.ndim != 1 or not grid.size:
        raise BadArgument(f"Expected `ks` to be a list of budgets, got shape {grid.shape}.")
    grid = np.unique(grid)
    check_k("k", int(grid[0]), int(grid[-1]), smallest_n)
    if grid[0] < least:
        raise BadArgument(f"Expected `ks` of at least {least}, got {grid[0]}.")
    return grid


def misses(tasks: Tasks, ks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return r_k, the chance that k rollouts all fail, for each task at each of the budgets.

    Args:
        tasks: T tasks.
        ks: (M,) budgets in rising order, at most the smallest n.

    Returns:
        (T, M) numbers in [0, 1].
    """
    kinds, where = tasks.kinds()
    c, n = (part[:, None] for part in kinds)
    drawn = np.arange(int(ks[-1]))
    table = np.empty((len(n), len(ks)))
    step = max(1, _BLOCK // len(drawn))
    for start in range(0, len(n), step):
        part = slice(start, start + step)
        left = np.maximum(n[part] - c[part] - drawn, 0) / (n[part] - drawn)
        table[part] = np.cumprod(left, axis=1)[:, ks - 1]
    return table[where]


def areas(tasks: Tasks, ks: NDArray[np.int64], missed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return A(K) for each task at each of the budgets, to about n * 1e-16 * K absolutely.

    Args:
        tasks: T tasks.
        ks: (M,) budgets.
        missed: (T, M) as `misses` gives it.
    """
    c, n = tasks.c[:, None], tasks.n[:, None]
    area: NDArray[np.float64] = (n - c - missed * (n + c * (ks - 1.0))) / (c + 1)
    return np.maximum(area, 0.0)
