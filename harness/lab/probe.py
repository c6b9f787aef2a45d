"""Success as a function of temperature: does heating raise it, and for which tasks?

That heat raises success on hard tasks is what an adaptive temperature rests on. It is a property
of a policy, so it is measured, before training and after.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.seeds import derive

__all__ = ["Heating", "Profile", "heating", "probe", "profile"]

Successes = NDArray[np.bool_]


class Profile(NamedTuple):
    """Success by temperature in bins of difficulty, H temperatures and B bins.

    Attributes:
        low, high: (B,) the bins' ends; a bin holds its lower end, the last one its upper end too.
        tasks: (B,) how many tasks there are in each.
        p: (B, H) mean success; NaN in an empty bin.
        se: (B, H) its standard error over tasks; NaN with fewer than two.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    tasks: NDArray[np.int64]
    p: NDArray[np.float64]
    se: NDArray[np.float64]


class Heating(NamedTuple):
    """What one temperature does against another, over tasks.

    Attributes:
        more: share of tasks with more successes at the hotter one.
        fewer: share with fewer; the rest have as many.
        surely_more: share with so many more that one of twenty tasks at most would have them by
            chance (exact conditional test); near 0.05 or below, nothing is to be seen.
        surely_fewer: the same the other way.
        gain: mean success at the hotter one minus that at the other.
        se: its standard error over tasks, which are pairs; NaN with fewer than two.
        tasks: how many.
    """

    more: float
    fewer: float
    surely_more: float
    surely_fewer: float
    gain: float
    se: float
    tasks: int


def probe(
    model: Any, world: Any, tasks: Any, temperatures: Sequence[float], n: int, seed: int
) -> Successes:
    """Play tasks at several temperatures.

    Args:
        model: the policy.
        world: the tensor world.
        tasks: (M,) task indices.
        temperatures: H different ones.
        n: rollouts of each task at each.
        seed: each temperature has a stream of its own, whatever the others are.

    Returns:
        (H, M, n) who succeeded.

    Raises:
        BadArgument: no temperatures, or one twice.
    """
    from agentenvs.harness.lab.evaluate import evaluate

    heats = [float(heat) for heat in temperatures]
    if not heats or len(set(heats)) < len(heats):
        raise BadArgument(f"Expected different temperatures, got {heats}.")
    streams = [derive(seed, "probe", repr(heat)) for heat in heats]
    pairs = zip(heats, streams, strict=True)
    played = [evaluate(model, world, tasks, n, heat, stream) for heat, stream in pairs]
    return np.stack([np.asarray(one, dtype=np.bool_) for one in played])


def profile(
    successes: ArrayLike, difficulty: ArrayLike, edges: Sequence[float] = (0.05, 0.2, 0.5)
) -> Profile:
    """Return success by temperature in bins of difficulty.

    Bin by something other than the outcomes that are averaged, other rollouts say: a task that
    is in the hardest bin because it was unlucky there looks better anywhere else.

    Args:
        successes: (H, M, n) booleans.
        difficulty: (M,) chance of success in [0, 1] that decides a task's bin.
        edges: where one bin ends and the next begins, rising, within (0, 1).

    Raises:
        BadArgument: shapes that do not match, or values out of range.
    """
    rates = _rates(successes)
    rank = np.asarray(difficulty, dtype=np.float64)
    if rank.shape != rates.shape[1:] or not ((rank >= 0) & (rank <= 1)).all():
        raise BadArgument(
            f"Expected a `difficulty` in [0, 1] for each of {rates.shape[1]} tasks, "
            f"got shape {rank.shape}."
        )
    ends = np.array([0.0, *edges, 1.0])
    if not (np.diff(ends) > 0).all():
        raise BadArgument(f"Expected `edges` to rise within 0 and 1, got {tuple(edges)}.")
    bins = np.searchsorted(np.asarray(edges), rank, side="right")
    count = np.bincount(bins, minlength=len(ends) - 1)
    shape = (len(ends) - 1, len(rates))
    p, se = np.full(shape, math.nan), np.full(shape, math.nan)
    for place in range(shape[0]):
        mine = rates[:, bins == place]
        if count[place]:
            p[place] = mine.mean(1)
        if count[place] > 1:
            se[place] = mine.std(1, ddof=1) / math.sqrt(count[place])
    return Profile(ends[:-1], ends[1:], count.astype(np.int64), p, se)


def heating(cold: ArrayLike, hot: ArrayLike) -> Heating:
    """Return how success at a hotter temperature compares with that at another, task by task.

    Args:
        cold: (M, n) who succeeded at the reference.
        hot: (M, m) who succeeded at the hotter temperature, the same tasks in the same order.

    Raises:
        BadArgument: no tasks, or not the same number.
    """
    before, after = np.asarray(cold, dtype=np.bool_), np.asarray(hot, dtype=np.bool_)
    if before.ndim != 2 or after.ndim != 2 or len(before) != len(after) or not before.size:
        raise BadArgument(
            f"Expected successes (tasks, rollouts) of the same tasks, got {before.shape} and "
            f"{after.shape}."
        )
    a, b = before.sum(1), after.sum(1)
    n, m = before.shape[1], after.shape[1]
    gains = b / m - a / n
    up = np.array([_tail(int(y), int(x), m, n) for x, y in zip(a, b, strict=True)])
    down = np.array([_tail(int(x), int(y), n, m) for x, y in zip(a, b, strict=True)])
    se = float(gains.std(ddof=1)) / math.sqrt(len(gains)) if len(gains) > 1 else math.nan
    return Heating(
        float((gains > 0).mean()),
        float((gains < 0).mean()),
        float((up <= 0.05).mean()),
        float((down <= 0.05).mean()),
        float(gains.mean()),
        se,
        len(gains),
    )


def _tail(one: int, other: int, n_one: int, n_other: int) -> float:
    """Return the chance of so many successes in the one arm, given those of both (Fisher)."""
    both = one + other
    ways = math.comb(n_one + n_other, both)
    most = min(both, n_one)
    return (
        sum(math.comb(n_one, k) * math.comb(n_other, both - k) for k in range(one, most + 1)) / ways
    )


def _rates(successes: ArrayLike) -> NDArray[np.float64]:
    played = np.asarray(successes, dtype=np.bool_)
    if played.ndim != 3 or not played.size:
        raise BadArgument(
            f"Expected successes (temperatures, tasks, rollouts), got shape {played.shape}."
        )
    rates: NDArray[np.float64] = played.mean(2)
    return rates
