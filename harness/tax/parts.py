"""Tax_A in two parts: coverage that is gone, and success that comes earlier.

With dC(k) = pass@k of base minus that of post,

    Tax_A(K) = K dC(K) - sum_{k <= K} dC(k)

The first part is what the drop of pass@K weighs over K budgets, the second how far post's curve
lies above base's on the way there. A tax without a coverage part is no lost task: the policy
solves the same tasks sooner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Arm, paired, single_k
from agentenvs.harness.tax.clusters import Clusters, cluster_codes, cluster_count
from agentenvs.harness.tax.estimators import area, pass_at_k
from agentenvs.harness.tax.intervals import drop_of
from agentenvs.harness.tax.linear import critical_for, mean_of
from agentenvs.harness.tax.shares import Estimate

__all__ = ["TaxParts", "tax_parts"]


class TaxParts(NamedTuple):
    """Tax_A(K) = coverage + earliness, all in tries.

    Attributes:
        K: the budget.
        tax_A: A of base minus A of post.
        coverage: K times the drop of pass@K; positive where post solves fewer tasks in K tries.
        earliness: the sum over k <= K of pass@k of post minus that of base; positive where post's
            curve lies above base's on average.
        confidence: what the intervals aim at. Where an arm has no spread between tasks there is
            no interval (NaN), as for Tax_A.
        method: how they come about.
        covers: what they cover.
        clusters: how many clusters of tasks they rest on; the number of tasks without clusters.
    """

    K: int
    tax_A: Estimate  # noqa: N815
    coverage: Estimate
    earliness: Estimate
    confidence: float
    method: str
    covers: tuple[str, ...]
    clusters: int


def tax_parts(
    base: Arm,
    post: Arm,
    K: int,  # noqa: N803
    confidence: float = 0.95,
    clusters: Clusters | None = None,
) -> TaxParts:
    """Return how much of Tax_A(K) is lost coverage and how much is solving earlier.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        K: the budget, at most the smallest n of both.
        confidence: the share of intervals that should hold the truth.
        clusters: which tasks are drawn together: a label for each task of base, or by task id.

    Raises:
        BadArgument: as `sharpening_tax`, or `confidence` outside (0, 1), or `clusters` that do
            not fit the tasks.
    """
    arms = paired(base, post)
    k = single_k("K", K, arms.smallest_n)
    size = len(arms.base.c)
    codes = cluster_codes(clusters, base, size)
    critical = critical_for(confidence, codes, size)

    def drop(one: NDArray[np.float64], two: NDArray[np.float64]) -> Estimate:
        return drop_of(mean_of(one), mean_of(two), critical, codes)

    areas = [area(*arm, k) for arm in arms]
    covered = [k * pass_at_k(*arm, k) for arm in arms]
    # K pass@K - A(K) is the sum of pass@k over k <= K.
    sums = [most - a for most, a in zip(covered, areas, strict=True)]
    return TaxParts(
        K=k,
        tax_A=drop(*areas),
        coverage=drop(*covered),
        earliness=drop(sums[1], sums[0]),
        confidence=confidence,
        method="delta",
        covers=("tasks", "rollouts"),
        clusters=cluster_count(codes, size),
    )
