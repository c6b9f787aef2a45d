"""How many tasks or rollouts a tax still needs before its interval is narrow enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm, Tasks, paired
from agentenvs.harness.tax.clusters import Clusters, cluster_codes, effective_count
from agentenvs.harness.tax.intervals import sharpening_tax_interval
from agentenvs.harness.tax.linear import critical_value
from agentenvs.harness.tax.rates import Rates, fit_rates, scalability_noise

__all__ = ["SampleSize", "sample_size"]

_MOST = 10_000_000


class SampleSize(NamedTuple):
    """What it takes to know Tax_S to within a half width, made by `sample_size`.

    All sizes are those of the whole sample, not what is to be added; a size below the present one
    means that less would have done. They rest on spreads that are estimates themselves.

    Attributes:
        K: the budget.
        confidence: of the interval that is planned.
        tax_S: the present estimate; NaN where undefined.
        now: the half width of its interval; NaN where unknown, and then so is all that follows.
        half_width: the half width aimed at.
        enough: whether the present sample reaches it.
        tasks, rollouts: the present numbers; rollouts of the task that has fewest.
        tasks_needed: tasks that reach it with as many rollouts each as now; None where unknown.
        rollouts_needed: rollouts of each of these tasks, in both arms, that reach it; None where
            no number does, or unknown.
        from_rollouts: the share of the variance that rollouts make, which more of them take away.
        floor: the half width that endless rollouts of these tasks would leave.
        at_2K: the half width with 2 K rollouts of each task, beyond which more buy little.
    """

    K: int
    confidence: float
    tax_S: float  # noqa: N815
    now: float
    half_width: float
    enough: bool
    tasks: int
    rollouts: int
    tasks_needed: int | None
    rollouts_needed: int | None
    from_rollouts: float
    floor: float
    at_2K: float  # noqa: N815


def sample_size(
    base: Arm,
    post: Arm,
    K: int,  # noqa: N803
    half_width: float | None = None,
    confidence: float = 0.95,
    clusters: Clusters | None = None,
) -> SampleSize:
    """Return how many tasks, or how many rollouts of these tasks, narrow Tax_S(K) enough.

    The squared standard error is made of what tasks differ in, which falls with tasks alone, and
    of the noise of rollouts, which falls with both. The second part, at any number of rollouts,
    comes from the success rates fitted by `fit_rates`; the first is what it leaves.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        K: the budget, at most the smallest n of both.
        half_width: half of the width aimed at; default the present |Tax_S|, at which the interval
            would begin to leave 0 out if the estimate stayed what it is. It may not: with that
            many, about every second repetition leaves it out.
        confidence: of the interval.
        clusters: tasks that were drawn together, as for `sharpening_tax_interval`; more of them
            are taken to come in clusters alike.

    Raises:
        BadArgument: as `sharpening_tax_interval`, or `half_width` that is not above 0.
    """
    if half_width is not None and not (
        isinstance(half_width, float | int)
        and not isinstance(half_width, bool)
        and 0 < half_width < math.inf
    ):
        raise BadArgument(f"Expected `half_width` above 0, got {half_width!r}.")
    arms = paired(base, post)
    found = sharpening_tax_interval(base, post, K, confidence, clusters)
    k, size = found.K, found.tasks
    groups = effective_count(cluster_codes(clusters, base, size), size)
    rollouts = arms.smallest_n
    value, se = found.tax_S.value, found.tax_S.se
    aim = abs(value) if half_width is None else float(half_width)
    nan = math.nan
    if not math.isfinite(se):
        return SampleSize(
            k, confidence, value, nan, aim, False, size, rollouts, None, None, nan, nan, nan
        )
    noises = [
        _Noise(arm, s.value, k) for arm, s in zip(arms, (found.S_base, found.S_post), strict=True)
    ]
    total = se * se
    noise = min(sum(of.now() for of in noises), total)
    lasting = total - noise

    reach = critical_value(confidence, groups)

    def with_rollouts(n: int) -> float:
        return reach * math.sqrt(lasting + sum(of.at(n) for of in noises))

    def with_tasks(count: int) -> float:
        return critical_value(confidence, groups * count / size) * se * math.sqrt(size / count)

    now, floor = reach * se, reach * math.sqrt(lasting)
    # From two groups on a spread can be estimated.
    fewest = math.ceil(2 * size / groups)
    return SampleSize(
        K=k,
        confidence=confidence,
        tax_S=value,
        now=now,
        half_width=aim,
        enough=now <= aim * (1 + 1e-9),
        tasks=size,
        rollouts=rollouts,
        tasks_needed=_least(with_tasks, fewest, aim) if aim > 0 else None,
        rollouts_needed=_least(with_rollouts, k, aim) if floor < aim else None,
        from_rollouts=noise / total,
        floor=floor,
        at_2K=with_rollouts(2 * k),
    )


class _Noise:
    """The part of the variance of S(K) that one arm's rollouts make."""

    def __init__(self, tasks: Tasks, s: float, k: int) -> None:
        self._fitted: Rates = fit_rates(tasks)
        self._tasks, self._s, self._k = tasks, s, k
        fails = float(((tasks.n - tasks.c) / tasks.n).mean())
        self._scale = 1 / (fails * fails * len(tasks.c))

    def at(self, n: int) -> float:
        """Return it with n rollouts of each task."""
        return self._scale * scalability_noise(self._fitted, self._s, self._k, n)

    def now(self) -> float:
        """Return it with the rollouts that there are."""
        rolls, times = np.unique(self._tasks.n, return_counts=True)
        parts = [self.at(n) for n in rolls.tolist()]
        return float(np.dot(parts, times)) / len(self._tasks.c)


def _least(half: Callable[[int], float], start: int, aim: float) -> int | None:
    """Return the least number from `start` with `half` of it <= `aim`; None beyond ten million."""
    # The present size must be found enough for the present width, whatever rounding does.
    bound = aim * (1 + 1e-9)
    low, high = start - 1, start
    while half(high) > bound:
        low, high = high, 2 * high
        if low > _MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if half(middle) <= bound else (middle, high)
    return high
