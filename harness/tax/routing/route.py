"""Which policy to ask, and how often: base@k, post@1 or post@k, for a price per rollout.

How sure the choice is comes from tasks drawn again with replacement, both arms of a task
together; in each replicate the whole choice is made anew. The rollouts are not drawn again: a
task's counts hold their noise already. Nothing is said of more tries than there were rollouts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Arm, check_seed, check_times, paired
from agentenvs.harness.tax.clusters import Clusters, cluster_codes, cluster_count
from agentenvs.harness.tax.resampled import ends
from agentenvs.harness.tax.routing.demand import Demand, Stop, check_demand
from agentenvs.harness.tax.routing.options import KINDS, Option, Weighed, failures, option_at
from agentenvs.harness.tax.routing.picks import Picked, pick, replicates, winners
from agentenvs.harness.tax.shares import Estimate, quantile

__all__ = [
    "ArmChoice",
    "Routing",
    "decide",
    "route",
]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Codes = NDArray[np.intp] | None


class ArmChoice(NamedTuple):
    """What one policy has to offer for a target or a budget.

    Attributes:
        option: its cheapest way to the target, or its most coverage within the budget; None where
            no number of tries up to `furthest.k` will do.
        k_low, k_high: the interval of k over replicates; None where an end lies beyond
            `furthest.k`, or, with a budget, where not even one try is paid for.
        share_reached: the share of replicates in which some number of tries will do.
        furthest: as many tries as there were rollouts, the most that can be judged.
        capped: whether the budget would pay for more tries than could be judged.
    """

    option: Option | None
    k_low: int | None
    k_high: int | None
    share_reached: float
    furthest: Option
    capped: bool


class Routing(NamedTuple):
    """Which policy to ask and how often; made by `route`.

    Attributes:
        price, target, budget, stop: what was asked.
        base, post: what each policy has to offer.
        post_1: the post-trained policy asked once, for comparison.
        best: the better of the two offers; None where no option will do.
        runner_up: the other; None where it will not do.
        saving: with a target, the runner-up's cost minus the best's; with a budget, the best's
            coverage minus the runner-up's. Its interval is over replicates, in each of which k is
            chosen anew. Infinite where the other policy does not reach the target, NaN without
            best.
        shares: of replicates in which base@k, post@1 and post@k are best, in the order of `KINDS`.
        share_none: the share in which no option will do.
        share_tied: the share in which both policies come to the same cost and coverage, counted
            for base.
        decided: whether the best option, by its name in `KINDS`, is best in at least `confidence`
            of the replicates. Never where there is nothing to draw: one task, or all alike.
        tasks: how many; in parts where tasks belong to a bin in part.
        clusters: how many groups of tasks are drawn.
        confidence: what the intervals aim at.
        draws: how many replicates.
        method, covers: how, and what of: tasks and rollouts, no other training run.
    """

    price: tuple[float, float]
    target: float | None
    budget: float | None
    stop: Stop
    base: ArmChoice
    post: ArmChoice
    post_1: Option
    best: Option | None
    runner_up: Option | None
    saving: Estimate
    shares: tuple[float, float, float]
    share_none: float
    share_tied: float
    decided: bool
    tasks: float
    clusters: int
    confidence: float
    draws: int
    method: str = "bootstrap"
    covers: tuple[str, ...] = ("tasks", "rollouts")

    @property
    def arm_shares(self) -> tuple[float, float]:
        """The shares of replicates in which base is best, and post, however often it is asked."""
        return self.shares[0], self.shares[1] + self.shares[2]

    @property
    def words(self) -> str:
        """The answer in a few sentences."""
        if self.budget is not None:
            aim = f"solve the most tasks for {self.budget:g} a task"
        else:
            aim = f"solve {100 * (self.target or 0):g} % of the tasks"
        if self.best is None:
            if self.budget is not None:
                return f"{self.budget:g} a task pays for no try of either policy."
            ends = " and ".join(_solves(arm.furthest) for arm in (self.base, self.post))
            return f"No option is known to {aim}: {ends}, and no more tries were played."
        sure = self.shares[KINDS.index(self.best.kind)]
        rival = self.runner_up
        if rival is not None:
            second = f" {_solves(rival)} for {rival.cost.value:.3g}."
        elif self.budget is not None:
            second = ""
        else:
            other = self.post if self.best.arm == "base" else self.base
            second = f" {_solves(other.furthest)}, and no more tries were played."
        doubt = "" if self.decided else ": the data do not decide"
        return (
            f"To {aim}, take {self.best}: it solves {self.best.coverage.value:.1%} for "
            f"{self.best.cost.value:.3g} a task.{second} {self.best.kind} is best in {sure:.0%} "
            f"of samples of such tasks{doubt}."
        )


def route(
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
) -> Routing:
    """Return the cheapest option that solves a share of the tasks, or the best within a budget.

    Each policy offers its own number of tries, as many as it has rollouts at most; the better of
    the two offers is the answer. The same arguments give the same answer, and without clusters
    in whatever order the tasks come.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        price: of a rollout of base, and of post, in any unit.
        target: the share of tasks that at least one try should solve.
        budget: the mean cost of a task; give this or `target`.
        stop: "never" where all k tries are paid, "success" where a verifier ends them at the
            first success.
        confidence: the share of intervals that should hold the truth.
        draws: replicates, up to a million.
        seed: of the draws.
        clusters: which tasks belong together and are drawn together; default each by itself.

    Raises:
        BadArgument: as `sharpening_tax`; not exactly one of `target` and `budget`, or a number
            out of range; clusters that do not fit the tasks.
    """
    demand = check_demand(price, target, budget, stop)
    arms = paired(base, post)
    codes = cluster_codes(clusters, base, len(arms.base.c))
    if codes is None:
        arms = arms.in_order()
    ones = np.ones(len(arms.base.c))
    first, second = (Weighed(ones, failures(arm), int(arm.n.min())) for arm in arms)
    return decide((first, second), demand, confidence, draws, seed, codes)


def decide(
    arms: tuple[Weighed, Weighed],
    demand: Demand,
    confidence: float,
    draws: int,
    seed: int,
    codes: _Codes = None,
) -> Routing:
    """Return the routing of weighted tasks.

    Args:
        arms: base and post, with the same weights.
        demand: what is asked for.
        confidence: what the intervals aim at.
        draws: replicates.
        seed: of the draws.
        codes: (T,) the clusters of the tasks.

    Raises:
        BadArgument: `confidence`, `draws` or `seed` out of range.
    """
    quantile(confidence)
    size = len(arms[0].weight)
    drawn = replicates(arms, demand, check_times("draws", draws), check_seed(seed), codes)
    point = [pick(side.missed.sum(axis=0)[None], demand, at) for at, side in enumerate(arms)]
    base, post = (
        _arm_choice(at, int(point[at].k[0]), drawn[at].k, side, demand, confidence, codes)
        for at, side in enumerate(arms)
    )
    won, ties = winners(drawn[0], drawn[1], demand)
    ahead = int(winners(point[0], point[1], demand)[0][0])
    shares = [float(np.mean(won == at)) for at in range(len(KINDS))]
    pair = (base.option, post.option)
    return Routing(
        price=demand.price,
        target=demand.target,
        budget=demand.budget,
        stop=demand.stop,
        base=base,
        post=post,
        post_1=option_at(1, 1, arms[1], demand, confidence, codes),
        best=None if ahead < 0 else pair[ahead > 0],
        runner_up=None if ahead < 0 else pair[ahead == 0],
        saving=_saving(point, drawn, ahead, demand, confidence),
        shares=(shares[0], shares[1], shares[2]),
        share_none=float(np.mean(won < 0)),
        share_tied=float(np.mean(ties)),
        decided=ahead >= 0 and shares[ahead] >= confidence and not _alike(arms),
        tasks=float(arms[0].weight.sum()),
        clusters=cluster_count(codes, size),
        confidence=confidence,
        draws=draws,
    )


def _arm_choice(
    arm: int,
    k: int,
    drawn: _Ints,
    side: Weighed,
    demand: Demand,
    confidence: float,
    codes: _Codes,
) -> ArmChoice:
    most = side.missed.shape[1] - 1
    # Beyond the last k where no number of tries reaches a target, before the first where no
    # try is paid for.
    none = 0 if demand.target is None else most + 1
    low, high = ends(np.where(drawn == 0, none, drawn), confidence, k or none)
    end = [None if not 1 <= one <= most else int(one) for one in (low, high)]
    weight = float(side.weight.sum())
    # The cost of one try more than could be judged is known: it hangs on those before it.
    spent = (
        demand.costs(side.missed.sum(axis=0), arm)[-1]
        if demand.stop == "success"
        else (demand.price[arm] * (most + 1) * weight)
    )
    return ArmChoice(
        option=option_at(arm, k, side, demand, confidence, codes) if k else None,
        k_low=end[0],
        k_high=end[1],
        share_reached=float(np.mean(drawn > 0)),
        furthest=option_at(arm, most, side, demand, confidence, codes),
        capped=demand.budget is not None and weight > 0 and spent <= demand.budget * weight,
    )


def _saving(
    point: list[Picked], drawn: list[Picked], ahead: int, demand: Demand, confidence: float
) -> Estimate:
    if ahead < 0:
        return Estimate(math.nan, math.nan, math.nan, math.nan)
    best, other = (0, 1) if ahead == 0 else (1, 0)

    def gain(pair: list[Picked]) -> _Floats:
        """The saving where either will do, infinite where one alone will."""
        if demand.target is None:
            covered = [np.where(arm.k > 0, arm.coverage, 0.0) for arm in pair]
            return covered[best] - covered[other]
        able = [arm.k > 0 for arm in pair]
        left = np.where(able[best], math.inf, -math.inf)
        difference = pair[other].cost - pair[best].cost
        found = np.where(able[best] & able[other], difference, left)
        return found[able[best] | able[other]]

    value, again = float(gain(point)[0]), gain(drawn)
    low, high = ends(again, confidence, value)
    finite = np.isfinite(again)
    se = float(np.std(again[finite], ddof=1)) if finite.all() and len(again) > 1 else math.nan
    return Estimate(value, se, low, high)


def _alike(arms: tuple[Weighed, Weighed]) -> bool:
    """Return whether the tasks have nothing to tell apart, so that drawing them shows no doubt."""
    used = arms[0].weight > 0
    rows = np.column_stack([side.missed[used] / side.weight[used, None] for side in arms])
    return len(rows) < 2 or bool((np.abs(rows - rows[0]) < 1e-13).all())


def _solves(option: Option) -> str:
    return f"{option} solves {option.coverage.value:.1%}"
