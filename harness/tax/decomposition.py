"""Where a tax comes from: Tax_A split over what a task was in base and what it became in post.

A(K) is a mean over tasks, so that Tax_A is the sum of what each cell of a 3 x 3 table of tasks
brings (never, sometimes, always solved in base; the same in post). The headline cannot tell tasks
that were lost (sometimes -> never) from tasks that are now solved sooner (sometimes -> always).
Tasks that base never or always solves have A = 0 there, whatever K is: they can only lower a tax.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Arm, Tasks, paired, single_k
from agentenvs.harness.tax.clusters import Clusters, cluster_codes, cluster_count
from agentenvs.harness.tax.estimators import area, pass_at_k, pass_hat_k
from agentenvs.harness.tax.linear import critical_for, interval_of, mean_of
from agentenvs.harness.tax.shares import Estimate

__all__ = ["BINS", "Cells", "Decomposition", "bins", "decompose", "flow"]

BINS = ("never", "sometimes", "always")
"""What a task's rollouts show: no success, some, nothing but successes."""

Cells = tuple[
    tuple[Estimate, Estimate, Estimate],
    tuple[Estimate, Estimate, Estimate],
    tuple[Estimate, Estimate, Estimate],
]
"""Three rows (the bins in base) of three columns (the bins in post)."""


class Decomposition(NamedTuple):
    """Tax_A(K) by the bins of the tasks in both arms.

    Rows are the bin in base, columns the bin in post, in the order of `BINS`. Bins come from the
    rollouts observed: the same policy shows fewer tasks as sometimes solved in fewer rollouts, so
    that a table is compared with another only at the same n (`flow` standardises shares).

    Attributes:
        K: the budget.
        tasks: (3, 3) how many tasks each cell holds; they sum to T.
        share: (3, 3) `tasks` / T.
        tax_A: (3, 3) what each cell brings to Tax_A, in tries; they sum to Tax_A.
        cells: the same with intervals. An empty cell, and one that is 0 whatever happens, has
            none (NaN); the intervals of cells with fewer than about 10 tasks are rough.
        confidence: what the intervals aim at.
        method: how they come about.
        covers: what they cover.
        clusters: how many clusters of tasks they rest on; the number of tasks without clusters.
    """

    K: int
    tasks: NDArray[np.int64]
    share: NDArray[np.float64]
    tax_A: NDArray[np.float64]  # noqa: N815
    cells: Cells
    confidence: float
    method: str
    covers: tuple[str, ...]
    clusters: int


def decompose(
    base: Arm,
    post: Arm,
    K: int,  # noqa: N803
    confidence: float = 0.95,
    clusters: Clusters | None = None,
) -> Decomposition:
    """Return what each cell of never, sometimes, always in base x in post brings to Tax_A(K).

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        K: the budget, at most the smallest n of both.
        confidence: the share of intervals that should hold the truth.
        clusters: which tasks are drawn together: a label for each task of base, or by task id.

    Returns:
        Counts, shares and what the cells bring, which sum to Tax_A(K) exactly. Intervals are cut
        to the signs that a cell can have.

    Raises:
        BadArgument: as `sharpening_tax`, or `confidence` outside (0, 1), or `clusters` that do
            not fit the tasks.
    """
    arms = paired(base, post)
    k = single_k("K", K, arms.smallest_n)
    size = len(arms.base.c)
    codes = cluster_codes(clusters, base, size)
    critical = critical_for(confidence, codes, size)
    drop = area(*arms.base, k) - area(*arms.post, k)
    cell = 3 * bins(arms.base) + bins(arms.post)
    tasks = np.bincount(cell, minlength=9).reshape(3, 3)
    found = [
        interval_of(
            mean_of(np.where(cell == at, drop, 0.0)),
            critical,
            codes,
            # A is 0 where base solves a task never or always, and where post does.
            low=-np.inf if at % 3 == 1 else 0.0,
            high=np.inf if at // 3 == 1 else 0.0,
        )
        for at in range(9)
    ]
    return Decomposition(
        K=k,
        tasks=tasks,
        share=tasks / size,
        tax_A=np.array([estimate.value for estimate in found]).reshape(3, 3),
        cells=_rows(found),
        confidence=confidence,
        method="delta",
        covers=("tasks", "rollouts"),
        clusters=cluster_count(codes, size),
    )


def flow(base: Arm, post: Arm, m: int | None = None) -> NDArray[np.float64]:
    """Return the expected shares of tasks that go from each bin to each, with m rollouts an arm.

    Unbiased: over all draws of m rollouts of either arm without replacement, the arms drawn
    apart. Its rows sum to `partition` of base, its columns to that of post.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        m: rollouts to standardise to, at most the smallest n of both; default that n.

    Returns:
        (3, 3) shares that sum to 1; rows are bins in base, columns bins in post, as in `BINS`.

    Raises:
        BadArgument: as `sharpening_tax`, or m beyond the smallest n.
    """
    arms = paired(base, post)
    smallest = arms.smallest_n
    size = single_k("m", smallest if m is None else m, smallest)
    before, after = (_chances(arm, size) for arm in arms)
    shares: NDArray[np.float64] = before.T @ after / len(before)
    return shares


def bins(tasks: Tasks) -> NDArray[np.int64]:
    """Return the bin of each task by its rollouts: 0 never, 1 sometimes, 2 always; (T,)."""
    return np.where(tasks.c == 0, 0, np.where(tasks.c == tasks.n, 2, 1))


def _chances(tasks: Tasks, size: int) -> NDArray[np.float64]:
    """Return (T, 3) chances that `size` of a task's rollouts put it into each bin."""
    some, every = pass_at_k(*tasks, size), pass_hat_k(*tasks, size)
    return np.column_stack((1 - some, some - every, every))


def _rows(nine: list[Estimate]) -> Cells:
    a, b, c, d, e, f, g, h, i = nine
    return (a, b, c), (d, e, f), (g, h, i)
