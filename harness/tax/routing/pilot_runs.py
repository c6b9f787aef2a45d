"""A pilot picked from the rollouts there are, many times: what it decides and what comes of that.

Whatever is chosen on some rollouts of a task is judged on its others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Paired
from agentenvs.harness.tax.routing.demand import Demand
from agentenvs.harness.tax.routing.fixed import some_tries
from agentenvs.harness.tax.routing.picks import pick, winners
from agentenvs.harness.tax.routing.pilot_rule import allocate, guess
from agentenvs.harness.tax.routing.serving import Judge, Means

__all__ = ["PilotRuns", "run_pilots", "same_rollouts"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

# How many numbers a block of splits holds at a time.
_BLOCK = 2**21


class PilotRuns(NamedTuple):
    """What S pilots came to.

    Attributes:
        by_pilot: of one option for all tasks, what each pilot came to.
        by_task: of an option for each task.
        picks: (S,) places in `KINDS` of what a pilot called best, -1 where it saw no way.
        truths: (S,) the same by the rollouts that it did not use.
    """

    by_pilot: Means
    by_task: Means
    picks: _Ints
    truths: _Ints


class _Setting(NamedTuple):
    arms: Paired
    pilot: int
    most: int
    demand: Demand
    tries: _Ints
    judges: tuple[Judge, Judge]


def run_pilots(
    arms: Paired,
    pilot: int,
    most: int,
    demand: Demand,
    weights: _Floats,
    rng: np.random.Generator,
) -> PilotRuns:
    """Return what pilots of so many rollouts a task and arm decide, judged on the other rollouts.

    Args:
        arms: T tasks.
        pilot: rollouts of each arm that decide.
        most: the largest number of tries, at most what is left of any task.
        demand: what is asked for.
        weights: (S, T) of the tasks in each of S pilots; rows sum to 1.
        rng: draws which rollouts are the pilot's.
    """
    judges = _judges(arms, arms.base.n - pilot, arms.post.n - pilot, most, demand)
    setting = _Setting(arms, pilot, most, demand, some_tries(most, demand), judges)
    splits, size = weights.shape
    ways = (pilot + 1) ** 2
    widest = max(size, 2 * ways * len(setting.tries), *(len(one.missed) for one in judges))
    # With more results than tasks, splits together would have more of them than each alone.
    step = 1 if ways > size else max(1, _BLOCK // widest)
    parts = []
    for start in range(0, splits, step):
        some = weights[start : start + step]
        seen = [rng.hypergeometric(arm.c, arm.n - arm.c, pilot, some.shape) for arm in arms]
        parts.append(_decide(setting, seen, some))
    return PilotRuns(
        Means(
            *(np.concatenate(each) for each in zip(*(one.by_pilot for one in parts), strict=True))
        ),
        Means(
            *(np.concatenate(each) for each in zip(*(one.by_task for one in parts), strict=True))
        ),
        np.concatenate([one.picks for one in parts]),
        np.concatenate([one.truths for one in parts]),
    )


def same_rollouts(arms: Paired, most: int, demand: Demand) -> Means:
    """Return an option for each task chosen on all rollouts and judged on the same: too good."""
    tries = some_tries(most, demand)
    judges = _judges(arms, arms.base.n, arms.post.n, most, demand)
    hits = [arm.c[None] for arm in arms]
    tables = [judge.at(some) for judge, some in zip(judges, hits, strict=True)]
    coverage, cost = (
        np.concatenate([table[part][:, :, tries] for table in tables], axis=2) for part in (0, 1)
    )
    shares = np.full(hits[0].shape, 1 / hits[0].size)
    chosen = allocate(1 - coverage, cost, shares, demand)
    return _judged(hits, judges, chosen // len(tries), tries[chosen % len(tries)], shares)


def _judges(
    arms: Paired, base: _Ints, post: _Ints, most: int, demand: Demand
) -> tuple[Judge, Judge]:
    return Judge.of(base, most, demand, 0), Judge.of(post, most, demand, 1)


def _decide(setting: _Setting, seen: list[_Ints], weights: _Floats) -> PilotRuns:
    arms, pilot, most, demand, tries, judges = setting
    rows = len(weights)
    codes = seen[0] * (pilot + 1) + seen[1]
    results, where = np.unique(codes, return_inverse=True)
    where = where.reshape(codes.shape)
    flat = (where + len(results) * np.arange(rows)[:, None]).ravel()
    held = np.bincount(flat, weights.ravel(), rows * len(results))
    shares: _Floats = held.reshape(rows, -1).astype(np.float64)
    pairs = np.column_stack(np.divmod(results, pilot + 1))
    expected = guess(pairs, shares, pilot, tries, most, demand.stop)
    left = [arm.c - hits for arm, hits in zip(arms, seen, strict=True)]

    offers = [pick(missed, demand, at) for at, missed in enumerate(expected.overall)]
    picks, _ = winners(offers[0], offers[1], demand)
    # Where no way to the demand is seen, the most that can be had.
    further = expected.overall[1][:, -1] < expected.overall[0][:, -1]
    taken = np.where(picks < 0, further, picks > 0).astype(np.int64)
    k = np.where(picks < 0, most, np.where(taken == 1, offers[1].k, offers[0].k))
    by_pilot = _judged(left, judges, taken[:, None], k[:, None], weights)

    coverage = np.concatenate([1 - missed for missed, _ in expected.given], axis=2)
    cost = np.concatenate(
        [demand.price[at] * paid for at, (_, paid) in enumerate(expected.given)], axis=2
    )
    chosen = np.take_along_axis(allocate(coverage, cost, shares, demand), where, axis=1)
    by_task = _judged(left, judges, chosen // len(tries), tries[chosen % len(tries)], weights)
    truths = [
        pick(judge.curves(hits, weights), demand, at)
        for at, (judge, hits) in enumerate(zip(judges, left, strict=True))
    ]
    return PilotRuns(by_pilot, by_task, picks, winners(truths[0], truths[1], demand)[0])


def _judged(
    left: list[_Ints], judges: tuple[Judge, Judge], arm: _Ints, k: _Ints, weights: _Floats
) -> Means:
    """Return what tasks with so many successes left (S, T) are given, averaged over tasks."""
    rows = [judge.start + hits for judge, hits in zip(judges, left, strict=True)]
    post, k = np.broadcast_to(arm, rows[0].shape) == 1, np.broadcast_to(k, rows[0].shape)
    missed = np.where(post, judges[1].missed[rows[1], k], judges[0].missed[rows[0], k])
    cost = np.where(post, judges[1].cost[rows[1], k], judges[0].cost[rows[0], k])
    return Means(*((values * weights).sum(axis=1) for values in (1 - missed, cost, ~post)))
