"""How sure the measures are: delta-method intervals over tasks, arms paired by task.

They cover the draw of the tasks and of the rollouts, which one and the same sum of squares
contains: the unit is a task with its c and n in both arms, or a cluster of such tasks. They cover
no other training run of either policy (seeds of training), and they ask about a world of such
tasks, not about this list of tasks alone; for that there is `rollout_noise`. `docs/intervals.md`
has the shares of simulated intervals that held the truth.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Arm, paired, single_k
from agentenvs.harness.tax.clusters import (
    Clusters,
    by_cluster,
    cluster_codes,
    cluster_count,
    no_spread,
)
from agentenvs.harness.tax.estimators import areas_of, passes_of
from agentenvs.harness.tax.linear import (
    Linear,
    critical_for,
    interval_of,
    mean_of,
    scalability_of,
)
from agentenvs.harness.tax.shares import Estimate, quantile, share_interval

__all__ = ["TaxInterval", "drop_of", "share_gap", "sharpening_tax_interval"]


class TaxInterval(NamedTuple):
    """The measures of `SharpeningTax`, each with its interval, and pass@K of both arms.

    Attributes:
        K: the budget.
        confidence: what the intervals aim at, 0.95 say.
        tasks: how many tasks they rest on.
        pass_base, pass_post, pass_gap: pass@K, and base minus post.
        A_base, A_post, S_base, S_post, tax_A, tax_S: as in `SharpeningTax`.
        method: how the intervals were made: "delta", "bootstrap" or "u-statistic".
        covers: what would differ if all was done again: ("tasks", "rollouts"), or ("rollouts",)
            where these very tasks are meant. Never another training of a policy.
        clusters: how many groups of tasks were drawn; `tasks` where each stands for itself.
    """

    K: int
    confidence: float
    tasks: int
    pass_base: Estimate
    pass_post: Estimate
    pass_gap: Estimate
    A_base: Estimate
    A_post: Estimate
    S_base: Estimate
    S_post: Estimate
    tax_A: Estimate  # noqa: N815
    tax_S: Estimate  # noqa: N815
    method: str
    covers: tuple[str, ...]
    clusters: int


def sharpening_tax_interval(
    base: Arm,
    post: Arm,
    K: int,  # noqa: N803
    confidence: float = 0.95,
    clusters: Clusters | None = None,
) -> TaxInterval:
    """Return what `sharpening_tax` does, and pass@K, each with its interval.

    Differences use that both arms played the same tasks. Where an arm has the same value in
    every task (the same sum in every cluster), its spread is unknown, not 0: then Tax_A and Tax_S
    have no interval, and the one of pass@K takes the arm's own bounds. Intervals are cut to what
    the measures can be.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        K: the budget, at most the smallest n of both.
        confidence: the share of intervals that should hold the truth.
        clusters: tasks that belong together, such as repeated instructions: a label for each
            task in base's order, or a mapping from task ids to labels. Whole clusters are then
            what was drawn. None where each task stands for itself.

    Raises:
        BadArgument: as `sharpening_tax`, `confidence` outside (0, 1), or no label for a task.
    """
    arms = paired(base, post)
    k = single_k("K", K, arms.smallest_n)
    size = len(arms.base.c)
    codes = cluster_codes(clusters, base, size)
    groups = cluster_count(codes, size)
    z = quantile(confidence)
    t = critical_for(confidence, codes, size)
    pass_base, pass_post = (passes_of(arm, k) for arm in arms)
    areas_base, areas_post = (areas_of(arm, k) for arm in arms)
    a_base, a_post = mean_of(areas_base), mean_of(areas_post)
    s_base = scalability_of(arms.base, k, areas_base)
    s_post = scalability_of(arms.post, k, areas_post)
    return TaxInterval(
        K=k,
        confidence=confidence,
        tasks=size,
        pass_base=share_interval(pass_base, z, codes),
        pass_post=share_interval(pass_post, z, codes),
        pass_gap=share_gap(pass_base, pass_post, t, z, codes),
        A_base=interval_of(a_base, t, codes, 0.0, k - 1),
        A_post=interval_of(a_post, t, codes, 0.0, k - 1),
        S_base=interval_of(s_base, t, codes, 0.0, 1.0),
        S_post=interval_of(s_post, t, codes, 0.0, 1.0),
        tax_A=drop_of(a_base, a_post, t, codes),
        tax_S=drop_of(s_base, s_post, t, codes),
        method="delta",
        covers=("tasks", "rollouts"),
        clusters=groups,
    )


def drop_of(base: Linear, post: Linear, t: float, codes: NDArray[np.intp] | None) -> Estimate:
    """Return base minus post; without interval where an arm's spread is unknown, not zero."""
    drop = base.minus(post)
    if any(no_spread(by_cluster(arm.pull, codes)) for arm in (base, post)):
        return Estimate(drop.value, math.nan, math.nan, math.nan)
    return interval_of(drop, t, codes)


def share_gap(
    base: NDArray[np.float64],
    post: NDArray[np.float64],
    t: float,
    z: float,
    codes: NDArray[np.intp] | None,
) -> Estimate:
    """Return the drop of pass@K; where a spread is unknown, from the arms' own bounds."""
    drop = drop_of(mean_of(base), mean_of(post), t, codes)
    if not math.isnan(drop.se):
        return drop._replace(low=max(drop.low, -1.0), high=min(drop.high, 1.0))
    # The ends of the two intervals add in squares, as those of independent arms do.
    first, second = share_interval(base, z, codes), share_interval(post, z, codes)
    gap = first.value - second.value
    low = gap - math.hypot(first.value - first.low, second.high - second.value)
    high = gap + math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(gap, math.nan, max(low, -1.0), min(high, 1.0))
