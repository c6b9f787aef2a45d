"""Does the best option differ between easy and hard tasks?

Bins of difficulty come from one half of a policy's rollouts of each task, and the options are
judged on the other half: bins and verdict on the same rollouts would call the unlucky tasks hard
and then see that policy do too badly on them. All ways of halving are averaged in closed form, so
that nothing is drawn and a task lies in several bins with weights that sum to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm, Tasks, paired
from agentenvs.harness.tax.clusters import Clusters, cluster_codes
from agentenvs.harness.tax.halves import EDGES, Span, first_part, in_bins, spans_of
from agentenvs.harness.tax.routing.demand import Stop, check_demand
from agentenvs.harness.tax.routing.options import Weighed, failures
from agentenvs.harness.tax.routing.route import Routing, decide

__all__ = ["BinRouting", "RoutingByBin", "Verdict", "route_by_bin"]

Verdict = Literal["differs", "same", "undecided"]

_Floats = NDArray[np.float64]


class BinRouting(NamedTuple):
    """Tasks of similar difficulty and what is best for them.

    Attributes:
        low, high: the rate of success in the rollouts that place a task, low <= rate < high (the
            last bin includes 1).
        tasks: how many, in parts: a task that some halves place here counts in part.
        routing: the best option; its intervals hold for this bin alone.
    """

    low: float
    high: float
    tasks: float
    routing: Routing


class RoutingByBin(NamedTuple):
    """What is best by difficulty; made by `route_by_bin`.

    Attributes:
        by: whose rollouts place the tasks.
        K: the most tries that are judged: the rollouts that place no task.
        bins: from hard to easy.
        verdict: "differs" if base is surely better in one bin and post in another, "same" if one
            policy is better in all bins in which any option will do, each by itself surely;
            "undecided" otherwise. Sure is what holds in `confidence` of the replicates; for
            "differs" in more, since any two of the bins may show it by chance (Bonferroni).
        confidence: what the intervals and the verdict aim at.
        method, covers: how, and what of: tasks and rollouts, no other training run.
    """

    by: Literal["base", "post"]
    K: int
    bins: tuple[BinRouting, ...]
    verdict: Verdict
    confidence: float
    method: str = "bootstrap"
    covers: tuple[str, ...] = ("tasks", "rollouts")


def route_by_bin(
    base: Arm,
    post: Arm,
    price: tuple[float, float] = (1.0, 1.0),
    target: float | None = None,
    budget: float | None = None,
    stop: Stop = "never",
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    clusters: Clusters | None = None,
    by: Literal["base", "post"] = "base",
    edges: Sequence[float] = EDGES,
) -> RoutingByBin:
    """Return the best option for hard and for easy tasks, judged on rollouts that placed none.

    A target is asked of each bin by itself.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`; 4 rollouts or more are of use.
        post: the same over the same tasks; `Counts` are matched by task id.
        price: of a rollout of base, and of post, in any unit.
        target: the share of a bin's tasks that at least one try should solve.
        budget: the mean cost of a task; give this or `target`.
        stop: as in `route`.
        confidence: the share of intervals that should hold the truth.
        draws: replicates, up to a million.
        seed: of the draws.
        clusters: which tasks belong together and are drawn together; default each by itself.
        by: the policy whose success is the measure of difficulty; half of its rollouts place.
        edges: of the bins, from 0 to 1.

    Raises:
        BadArgument: as `route`, one rollout of a task alone, another `by`, or edges that do not
            rise from 0 to 1.
    """
    demand = check_demand(price, target, budget, stop)
    if by not in ("base", "post"):
        raise BadArgument(f'Expected `by` to be "base" or "post", got {by!r}.')
    spans = spans_of(edges)
    arms = paired(base, post)
    codes = cluster_codes(clusters, base, len(arms.base.c))
    if codes is None:
        arms = arms.in_order()
    placing, other = (arms.base, arms.post) if by == "base" else (arms.post, arms.base)
    if placing.n.min() < 2:
        raise BadArgument(f"Expected 2 rollouts or more of each task in `{by}`: half place it.")
    rest = int((placing.n - placing.n // 2).min())
    most = min(rest, int(other.n.min()))
    weights, missed = _placed(placing, spans, most)
    plain, judge = failures(other, most), int(other.n.min())
    bins = []
    for at, span in enumerate(spans):
        weight = weights[:, at]
        pair = (
            Weighed(weight, missed[:, at], rest),
            Weighed(weight, weight[:, None] * plain, judge),
        )
        sides = pair if by == "base" else (pair[1], pair[0])
        routing = decide(sides, demand, confidence, draws, seed, codes)
        bins.append(BinRouting(*span, routing.tasks, routing))
    return RoutingByBin(
        by=by,
        K=most,
        bins=tuple(bins),
        verdict=_verdict([found.routing for found in bins], confidence),
        confidence=confidence,
    )


def _placed(tasks: Tasks, spans: Sequence[Span], most: int) -> tuple[_Floats, _Floats]:
    """Return each task's weight in each bin, and its failures in the other half times that.

    Returns:
        (T, bins), and (T, bins, most + 1): the mean over all halves that place the task in a bin
        of the chances that 0, ..., most tries all fail, times the share of such halves.
    """
    weights = np.empty((len(tasks.c), len(spans)))
    missed = np.empty((len(tasks.c), len(spans), most + 1))
    for n in np.unique(tasks.n).tolist():
        of_n = np.flatnonzero(tasks.n == n)
        kinds, where = np.unique(tasks.c[of_n], return_inverse=True)
        half = n // 2
        rest = n - half
        chance = first_part(kinds, n, half)
        inside = in_bins(np.arange(half + 1) / half, spans)
        left = np.clip(kinds[:, None] - np.arange(half + 1), 0, rest)
        table = failures(Tasks(np.arange(rest + 1), np.full(rest + 1, rest)), most)
        weights[of_n] = (chance @ inside)[where]
        for kind, row in enumerate(left):
            parts = (chance[kind][:, None] * inside).T @ table[row]
            missed[of_n[where == kind]] = parts
    return weights, missed


def _verdict(bins: Sequence[Routing], confidence: float) -> Verdict:
    able = [one for one in bins if one.best is not None]
    base, post = ([one.arm_shares[arm] for one in able] for arm in (0, 1))
    strict = 1 - (1 - confidence) / len(bins)
    if any(share >= strict for share in base) and any(share >= strict for share in post):
        return "differs"
    sure = any(able) and any(min(shares) >= confidence for shares in (base, post))
    return "same" if sure else "undecided"
