"""How much of S and pass@K a careless grader could have made.

A task that is never solved looks like one that is rarely solved if the grader passes a wrong
rollout now and then. Rare successes are what S and pass@K feed on: where 44 of 100 tasks are
never solved, false passes in 5 of 1,000 rollouts lift pass@128 from 0.56 to 0.77.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm, Tasks, as_tasks, paired, single_k
from agentenvs.harness.tax.estimators import area, mean_unbroken, pass_at_k
from agentenvs.harness.tax.measures import SharpeningTax, sharpening_tax

__all__ = ["FEW", "Audit", "FalsePasses", "lone_success_audit", "with_false_positives"]

FEW = 8
"""Up to how many successes a task counts as rarely solved in `Audit.share_few`."""


class Audit(NamedTuple):
    """The tax as it is, and as it were if rare successes were all mistakes of the grader.

    Pairs are (base, post). A share is NaN for an arm with A = 0.

    Attributes:
        K: the budget.
        most: tasks with up to so many successes are taken as never solved.
        before, after: the measures as they are, and then.
        pass_before, pass_after: pass@K as it is, and then.
        tasks: how many tasks that concerns: 1 <= c <= `most`.
        share_most: the share of A(K) that these tasks carry.
        share_few: the share of A(K) that tasks with 1 <= c <= 8 carry.
    """

    K: int
    most: int
    before: SharpeningTax
    after: SharpeningTax
    pass_before: tuple[float, float]
    pass_after: tuple[float, float]
    tasks: tuple[int, int]
    share_most: tuple[float, float]
    share_few: tuple[float, float]


class FalsePasses(NamedTuple):
    """What a policy would show under a grader that lets some wrong rollouts pass.

    Attributes:
        K: the budget.
        rate: the share of failed rollouts that are passed.
        pass_1, pass_K: expected pass@1 and pass@K.
        A: expected A(K), in tries.
        S: A / ((K - 1) (1 - pass@1)) of these; NaN at K = 1 and where pass@1 is 1.
    """

    K: int
    rate: float
    pass_1: float
    pass_K: float  # noqa: N815
    A: float
    S: float


def lone_success_audit(base: Arm, post: Arm, K: int, most: int = 1) -> Audit:  # noqa: N803
    """Return the tax with and without the tasks that were solved `most` times or less.

    A bound from one side: successes that stand alone are the ones that a grader's mistakes look
    like, and many of them are real. A tax that keeps its size does not hang on them.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        K: the budget, at most the smallest n of both.
        most: successes up to which a task is taken as never solved, in either arm by itself.

    Raises:
        BadArgument: as `sharpening_tax`, or `most` that is no integer of 1 or more.
    """
    arms = paired(base, post)
    k = single_k("K", K, arms.smallest_n)
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise BadArgument(f"Expected `most` to be an integer of 1 or more, got {most!r}.")
    one, two = (Tasks(np.where(arm.c <= most, 0, arm.c), arm.n) for arm in arms)
    return Audit(
        K=k,
        most=int(most),
        before=sharpening_tax(arms.base, arms.post, k),
        after=sharpening_tax(one, two, k),
        pass_before=(_pass(arms.base, k), _pass(arms.post, k)),
        pass_after=(_pass(one, k), _pass(two, k)),
        tasks=(_rare(arms.base, most), _rare(arms.post, most)),
        share_most=(_carried(arms.base, k, most), _carried(arms.post, k, most)),
        share_few=(_carried(arms.base, k, FEW), _carried(arms.post, k, FEW)),
    )


def with_false_positives(
    c: ArrayLike,
    n: ArrayLike,
    K: int,  # noqa: N803
    rate: float,
) -> FalsePasses:
    """Return pass@K and S(K) as a grader would show them that passes wrong rollouts at `rate`.

    Expected values in closed form, taking `c` as right: each of the n - c failed rollouts passes
    with that chance, so that k drawn rollouts all fail with chance r_k (1 - rate)^k. Which rate
    a grader has takes reading rollouts that it passed; here one sees how low it must be.

    Args:
        c: (T,) successes.
        n: (T,) rollouts, or one number for all tasks.
        K: the budget, at most the smallest n.
        rate: in [0, 1].

    Raises:
        BadArgument: no task, wrong types, c beyond n, K beyond the smallest n, or no such rate.
    """
    tasks = as_tasks(c, n)
    k = single_k("K", K, int(tasks.n.min()))
    if not isinstance(rate, float | int) or isinstance(rate, bool) or not 0 <= rate <= 1:
        raise BadArgument(f"Expected `rate` between 0 and 1, got {rate!r}.")
    miss = mean_unbroken(tasks.n - tasks.c, tasks.n, k) * (1 - rate) ** np.arange(1, k + 1)
    area_k = float(np.sum(miss - miss[-1]))
    s = area_k / ((k - 1) * miss[0]) if k > 1 and miss[0] > 0 else math.nan
    return FalsePasses(k, float(rate), float(1 - miss[0]), float(1 - miss[-1]), area_k, float(s))


def _pass(tasks: Tasks, k: int) -> float:
    return float(np.mean(pass_at_k(*tasks, k)))


def _rare(tasks: Tasks, most: int) -> int:
    return int(np.sum((tasks.c >= 1) & (tasks.c <= most)))


def _carried(tasks: Tasks, k: int, most: int) -> float:
    """Return the share of A(k) that comes from tasks with at most so many successes."""
    areas = area(*tasks, k)
    whole = float(np.sum(areas))
    return float(np.sum(areas[tasks.c <= most])) / whole if whole else math.nan
