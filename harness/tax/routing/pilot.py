"""Can a few rollouts of each task decide which policy to ask, and does that pay?

The protocol: play `pilot` rollouts of each task with both policies. From them choose, once for all
tasks or task by task, which policy to ask and how often when the tasks are served. It is judged on
the rollouts that the pilot did not use, over many ways of picking the pilot from the rollouts
there are. What the pilot solved does not count as solved: it is paid for by serving better
afterwards, `uses` times each task.

The per-task oracle has two bounds. Chosen and judged on the same rollouts it is too good, since
the best of several estimates is the luckiest too. Chosen on one half of the rollouts and judged on
the other it is what so large a pilot would give, a little less than the truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm, check_seed, check_times, paired, single_k
from agentenvs.harness.tax.clusters import Clusters, cluster_codes, cluster_count
from agentenvs.harness.tax.resampled import drawn_again, ends
from agentenvs.harness.tax.routing.demand import Demand, Stop, check_demand
from agentenvs.harness.tax.routing.fixed import Blend, Fixed, Menu, blend, choose
from agentenvs.harness.tax.routing.options import KINDS
from agentenvs.harness.tax.routing.pilot_runs import run_pilots, same_rollouts
from agentenvs.harness.tax.routing.serving import Means, Served, served
from agentenvs.harness.tax.shares import Estimate, quantile

__all__ = ["PilotProtocol", "pilot_protocol"]
# How many ways of halving the rollouts the oracle is averaged over.
_HALVES = 10


class PilotProtocol(NamedTuple):
    """What a pilot of a few rollouts is worth; made by `pilot_protocol`.

    Attributes:
        pilot: rollouts of each task and policy.
        uses: how often each task is served.
        price, target, budget, stop: what was asked.
        K: the most tries that are judged.
        pilot_cost: the pilot's cost of a task.
        by_pilot: one option for all tasks, chosen from the pilot.
        by_task: an option for each task, chosen from its result in the pilot and all others'.
        base_k, post_1, post_k: base alone, post asked once, and post alone, with the number of
            tries (for post it may be 1) that all rollouts call best; None where no number up to K
            will do.
        both: some tries of both policies for every task, which needs no pilot either.
        best: the one of these that meets the demand best; None where none does.
        oracle: as `by_task`, from a pilot of half of the rollouts, free of charge: a little less
            than what is possible, with tries up to the other half.
        same_rollouts: the same, chosen and judged on the same rollouts: more than what is possible.
        shares: of pilots that call base@k, post@1 and post@k best, in the order of `KINDS`.
        share_none: of pilots that see no way to meet the demand; the most coverage is taken then.
        agreement: the share of pilots that call the option best that the other rollouts call
            best. Equal to what chance gives where those do not decide: see `route`.
        gain: coverage of `by_task` minus that of `best`; NaN without.
        matched: the cheapest way without a pilot, of one policy or both, to the coverage of
            `by_task`, if need be one option for tasks picked by lot and another for the rest;
            None where none gets as far in K tries.
        saving: the cost of `matched` minus that of `by_task`; infinite without `matched`.
        break_even: how often each task must be served until the pilot has paid for itself by that
            saving; infinite where nothing is saved. The ends come from those of `saving`.
        pays: "yes" where `uses` is above the interval of `break_even`, "no" where it is below,
            "undecided" within.
        splits: over how many pilots all this is averaged.
        draws: how many replicates the intervals rest on.
        tasks, clusters: how many tasks, and groups of tasks, the intervals rest on.
        confidence: what the intervals aim at. Those of `by_pilot`, `by_task`, `gain` and `saving`
            are over replicates with tasks drawn again and one pilot anew, from which all is
            decided anew: what a pilot may come to, its luck included. Those of the others hold
            for the number of tries that is named; `oracle` and `same_rollouts` have none.
        method, covers: how, and what of: tasks and rollouts, no other training run.
    """

    pilot: int
    uses: float
    price: tuple[float, float]
    target: float | None
    budget: float | None
    stop: Stop
    K: int
    pilot_cost: float
    by_pilot: Served
    by_task: Served
    base_k: Served | None
    post_1: Served
    post_k: Served | None
    both: Served | None
    best: Served | None
    oracle: Served
    same_rollouts: Served
    shares: tuple[float, float, float]
    share_none: float
    agreement: float
    gain: Estimate
    matched: Served | None
    saving: Estimate
    break_even: Estimate
    pays: Literal["yes", "no", "undecided"]
    splits: int
    draws: int
    tasks: int
    clusters: int
    confidence: float
    method: str = "bootstrap, split rollouts"
    covers: tuple[str, ...] = ("tasks", "rollouts")

    @property
    def decides(self) -> bool:
        """Whether so small a pilot finds the best option of the three, `confidence` of the time."""
        return self.best is not None and self.agreement >= self.confidence

    @property
    def words(self) -> str:
        """What the pilot is worth, in a few sentences."""
        text = f"{self.pilot} rollouts of each task and policy cost {self.pilot_cost:g} a task. "
        if self.best is not None:
            text += (
                f"{self.agreement:.0%} of such pilots find the option that the other rollouts "
                "call best. "
            )
        text += (
            f"An option for each task, chosen so, {_solves(self.by_task)}; "
            f"one for all tasks {_solves(self.by_pilot)}."
        )
        ways = [way for way in (self.best, self.matched) if way is not None]
        if self.best is None:
            text += f" No option for all tasks is known to do what is asked in {self.K} tries."
        if ways:
            named = {way.name: f"{way.name} {_solves(way)}" for way in ways}
            text += f" Without a pilot, {' and '.join(named.values())}."
        if self.matched is None:
            return f"{text} Nothing without a pilot is known to solve as many."
        if math.isinf(self.break_even.value):
            return f"{text} The pilot saves nothing."
        end = "" if math.isinf(self.break_even.high) else f" to {self.break_even.high:.3g}"
        return (
            f"{text} The pilot pays where each task is served more than "
            f"{self.break_even.value:.3g} times "
            f"({100 * self.confidence:g} % interval from {self.break_even.low:.3g}{end})."
        )

    def total(self, served: Served) -> float:
        """Return the mean cost of serving a task once, with its part of the pilot if it had one."""
        piloted = served.name in (self.by_pilot.name, self.by_task.name)
        return served.cost.value + (self.pilot_cost / self.uses if piloted else 0.0)


def pilot_protocol(
    base: Arm,
    post: Arm,
    pilot: int = 8,
    price: tuple[float, float] = (1.0, 1.0),
    target: float | None = None,
    budget: float | None = None,
    stop: Stop = "never",
    uses: float = 1.0,
    splits: int = 200,
    draws: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> PilotProtocol:
    """Return what deciding from a few rollouts gives, against fixed options and the oracle.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks; `Counts` are matched by task id.
        pilot: rollouts of each task and policy in the pilot; at least one must be left of each.
        price: of a rollout of base, and of post, in any unit.
        target: the share of tasks that at least one try should solve.
        budget: the mean cost of serving a task once, without the pilot; give this or `target`.
        stop: as in `route`.
        uses: how often each task is served, over which the pilot is spread.
        splits: how many pilots are picked from the rollouts.
        draws: how many more, each with tasks drawn again, for the intervals.
        confidence: the share of intervals that should hold the truth.
        seed: of the splits.
        clusters: which tasks belong together; default each by itself.

    Raises:
        BadArgument: as `route`; a pilot that leaves no rollout to judge by; a budget below the
            price of one try of either policy; `uses` or `splits` out of range.
    """
    demand = check_demand(price, target, budget, stop)
    arms = paired(base, post)
    size = len(arms.base.c)
    codes = cluster_codes(clusters, base, size)
    quantile(confidence)
    if codes is None:
        arms = arms.in_order()
    smallest = arms.smallest_n
    if smallest < 2:
        raise BadArgument("Expected 2 rollouts or more of each task: a pilot, and some to judge.")
    first = single_k("pilot", pilot, smallest)
    if first == smallest:
        raise BadArgument(
            f"Expected `pilot` below the smallest n, {smallest}, got {first}: "
            "no rollout would be left to judge by."
        )
    if budget is not None and demand.budget is not None and demand.budget < min(demand.price):
        raise BadArgument(
            f"Expected `budget` to pay for one try, {min(demand.price):g}, got {budget!r}."
        )
    check_times("splits", splits)
    check_times("draws", draws)
    if isinstance(uses, bool) or not isinstance(uses, int | float) or not 0 < uses < math.inf:
        raise BadArgument(f"Expected `uses` above 0, got {uses!r}.")
    rng = np.random.default_rng(check_seed(seed))
    most, half = smallest - first, smallest // 2
    even = np.full((splits, size), 1 / size)
    runs = run_pilots(arms, first, most, demand, even, rng)
    ideal = run_pilots(arms, half, smallest - half, demand, even[:_HALVES], rng).by_task
    weights = np.concatenate(list(drawn_again(size, draws, rng, codes)))
    weights /= weights.sum(axis=1, keepdims=True)
    again = run_pilots(arms, first, most, demand, weights, rng)

    fixed = Fixed.of(arms, most, demand)
    menu = fixed.menu()
    known = {kind: choose(menu, demand, fixed.part(kind)) for kind in ("base", "post", "both")}
    point = _compare(
        menu, float(np.mean(runs.by_task.coverage)), float(np.mean(runs.by_task.cost)), demand
    )
    replicates = [
        _compare(fixed.menu(row), float(solved), float(cost), demand)
        for row, solved, cost in zip(weights, *again.by_task[:2], strict=True)
    ]

    def shown(option: int) -> Served | None:
        if option < 0:
            return None
        return served(fixed.name(option), fixed.serving(option), demand, confidence, codes)

    def spread(value: float, values: Iterable[float]) -> Estimate:
        found = np.array([one for one in values if not math.isnan(one)])
        if math.isnan(value):
            return Estimate(*[math.nan] * 4)
        sure = np.isfinite(found).all() and len(found) > 1 and math.isfinite(value)
        se = float(np.std(found, ddof=1)) if sure else math.nan
        return Estimate(value, se, *ends(found, confidence, value))

    def means(name: str, given: Means, others: Means | None = None) -> Served:
        values = [float(np.mean(part)) for part in given]
        if others is None:
            both = [Estimate(value, *[math.nan] * 3) for value in values[:2]]
        else:
            both = [spread(value, part) for value, part in zip(values, others[:2], strict=False)]
        return Served(name, both[0], both[1], values[2])

    cost = first * sum(demand.price)
    saving = spread(point.saving, (one.saving for one in replicates))
    needed = [_uses(cost, one) for one in (saving.value, saving.high, saving.low)]
    shares = [float(np.mean(runs.picks == at)) for at in range(len(KINDS))]
    return PilotProtocol(
        pilot=first,
        uses=float(uses),
        price=demand.price,
        target=demand.target,
        budget=demand.budget,
        stop=demand.stop,
        K=most,
        pilot_cost=cost,
        by_pilot=means("by pilot", runs.by_pilot, again.by_pilot),
        by_task=means("by task", runs.by_task, again.by_task),
        base_k=shown(known["base"]),
        post_1=served("post@1", fixed.serving(most), demand, confidence, codes),
        post_k=shown(known["post"]),
        both=shown(known["both"]),
        best=shown(point.best),
        oracle=means("oracle", ideal),
        same_rollouts=means("same rollouts", same_rollouts(arms, most, demand)),
        shares=(shares[0], shares[1], shares[2]),
        share_none=float(np.mean(runs.picks < 0)),
        agreement=float(np.mean(runs.picks == runs.truths)),
        gain=spread(point.gain, (one.gain for one in replicates)),
        matched=None
        if point.matched is None
        else served(*fixed.blended(point.matched), demand, confidence, codes),
        saving=saving,
        break_even=Estimate(needed[0], math.nan, needed[1], needed[2]),
        pays="yes" if uses > needed[2] else "no" if uses < needed[1] else "undecided",
        splits=splits,
        draws=draws,
        tasks=size,
        clusters=cluster_count(codes, size),
        confidence=confidence,
    )


class _Compared(NamedTuple):
    """A protocol beside what needs no pilot: the best option, -1 for none, and differences."""

    best: int
    gain: float
    matched: Blend | None
    saving: float


def _compare(menu: Menu, coverage: float, cost: float, demand: Demand) -> _Compared:
    best = choose(menu, demand)
    matched = blend(menu, coverage)
    return _Compared(
        best,
        math.nan if best < 0 else coverage - float(menu.coverage[best]),
        matched,
        math.inf if matched is None else matched.cost - cost,
    )


def _solves(one: Served) -> str:
    return f"solves {one.coverage.value:.1%} for {one.cost.value:.3g} a task"


def _uses(cost: float, saving: float) -> float:
    """Return how often a saving must be made to pay a cost, infinite where nothing is saved."""
    # What rounding leaves is no saving.
    return math.nan if math.isnan(saving) else cost / saving if saving > 1e-9 * cost else math.inf
