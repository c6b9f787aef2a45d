"""What the sharpening theorem takes for granted, as numbers that are 0 where it is true.

Say that each task's chance of success goes from p in base to p' in post, and that by m rollouts a
task shows as mixed with chance s(p) = 1 - (1 - p)^m - p^m. The theorem wants p' = p, or p' = 0 or
1 by a coin that does not look at p. Whatever the mixture of tasks, then

    selection     E[w s(p')] / E[w s(p)] is the same for all weights w that depend on p alone,
    rest          E[s(p') (p' - p)^2] = 0: a task that is still mixed has kept its chance,
    all the way   E[s(p') p' (1 - p')] = E[s(p') p (1 - p)]: none is less mixed without being done.

All are means of polynomials in p and p', estimated without bias from counts, whatever n is; no
task is judged by the rollouts that sorted it. The last two stand whatever the selection was. The
first leans on them: a task that goes from 0.8 to 0.99 looks sharpened, so that where they fail, a
failed selection may be their shadow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Paired, Tasks
from agentenvs.harness.tax.estimators import pass_at_k, pass_hat_k
from agentenvs.harness.tax.linear import Linear, interval_of, mean_of
from agentenvs.harness.tax.shares import Estimate

__all__ = ["Assumption", "over", "rest_unchanged", "selection_blind", "verdict", "went_all_the_way"]

_PILOT = 8
_Floats = NDArray[np.float64]


class Assumption(NamedTuple):
    """One assumption, judged against data.

    Attributes:
        name: "selection", "rest", "all the way".
        claim: what is assumed, in words.
        estimate: how far it is from true; 0 where it holds. NaN where it cannot be estimated.
        tolerance: up to where a departure is taken for none.
        verdict: "holds" where the interval lies within the tolerance, "fails" where it leaves out
            0 and reaches beyond the tolerance, "undecided" otherwise.
    """

    name: str
    claim: str
    estimate: Estimate
    tolerance: float
    verdict: str


def verdict(estimate: Estimate, tolerance: float) -> str:
    """Return "holds", "fails" or "undecided" for a number that should be 0."""
    low, high = estimate.low, estimate.high
    if -tolerance <= low and high <= tolerance:
        return "holds"
    return "fails" if low > 0 or high < 0 else "undecided"


def over(top: Linear, below: Linear) -> Linear:
    """Return the ratio of two measures; NaN where there is nothing to divide by."""
    if not below.value > 0:
        return Linear(math.nan, np.full(len(top.pull), math.nan))
    value = top.value / below.value
    return Linear(value, (top.pull - value * below.pull) / below.value)


def selection_blind(
    arms: Paired, k: int, critical: float, codes: NDArray[np.intp] | None
) -> Assumption:
    """Judge whether hard and easy tasks were sharpened at the same rate.

    Up to 8 of base's rollouts sort each task, hard where at most a quarter of them succeeded,
    averaged over all ways to draw them; the others say how mixed it was.

    Args:
        arms: T tasks of base and post.
        k: rollouts that show a task as mixed, less where there are not as many.
        critical: how many standard errors an interval reaches.
        codes: (T,) clusters, or None.

    Returns:
        The share sharpened of the hard tasks minus that of the easy ones.
    """
    base, post = arms
    pilot = min(_PILOT, int(base.n.min()) // 2)
    m = min(k, int(base.n.min()) - pilot, int(post.n.min()))
    size = len(base.c)
    kept = [Linear(math.nan, np.full(size, math.nan))] * 2
    if pilot >= 2 and m >= 2:
        solved = np.arange(pilot + 1)
        chance = _draws(base, pilot)
        rest = base.n[:, None] - pilot
        before = chance * _mixed(np.clip(base.c[:, None] - solved, 0, rest), rest, m)
        after = chance * _mixed(post.c, post.n, m)[:, None]
        hard = solved <= pilot // 4
        kept = [
            over(mean_of(after[:, part].sum(axis=1)), mean_of(before[:, part].sum(axis=1)))
            for part in (hard, ~hard)
        ]
    estimate = interval_of(kept[1].minus(kept[0]), critical, codes)
    claim = "which tasks are sharpened does not depend on how hard they are"
    return Assumption("selection", claim, estimate, 0.1, verdict(estimate, 0.1))


def rest_unchanged(
    arms: Paired, k: int, critical: float, codes: NDArray[np.intp] | None
) -> Assumption:
    """Judge whether tasks that are still mixed kept their chance of success.

    Returns:
        The root of the mean square of p' - p over tasks, each as often as `k` rollouts of post
        show it as mixed; 0 where the mean square is estimated below 0.
    """
    base, post = arms
    m = min(k, int(post.n.min()) - 2)
    square = Linear(math.nan, np.full(len(base.c), math.nan))
    if m >= 2 and int(base.n.min()) >= 2:
        seen, once, twice = (_mixed_times(post, m, a, 0) for a in range(3))
        moved = twice - 2 * once * _moment(base, 1, 0) + seen * _moment(base, 2, 0)
        square = over(mean_of(moved), mean_of(seen))
    value, se, low, high = interval_of(square, critical, codes)
    root = math.sqrt(max(value, 0.0)) if not math.isnan(value) else math.nan
    estimate = Estimate(
        root,
        se / (2 * root) if root > 0 else math.nan,
        *(math.sqrt(max(end, 0.0)) if not math.isnan(end) else math.nan for end in (low, high)),
    )
    claim = "tasks that are not sharpened keep their chance of success"
    return Assumption("rest", claim, estimate, 0.05, verdict(estimate, 0.05))


def went_all_the_way(
    arms: Paired, k: int, critical: float, codes: NDArray[np.intp] | None
) -> Assumption:
    """Judge whether tasks that became surer became entirely sure.

    Returns:
        How much less mixed, relatively, the tasks that are still mixed are than they were; below
        0 where they are more mixed, which is no breach of this assumption.
    """
    base, post = arms
    m = min(k, int(post.n.min()) - 2)
    lost = Linear(math.nan, np.full(len(base.c), math.nan))
    if m >= 2 and int(base.n.min()) >= 2:
        after = mean_of(_mixed_times(post, m, 1, 1))
        before = mean_of(_mixed_times(post, m, 0, 0) * _moment(base, 1, 1))
        ratio = over(after, before)
        lost = Linear(1 - ratio.value, -ratio.pull)
    estimate = interval_of(lost, critical, codes)
    claim = "a sharpened task always fails or always succeeds"
    found = "holds" if estimate.high <= 0 else verdict(estimate, 0.1)
    return Assumption("all the way", claim, estimate, 0.1, found)


def _draws(tasks: Tasks, size: int) -> _Floats:
    """Return the chances that `size` drawn rollouts hold 0, ..., size successes, (T, size + 1)."""
    hits, fails = _falling(tasks.c, size), _falling(tasks.n - tasks.c, size)
    ways = np.array([math.comb(size, j) for j in range(size + 1)], dtype=np.float64)
    both: _Floats = ways * hits * fails[:, ::-1] / _falling(tasks.n, size)[:, -1:]
    return both


def _falling(start: NDArray[np.int64], most: int) -> _Floats:
    """Return start (start - 1) ... of 0, ..., most factors, (T, most + 1)."""
    factors = np.maximum(start[:, None] - np.arange(most), 0)
    return np.concatenate((np.ones((len(start), 1)), np.cumprod(factors, axis=1, dtype=float)), 1)


def _mixed(c: NDArray[np.int64], n: NDArray[np.int64], m: int) -> _Floats:
    return pass_at_k(c, n, m) - pass_hat_k(c, n, m)


def _mixed_times(tasks: Tasks, m: int, a: int, b: int) -> _Floats:
    """Return the unbiased estimate of s(p) p^a (1 - p)^b of each task."""
    return _moment(tasks, a, b) - _moment(tasks, a, b + m) - _moment(tasks, a + m, b)


def _moment(tasks: Tasks, a: int, b: int) -> _Floats:
    """Return the unbiased estimate of p^a (1 - p)^b: a draws succeed, then b more fail."""
    first = pass_hat_k(tasks.c, tasks.n, a) if a else np.ones(len(tasks.c))
    if not b:
        return first
    left = tasks.n - a
    return first * pass_hat_k(np.minimum(tasks.n - tasks.c, left), left, b)
