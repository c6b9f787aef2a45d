"""pass@k, pass^k and the area A(K) of single tasks, from c successes in n rollouts.

Unbiased: each is the average over all draws of k of the n rollouts without replacement
(Chen et al., arXiv 2107.03374, for pass@k; arXiv 2610.01509 for A). With f = n - c and
r_k = C(f, k) / C(n, k), the chance that k drawn rollouts all fail:

    pass@k = 1 - r_k        pass^k = C(c, k) / C(n, k)
    A(K)   = sum_{k <= K} (pass@K - pass@k) = (f - r_K (n + c (K - 1))) / (c + 1)

A(K) is also the mean of (H - 1) [H <= K], H the rank of the first success in a random order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Tasks, as_tasks, check_k, integers, whole_counts

__all__ = [
    "area",
    "areas_of",
    "curve",
    "mean_unbroken",
    "pass_at_k",
    "pass_hat_k",
    "passes_of",
]

# Up to here a table comes from integers and every entry is the nearest double; beyond, running
# products stay within about n * 1e-16 of it, relatively.
_EXACT_N = 128
# How many numbers a curve is worked out on at a time.
_BLOCK = 2**20
# Up to how many rollouts a table is kept.
_KEPT_N = 4096

_Table = Callable[[int, int], NDArray[np.float64]]


def pass_at_k(c: ArrayLike, n: ArrayLike, k: ArrayLike) -> NDArray[np.float64]:
    """Return the chance that at least one of k tries succeeds, task by task.

    Args:
        c: successes, whole numbers of any shape.
        n: rollouts, 0 <= c <= n.
        k: tries, 1 <= k <= n.

    Returns:
        Numbers in [0, 1] of the three arguments' common shape; a scalar for scalars.

    Raises:
        BadArgument: wrong types or shapes, c beyond n, or k beyond the smallest n.
    """
    return _look_up(c, n, k, "k", _hit_table)


def pass_hat_k(c: ArrayLike, n: ArrayLike, k: ArrayLike) -> NDArray[np.float64]:
    """Return the chance that k tries all succeed (pass^k), task by task.

    Arguments, shapes and errors as for `pass_at_k`.
    """
    return _look_up(c, n, k, "k", lambda n, k: _miss_table(n, k)[::-1])


def area(c: ArrayLike, n: ArrayLike, K: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
    """Return A(K), the area between the pass@k curve and its level at K, task by task.

    Its unit is tries: how many of K tries come before the first success, counting none where K
    tries do not succeed. A(1) = 0.

    Arguments, shapes and errors as for `pass_at_k`, with `K` for `k`.
    """
    return _look_up(c, n, K, "K", _area_table)


def passes_of(tasks: Tasks, k: int) -> NDArray[np.float64]:
    """Return (T,) pass@k of checked tasks, k at most the smallest n."""
    return _evaluate(tasks.c, tasks.n, k, _hit_table)


def areas_of(tasks: Tasks, k: int) -> NDArray[np.float64]:
    """Return (T,) A(k) of checked tasks, k at most the smallest n."""
    return _evaluate(tasks.c, tasks.n, k, _area_table)


def curve(c: ArrayLike, n: ArrayLike, Ks: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
    """Return the mean pass@k over tasks at each of several k.

    Args:
        c: (T,) successes.
        n: (T,) rollouts, or one number for all tasks.
        Ks: (M,) tries, each at most the smallest n.

    Returns:
        (M,) numbers in [0, 1].

    Raises:
        BadArgument: as `pass_at_k`, or no task.
    """
    tasks = as_tasks(c, n)
    ks = integers("Ks", Ks)
    if ks.ndim != 1:
        raise BadArgument(f"Expected `Ks` to be a list of budgets, got shape {ks.shape}.")
    if not ks.size:
        return np.empty(0)
    top = int(ks.max())
    check_k("k", int(ks.min()), top, int(tasks.n.min()))
    level = np.zeros(top)
    for share, miss in _unbroken(tasks.n - tasks.c, tasks.n, top):
        level += share @ (1 - miss)
    return np.minimum(level, 1.0)[ks - 1]


def mean_unbroken(c: NDArray[np.int64], n: NDArray[np.int64], top: int) -> NDArray[np.float64]:
    """Return the mean over tasks of C(c, k) / C(n, k), k = 1, ..., top.

    That is the mean pass^k; with the failures n - c for `c`, the mean chance that k tries fail.

    Args:
        c: (T,) checked successes.
        n: (T,) checked rollouts.
        top: the largest k, at most the smallest n.
    """
    mean = np.zeros(top)
    for share, chance in _unbroken(c, n, top):
        mean += share @ chance
    return mean


def _unbroken(
    c: NDArray[np.int64], n: NDArray[np.int64], top: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield kinds of tasks in blocks: their share of all, (U,), and (U, top) C(c, k) / C(n, k)."""
    kinds, where = Tasks(c, n).kinds()
    share = np.bincount(where) / len(c)
    drawn = np.arange(top)
    block = max(1, _BLOCK // top)
    for start in range(0, len(share), block):
        hits, rolls = (part[start : start + block, None] for part in kinds)
        chance = np.cumprod(np.maximum(hits - drawn, 0) / (rolls - drawn), axis=1)
        yield share[start : start + block], chance


def _look_up(
    c: ArrayLike, n: ArrayLike, k: ArrayLike, name: str, table: _Table
) -> NDArray[np.float64]:
    """Evaluate a table over (n, k) at c, one table for each distinct pair."""
    counts, ks = whole_counts(c, n), integers(name, k)
    try:
        hits, rolls, ks = np.broadcast_arrays(counts.c, counts.n, ks)
    except ValueError:
        shapes = f"{counts.c.shape} and {ks.shape}"
        raise BadArgument(f"Expected `c` and `{name}` of matching shapes, got {shapes}.") from None
    if not hits.size:
        return np.empty(hits.shape)
    beyond = ks > rolls
    short = int((rolls[beyond] if beyond.any() else rolls).min())
    check_k(name, int(ks.min()), int(ks[beyond].max()) if beyond.any() else 1, short)
    alike = int(ks.flat[0]) if ks.min() == ks.max() else ks
    return _evaluate(hits, rolls, alike, table)


def _evaluate(
    hits: NDArray[np.int64], rolls: NDArray[np.int64], ks: NDArray[np.int64] | int, table: _Table
) -> NDArray[np.float64]:
    one = int(rolls.flat[0])
    if isinstance(ks, int) and (rolls == one).all():
        return table(one, ks)[hits]
    base = int(np.max(ks)) + 1
    pairs = rolls * base + ks
    distinct, where = np.unique(pairs.ravel(), return_inverse=True)
    order = np.argsort(where, kind="stable")
    flat, values = hits.ravel(), np.empty(hits.size)
    ends = np.cumsum(np.bincount(where))
    for pair, part in zip(distinct.tolist(), np.split(order, ends[:-1]), strict=True):
        values[part] = table(*divmod(pair, base))[flat[part]]
    return values.reshape(hits.shape)


def _kept(table: _Table) -> _Table:
    """Keep the tables of few rollouts that were used last: 4 MB at most."""

    @lru_cache(maxsize=128)
    def keep(n: int, k: int) -> NDArray[np.float64]:
        values = table(n, k)
        values.flags.writeable = False
        return values

    @wraps(table)
    def look(n: int, k: int) -> NDArray[np.float64]:
        return keep(n, k) if n <= _KEPT_N else table(n, k)

    return look


@_kept
def _miss_table(n: int, k: int) -> NDArray[np.float64]:
    """Return r_k for c = 0, ..., n."""
    if n <= _EXACT_N:
        draws = comb(n, k)
        return np.array([comb(n - c, k) / draws for c in range(n + 1)])
    fails = np.arange(n, 0, -1)
    return np.concatenate(([1.0], np.cumprod(np.maximum(fails - k, 0) / fails)))


@_kept
def _hit_table(n: int, k: int) -> NDArray[np.float64]:
    """Return pass@k for c = 0, ..., n."""
    if n <= _EXACT_N:
        draws = comb(n, k)
        return np.array([(draws - comb(n - c, k)) / draws for c in range(n + 1)])
    if k == 1:
        return np.arange(n + 1) / n
    # One more success adds r_k k / f: positive terms, hence no 1 - r that cancels.
    gains = _miss_table(n, k)[:-1] * (k / np.arange(n, 0, -1))
    hits = np.minimum(np.concatenate(([0.0], np.cumsum(gains))), 1.0)
    hits[n - k + 1 :] = 1.0
    return hits


@_kept
def _area_table(n: int, k: int) -> NDArray[np.float64]:
    """Return A(k) for c = 0, ..., n."""
    if n <= _EXACT_N:
        draws = comb(n, k)
        return np.array(
            [
                ((n - c) * draws - comb(n - c, k) * (n + c * (k - 1))) / ((c + 1) * draws)
                for c in range(n + 1)
            ]
        )
    if k == 1:
        return np.zeros(n + 1)
    c = np.arange(n + 1)
    areas: NDArray[np.float64] = (n - c - _miss_table(n, k) * (n + c * (k - 1))) / (c + 1)
    # Where c k < n the closed form cancels. The sum over the first success's rank h of
    # (h - 1) C(n - h, c - 1) / C(n, c) does not, and has fewer than n terms for all such c.
    few = np.arange(1, (n - 1) // k + 1)
    if few.size:
        rank = np.arange(1, k)
        chance = np.cumprod((n - rank - few[:, None] + 1) / (n - rank), axis=1)
        areas[few] = few / n * (chance @ rank)
    return areas
