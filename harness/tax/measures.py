"""Measures of a policy, and of a post-trained policy against its base, over a set of tasks.

Source: the Sharpening Tax, arXiv 2610.01509. All are means over tasks of the unbiased per-task
estimates in `estimators`, or ratios of such means.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.harness.tax._checks import Arm, Tasks, as_tasks, paired, single_k
from agentenvs.harness.tax.estimators import area, curve, pass_at_k, pass_hat_k

__all__ = [
    "TIE",
    "Crossover",
    "Partition",
    "SharpeningTax",
    "crossover",
    "partition",
    "s_max",
    "scalability",
    "sharpening_tax",
]

#: means that agree this closely are the same rational number up to rounding.
TIE = 1e-12


class SharpeningTax(NamedTuple):
    """What post-training cost at a budget of K tries; positive where it cost something.

    Attributes:
        K: the budget.
        A_base, A_post: mean area A(K), in tries.
        S_base, S_post: scalability S(K), without unit; NaN where undefined.
        tax_A: A_base - A_post.
        tax_S: S_base - S_post.
    """

    K: int
    A_base: float
    A_post: float
    S_base: float
    S_post: float
    tax_A: float  # noqa: N815
    tax_S: float  # noqa: N815


class Crossover(NamedTuple):
    """Where the base policy's pass@k curve reaches the post-trained one's.

    Attributes:
        k: k*, the least k <= K with pass@k of base >= that of post; 1 where base is nowhere
            behind at first (it "dominates"); None where it does not happen up to K (censored).
        K: the largest budget looked at.
        stays_above: whether base stays at or above from k* to K; False where `k` is None.
        sign_changes: every k from 2 to K at which the order of the two curves flips.
        gap: (K,) pass@k of base minus that of post, k = 1, ..., K.
    """

    k: int | None
    K: int
    stays_above: bool
    sign_changes: tuple[int, ...]
    gap: NDArray[np.float64]


class Partition(NamedTuple):
    """Expected shares of tasks by what m rollouts show; they sum to 1."""

    never: float
    sometimes: float
    always: float


def scalability(c: ArrayLike, n: ArrayLike, K: int) -> float:  # noqa: N803
    """Return S(K) = A(K) / ((K - 1) (1 - pass@1)): the share of failed tries that more tries mend.

    A ratio of means over tasks, which weights tasks by their failures; not the mean of ratios.

    Args:
        c: (T,) successes.
        n: (T,) rollouts, or one number for all tasks.
        K: the budget, 2 <= K <= the smallest n.

    Returns:
        S(K), or NaN where it is undefined: K = 1 (no second try), or pass@1 = 1 (no failure).

    Raises:
        BadArgument: no task, wrong types, c beyond n, or K beyond the smallest n.
    """
    tasks = as_tasks(c, n)
    return _scalability(tasks, single_k("K", K, int(tasks.n.min())))


def _scalability(tasks: Tasks, k: int) -> float:
    failures = float(np.mean((tasks.n - tasks.c) / tasks.n))
    if k == 1 or failures == 0:
        return math.nan
    return float(np.mean(area(tasks.c, tasks.n, k))) / ((k - 1) * failures)


def sharpening_tax(base: Arm, post: Arm, K: int) -> SharpeningTax:  # noqa: N803
    """Return A, S and their drop from base to post at a budget of K tries.

    The sign and the order of models depend on K: look at several.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        K: the budget, 2 <= K <= the smallest n of both.

    Returns:
        The measures. S and tax_S are NaN where S is undefined: K = 1, or an arm without failure.

    Raises:
        BadArgument: different tasks, wrong types, c beyond n, or K beyond the smallest n.
    """
    arms = paired(base, post)
    k = single_k("K", K, _smallest_n(*arms))
    a_base, a_post = (float(np.mean(area(arm.c, arm.n, k))) for arm in arms)
    s_base, s_post = (_scalability(arm, k) for arm in arms)
    return SharpeningTax(k, a_base, a_post, s_base, s_post, a_base - a_post, s_base - s_post)


def crossover(base: Arm, post: Arm, K: int) -> Crossover:  # noqa: N803
    """Return k*, the budget from which the base policy solves as many tasks as the post-trained.

    Curves may cross more than once, and k* near 1 is coarse. Means within 1e-12 count as equal.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        K: the largest budget to look at, at most the smallest n of both.

    Raises:
        BadArgument: as `sharpening_tax`.
    """
    arms = paired(base, post)
    k = single_k("K", K, _smallest_n(*arms))
    ks = np.arange(1, k + 1)
    gap = curve(arms.base.c, arms.base.n, ks) - curve(arms.post.c, arms.post.n, ks)
    above = gap >= -TIE
    first = int(ks[above][0]) if above.any() else None
    return Crossover(
        k=first,
        K=k,
        stays_above=first is not None and bool(above[first - 1 :].all()),
        sign_changes=tuple((ks[1:][above[1:] != above[:-1]]).tolist()),
        gap=gap,
    )


def partition(c: ArrayLike, n: ArrayLike, m: int | None = None) -> Partition:
    """Return the shares of tasks that m rollouts would show as never, sometimes, always solved.

    The shares of a fixed policy move with the number of rollouts; to compare runs, give all of
    them one `m`. `sometimes` is also the expected share of groups of m rollouts that are mixed,
    the ones from which group-relative policy gradients learn.

    Args:
        c: (T,) successes.
        n: (T,) rollouts, or one number for all tasks.
        m: rollouts to standardise to, at most the smallest n; default the smallest n. With
            m = n for all tasks the shares are plain counts.

    Raises:
        BadArgument: no task, wrong types, c beyond n, or m beyond the smallest n.
    """
    tasks = as_tasks(c, n)
    smallest = int(tasks.n.min())
    size = single_k("m", smallest if m is None else m, smallest)
    some, every = pass_at_k(tasks.c, tasks.n, size), pass_hat_k(tasks.c, tasks.n, size)
    never, always = float(np.mean(1 - some)), float(np.mean(every))
    return Partition(never, float(np.mean(some - every)), always)


def s_max(K: int) -> float:  # noqa: N803
    """Return the largest S(K) that any mixture of tasks with fixed chances of success can have.

    S / s_max(K) can be compared between budgets. An estimate may exceed the bound by chance,
    above all at K = n.

    Args:
        K: the budget, up to 10 million.

    Returns:
        1 at K = 2, 0.5625 at K = 3, falling to 0.29843; NaN at K = 1, where S is undefined.

    Raises:
        BadArgument: K is no integer of 1 or more.
    """
    k = single_k("K", K, 10_000_000)
    if k == 1:
        return math.nan
    if k == 2:
        return 1.0

    def value(p: float) -> float:
        log_miss = (k - 1) * math.log1p(-p)
        return (-math.expm1(log_miss) / p) / (k - 1) - math.exp(log_miss)

    # One peak, near p = 1.793 / K; search on a log scale.
    low, high = math.log(0.5 / k), math.log(1 - 1e-9)
    for _ in range(100):
        third = (high - low) / 3
        if value(math.exp(low + third)) < value(math.exp(high - third)):
            low += third
        else:
            high -= third
    return value(math.exp((low + high) / 2))


def _smallest_n(base: Tasks, post: Tasks) -> int:
    return int(min(base.n.min(), post.n.min()))
