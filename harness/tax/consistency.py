"""pass^k: the chance that k tries all succeed, and how much of it post-training gained.

The counterpart of pass@k, and what a user of a deployed agent feels: not whether one of k tries
comes off, but whether it works every time. Sharpening buys it; the tax is what it is bought with.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm, as_tasks, check_k, integers, paired, single_k
from agentenvs.harness.tax.bands import mean_errors
from agentenvs.harness.tax.clusters import Clusters, cluster_codes
from agentenvs.harness.tax.estimators import mean_unbroken, pass_hat_k
from agentenvs.harness.tax.intervals import share_gap
from agentenvs.harness.tax.linear import critical_for
from agentenvs.harness.tax.shares import Estimate, quantile
from agentenvs.harness.tax.simultaneous import wilson_band

__all__ = ["consistency_gap", "hat_curve"]


def hat_curve(c: ArrayLike, n: ArrayLike, ks: ArrayLike) -> NDArray[np.float64]:
    """Return the mean pass^k over tasks at each of several k.

    Args:
        c: (T,) successes.
        n: (T,) rollouts, or one number for all tasks.
        ks: (M,) tries, each at most the smallest n.

    Returns:
        (M,) numbers in [0, 1], falling in k from pass@1.

    Raises:
        BadArgument: as `pass_hat_k`, or no task.
    """
    tasks = as_tasks(c, n)
    tries = integers("ks", ks)
    if tries.ndim != 1:
        raise BadArgument(f"Expected `ks` to be a list of budgets, got shape {tries.shape}.")
    if not tries.size:
        return np.empty(0)
    top = int(tries.max())
    check_k("k", int(tries.min()), top, int(tasks.n.min()))
    level: NDArray[np.float64] = mean_unbroken(tasks.c, tasks.n, top)[tries - 1]
    return level


def consistency_gap(
    base: Arm,
    post: Arm,
    k: int,
    confidence: float = 0.95,
    clusters: Clusters | None = None,
) -> Estimate:
    """Return pass^k of post minus that of base: the consistency that post-training gained.

    Positive is a gain, the other way round than the taxes. Paired by task. Few tasks succeed k
    times in a row, so that a normal interval would often be too narrow: this one has Wilson's
    ends on -1 to 1, with half a task added at either. Where an arm has the same value in every
    task, it comes from the bounds of both arms.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        k: tries, at most the smallest n of both.
        confidence: the share of intervals that should hold the truth.
        clusters: which tasks are drawn together: a label for each task of base, or by task id.

    Raises:
        BadArgument: as `sharpening_tax`, or `confidence` outside (0, 1), or `clusters` that do
            not fit the tasks.
    """
    arms = paired(base, post)
    tries = single_k("k", k, arms.smallest_n)
    one, two = (pass_hat_k(*arm, tries) for arm in arms)
    codes = cluster_codes(clusters, base, len(one))
    critical = critical_for(confidence, codes, len(one))
    gap = share_gap(two, one, critical, quantile(confidence), codes)
    if math.isnan(gap.se):
        return gap
    errors = mean_errors((two - one)[:, None], codes, -1.0, 1.0)
    band = wilson_band(np.array([gap.value]), errors, (-1.0, 1.0), critical)
    return gap._replace(low=float(band.low[0]), high=float(band.high[0]))
