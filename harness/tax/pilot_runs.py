"""A pilot picked from the rollouts there are, many times: what it decides and what comes of that.

Whatever is chosen on some rollouts of a task is judged on its others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Paired
from agentenvs.harness.tax.demand import Demand
from agentenvs.harness.tax.measures import TIE
from agentenvs.harness.tax.pilot_rule import allocate, guess
from agentenvs.harness.tax.routing import pick, winners
from agentenvs.harness.tax.serving import Judge, Serving

__all__ = ["PilotRuns", "run_pilots", "same_rollouts", "some_tries"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

# Numbers of tries that a single task may be given: all up to here, and some beyond.
_DENSE, _SPARSE = 12, 12
# How many numbers a block of splits holds at a time.
_BLOCK = 2**21


class PilotRuns(NamedTuple):
    """What S pilots came to.

    Attributes:
        by_pilot: one option for all tasks, averaged over pilots.
        by_task: an option for each task, averaged over pilots.
        picks: (S,) places in `KINDS` of what a pilot called best, -1 where it saw no way.
        truths: (S,) the same by the rollouts that it did not use.
    """

    by_pilot: Serving
    by_task: Serving
    picks: _Ints
    truths: _Ints


def run_pilots(
    arms: Paired, pilot: int, most: int, demand: Demand, splits: int, rng: np.random.Generator
) -> PilotRuns:
    """Return what pilots of so many rollouts a task and arm decide, judged on the other rollouts.

    Args:
        arms: T tasks.
        pilot: rollouts of each arm that decide.
        most: the largest number of tries, at most what is left of any task.
        demand: what is asked for.
        splits: how many pilots.
        rng: draws them.
    """
    judges = tuple(Judge.of(arm.n - pilot, most, demand, at) for at, arm in enumerate(arms))
    tries = some_tries(most, demand)
    size = len(arms.base.c)
    ways = (pilot + 1) ** 2
    step = max(1, _BLOCK // max(size, 2 * ways * len(tries), *(len(one.missed) for one in judges)))
    if ways > size:
        # Together, splits would have more results than each has tasks.
        step = 1
    parts = []
    for start in range(0, splits, step):
        rows = min(step, splits - start)
        seen = [rng.hypergeometric(arm.c, arm.n - arm.c, pilot, (rows, size)) for arm in arms]
        parts.append(_decide(arms, seen, pilot, most, demand, tries, judges))
    times = [len(part.picks) for part in parts]

    def mean(column: list[Serving]) -> Serving:
        sums = (np.tensordot(times, np.array(each), 1) for each in zip(*column, strict=True))
        return Serving(*(each / splits for each in sums))

    return PilotRuns(
        mean([part.by_pilot for part in parts]),
        mean([part.by_task for part in parts]),
        np.concatenate([part.picks for part in parts]),
        np.concatenate([part.truths for part in parts]),
    )


def some_tries(most: int, demand: Demand) -> _Ints:
    """Return numbers of tries to choose among for single tasks, thinner where they are many."""
    sparse = np.rint(np.geomspace(1, most, _SPARSE + 1)).astype(np.int64)
    afford = [] if demand.budget is None else [demand.budget / price for price in demand.price]
    paid = np.array([math.floor(one * (1 + TIE)) for one in afford if one < most], dtype=np.int64)
    found = np.unique(np.concatenate((np.arange(1, min(_DENSE, most) + 1), sparse, paid)))
    return found[found > 0]


def _decide(
    arms: Paired,
    seen: list[_Ints],
    pilot: int,
    most: int,
    demand: Demand,
    tries: _Ints,
    judges: tuple[Judge, ...],
) -> PilotRuns:
    rows, size = seen[0].shape
    codes = seen[0] * (pilot + 1) + seen[1]
    results, where = np.unique(codes, return_inverse=True)
    where = where.reshape(codes.shape)
    flat = (where + len(results) * np.arange(rows)[:, None]).ravel()
    shares = np.bincount(flat, minlength=rows * len(results)).reshape(rows, -1) / size
    pairs = np.column_stack(np.divmod(results, pilot + 1))
    expected = guess(pairs, shares, pilot, tries, most, demand.stop)

    offers = [pick(missed, demand, at) for at, missed in enumerate(expected.overall)]
    picks, _ = winners(offers[0], offers[1], demand)
    # Where no way to the demand is seen, the most that can be had.
    ahead = expected.overall[1][:, -1] < expected.overall[0][:, -1]
    arm = np.where(picks < 0, ahead, picks > 0).astype(np.int64)
    k = np.where(picks < 0, most, np.where(arm == 1, offers[1].k, offers[0].k))
    left = [arm_.c - hits for arm_, hits in zip(arms, seen, strict=True)]
    by_pilot = _judged(left, judges, arm[:, None], k[:, None])

    coverage = np.concatenate([1 - missed for missed, _ in expected.given], axis=2)
    cost = np.concatenate(
        [demand.price[at] * paid for at, (_, paid) in enumerate(expected.given)], axis=2
    )
    chosen = allocate(coverage, cost, shares, demand)
    arm, k = chosen // len(tries), tries[chosen % len(tries)]
    by_task = _judged(
        left, judges, np.take_along_axis(arm, where, 1), np.take_along_axis(k, where, 1)
    )
    truth = [
        pick(judge.curves(hits), demand, at)
        for at, (judge, hits) in enumerate(zip(judges, left, strict=True))
    ]
    return PilotRuns(by_pilot, by_task, picks, winners(truth[0], truth[1], demand)[0])


def same_rollouts(arms: Paired, most: int, demand: Demand) -> Serving:
    """Return an option for each task chosen on all rollouts and judged on the same: too good."""
    tries = some_tries(most, demand)
    judges = tuple(Judge.of(arm.n, most, demand, at) for at, arm in enumerate(arms))
    rows = [judge.start + arm.c for judge, arm in zip(judges, arms, strict=True)]
    missed, cost = (
        np.concatenate([table[row][:, tries] for table, row in zip(tables, rows, strict=True)], 1)
        for tables in ([judge.missed for judge in judges], [judge.cost for judge in judges])
    )
    shares = np.full((1, len(missed)), 1 / len(missed))
    chosen = allocate(1 - missed[None], cost[None], shares, demand)
    arm, k = chosen // len(tries), tries[chosen % len(tries)]
    return _judged([arm_.c[None] for arm_ in arms], judges, arm, k)


def _judged(left: list[_Ints], judges: tuple[Judge, ...], arm: _Ints, k: _Ints) -> Serving:
    """Return what tasks with so many successes left (S, T) are given, averaged over S."""
    rows = [judge.start + hits for judge, hits in zip(judges, left, strict=True)]
    arm, k = np.broadcast_to(arm, rows[0].shape), np.broadcast_to(k, rows[0].shape)
    missed, cost = (
        np.where(arm == 0, *(table[row, k] for table, row in zip(tables, rows, strict=True)))
        for tables in ([judge.missed for judge in judges], [judge.cost for judge in judges])
    )
    return Serving((1 - missed).mean(axis=0), cost.mean(axis=0), (arm == 0).mean(axis=0))
