"""The sharpening theorem, and whether an arm is what it speaks of.

Suppose post-training makes a share lambda of the tasks certain, lambda_0 of them never and
lambda_1 always solved, leaves the others as they were, and does not choose by how hard they are.
With eps = 1 - pass@1 of base then (arXiv 2610.01509)

    Tax_A = lambda A_base        S_post / S_base = (1 - lambda) eps / ((1 - lambda) eps + lambda_0)

at every K. A model of post-training, then, and no law: `sharpening_theorem` sets its prediction
beside what was observed and tests each of its assumptions.

Of post's tasks that are never solved, lambda_0 were lost; the others are base's own that were not
sharpened, a share 1 - lambda of them. So lambda_0 = never_post - (1 - lambda) never_base, and the
same for lambda_1. The plain difference of the two bins would take the tasks that base never
solves to be left alone by the sharpening, and gives a lambda_0 that is too small.
"""

from __future__ import annotations

from typing import NamedTuple

from agentenvs.harness.tax._checks import Arm, paired, single_k
from agentenvs.harness.tax.assumptions import (
    Assumption,
    over,
    rest_unchanged,
    selection_blind,
    verdict,
    went_all_the_way,
)
from agentenvs.harness.tax.clusters import Clusters, cluster_codes, cluster_count
from agentenvs.harness.tax.estimators import area, pass_at_k, pass_hat_k
from agentenvs.harness.tax.linear import (
    Linear,
    critical_for,
    interval_of,
    mean_of,
    scalability_of,
)
from agentenvs.harness.tax.shares import Estimate

__all__ = ["TheoremCheck", "sharpening_theorem"]

_TOLERANCE = 0.1


class TheoremCheck(NamedTuple):
    """The theorem's prediction beside what was observed, and its assumptions one by one.

    Attributes:
        K: the budget.
        sharpened: lambda = Tax_A / A_base, the share of tasks made certain; below 0 where post's
            area is the larger one.
        to_never, to_always: lambda_0 and lambda_1, from the bins that K rollouts would show.
        unaccounted: lambda - lambda_0 - lambda_1; 0 under the theorem.
        predicted, observed: S_post / S_base.
        gap: predicted minus observed.
        prediction: "holds" where the interval of the gap lies within `tolerance`, "fails" where
            it leaves out 0 and reaches beyond, "undecided" otherwise.
        tolerance: 0.1.
        selection, rest, all_the_way: the assumptions.
        confidence: what the intervals aim at.
        method: how they come about.
        covers: what they cover.
        clusters: how many clusters of tasks they rest on; the number of tasks without clusters.
    """

    K: int
    sharpened: Estimate
    to_never: Estimate
    to_always: Estimate
    unaccounted: Estimate
    predicted: Estimate
    observed: Estimate
    gap: Estimate
    prediction: str
    tolerance: float
    selection: Assumption
    rest: Assumption
    all_the_way: Assumption
    confidence: float
    method: str
    covers: tuple[str, ...]
    clusters: int

    @property
    def assumptions(self) -> tuple[Assumption, Assumption, Assumption]:
        """All three, in this order: selection, rest, all the way."""
        return self.selection, self.rest, self.all_the_way


def sharpening_theorem(
    base: Arm,
    post: Arm,
    K: int,  # noqa: N803
    confidence: float = 0.95,
    clusters: Clusters | None = None,
) -> TheoremCheck:
    """Return what the sharpening theorem predicts for two arms, and whether it may.

    A prediction can come true though an assumption fails, and the other way round: lambda, which
    the prediction starts from, is itself taken from both arms. A check on exact data fails by
    chance as often as `confidence` leaves.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        K: the budget, 2 <= K <= the smallest n of both.
        confidence: the share of intervals that should hold the truth.
        clusters: which tasks are drawn together: a label for each task of base, or by task id.

    Returns:
        The check. Estimates are NaN and verdicts "undecided" where there is nothing to divide by:
        no task of base is mixed, an arm never fails, K = 1, or too few rollouts (below 4).

    Raises:
        BadArgument: as `sharpening_tax`, or `confidence` outside (0, 1), or clusters that do not
            fit the tasks.
    """
    arms = paired(base, post)
    k = single_k("K", K, arms.smallest_n)
    size = len(arms.base.c)
    codes = cluster_codes(clusters, base, size)
    critical = critical_for(confidence, codes, size)

    area_base, area_post = (mean_of(area(arm.c, arm.n, k)) for arm in arms)
    never_base, never_post = (mean_of(1 - pass_at_k(arm.c, arm.n, k)) for arm in arms)
    always_base, always_post = (mean_of(pass_hat_k(arm.c, arm.n, k)) for arm in arms)
    fails = mean_of((arms.base.n - arms.base.c) / arms.base.n)

    kept = over(area_post, area_base)
    sharpened = Linear(1 - kept.value, -kept.pull)
    to_never = never_post.minus(_times(kept, never_base))
    to_always = always_post.minus(_times(kept, always_base))
    still = _times(kept, fails)
    predicted = over(still, Linear(still.value + to_never.value, still.pull + to_never.pull))
    observed = over(scalability_of(arms.post, k), scalability_of(arms.base, k))

    def told(linear: Linear) -> Estimate:
        return interval_of(linear, critical, codes)

    gap = told(predicted.minus(observed))
    return TheoremCheck(
        K=k,
        sharpened=told(sharpened),
        to_never=told(to_never),
        to_always=told(to_always),
        unaccounted=told(sharpened.minus(to_never).minus(to_always)),
        predicted=told(predicted),
        observed=told(observed),
        gap=gap,
        prediction=verdict(gap, _TOLERANCE),
        tolerance=_TOLERANCE,
        selection=selection_blind(arms, k, critical, codes),
        rest=rest_unchanged(arms, k, critical, codes),
        all_the_way=went_all_the_way(arms, k, critical, codes),
        confidence=confidence,
        method="delta",
        covers=("tasks", "rollouts"),
        clusters=cluster_count(codes, size),
    )


def _times(one: Linear, two: Linear) -> Linear:
    return Linear(one.value * two.value, one.pull * two.value + one.value * two.pull)
