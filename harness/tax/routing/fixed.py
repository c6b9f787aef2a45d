"""The same tries for every task, of one policy or of both: what needs no pilot and no routing.

Given a task, rollouts of the two policies are independent, so that j tries of one and k of the
other all fail with the product of the two chances, unbiased from the counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Paired
from agentenvs.harness.tax.measures import TIE
from agentenvs.harness.tax.routing.demand import Demand
from agentenvs.harness.tax.routing.options import failures
from agentenvs.harness.tax.routing.serving import Serving

__all__ = ["Blend", "Fixed", "Menu", "blend", "choose", "some_tries"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

_NAMES = ("base", "post")


class Menu(NamedTuple):
    """Coverage and mean cost (O,) of all options: base alone, post alone, and mixtures."""

    coverage: _Floats
    cost: _Floats


class Fixed(NamedTuple):
    """What T tasks would give if all were served alike.

    Attributes:
        missed: of base and of post, (T, K + 1) the chances that 0, ..., K tries all fail.
        costs: of base and of post, (T, K) the mean cost of 1, ..., K tries.
        tries: (M,) numbers of tries of each policy that mixtures are made of.
        parts: of base and of post, `missed` and `costs` at those numbers, (T, M) each.
        demand: what is asked for.
    """

    missed: tuple[_Floats, _Floats]
    costs: tuple[_Floats, _Floats]
    tries: _Ints
    parts: tuple[tuple[_Floats, _Floats], tuple[_Floats, _Floats]]
    demand: Demand

    @classmethod
    def of(cls, arms: Paired, most: int, demand: Demand) -> Fixed:
        """Return what is known of up to `most` tries of each policy."""
        base, post = (failures(arm, most) for arm in arms)
        costs = demand.costs(base[:, :-1], 0), demand.costs(post[:, :-1], 1)
        tries = some_tries(most, demand, 16, 16)
        first, second = (
            (missed[:, tries], paid[:, tries - 1])
            for missed, paid in zip((base, post), costs, strict=True)
        )
        return cls((base, post), costs, tries, (first, second), demand)

    def menu(self, weights: _Floats | None = None) -> Menu:
        """Return all options for tasks with weights (T,) that sum to 1; default equal ones."""
        size = len(self.missed[0])
        share = np.full(size, 1 / size) if weights is None else weights
        coverage = [1 - share @ missed[:, 1:] for missed in self.missed]
        cost = [share @ costs for costs in self.costs]
        for first in (0, 1):
            (one, paid), (two, later) = self.parts[first], self.parts[1 - first]
            weighed = one * share[:, None]
            coverage.append((1 - weighed.T @ two).ravel())
            # The second policy's tries are paid where the first's have failed.
            second = share @ later if self.demand.stop == "never" else weighed.T @ later
            cost.append(((share @ paid)[:, None] + second).ravel())
        return Menu(np.concatenate(coverage), np.concatenate(cost))

    def part(self, kind: str) -> slice:
        """Return which options are of "base", of "post", and of "both"."""
        k = self.missed[0].shape[1] - 1
        return {"base": slice(k), "post": slice(k, 2 * k), "both": slice(2 * k, None)}[kind]

    def name(self, option: int) -> str:
        """Return "base@28", or "post@1+base@3", where post is asked first."""
        first, *tries = self._place(option)
        names = (_NAMES[first], _NAMES[1 - first])
        return "+".join(f"{name}@{k}" for name, k in zip(names, tries, strict=False))

    def serving(self, option: int) -> Serving:
        """Return what each task is given by an option."""
        first, j, *more = self._place(option)
        one, cost = self.missed[first][:, j], self.costs[first][:, j - 1]
        base = float(first == 0)
        if not more:
            return Serving(1 - one, cost, np.full(len(one), base))
        (k,) = more
        later = self.costs[1 - first][:, k - 1]
        if self.demand.stop == "success":
            later = one * later
        share = (k if first else j) / (j + k)
        missed = one * self.missed[1 - first][:, k]
        return Serving(1 - missed, cost + later, np.full(len(one), share))

    def blended(self, way: Blend) -> tuple[str, Serving]:
        """Return the name of a blend, and what each task is given on average."""
        if way.share in (0.0, 1.0):
            option = way.other if way.share else way.one
            return self.name(option), self.serving(option)
        one, other = self.serving(way.one), self.serving(way.other)
        parts = zip(one, other, strict=True)
        name = f"{self.name(way.one)} or, by lot, {self.name(way.other)} ({way.share:.1%})"
        return name, Serving(*((1 - way.share) * a + way.share * b for a, b in parts))

    def _place(self, option: int) -> tuple[int, ...]:
        """Return the policy that is asked first (0 base, 1 post), its tries and the other's."""
        k, size = self.missed[0].shape[1] - 1, len(self.tries)
        if option < 2 * k:
            return option // k, option % k + 1
        first, place = divmod(option - 2 * k, size**2)
        return first, int(self.tries[place // size]), int(self.tries[place % size])


def choose(menu: Menu, demand: Demand, part: slice = slice(None)) -> int:
    """Return the option that meets a demand best, -1 where none does, the first at a tie."""
    coverage, cost = menu.coverage[part], menu.cost[part]
    if demand.target is not None:
        fits = coverage >= demand.target - TIE
        if not fits.any():
            return -1
        least = cost[fits].min()
        equal = np.flatnonzero(fits & (cost <= least * (1 + TIE)))
        best = equal[np.flatnonzero(coverage[equal] >= coverage[equal].max() - TIE)[0]]
    else:
        fits = cost <= (demand.budget or 0) * (1 + TIE)
        if not fits.any():
            return -1
        equal = np.flatnonzero(fits & (coverage >= coverage[fits].max() - TIE))
        best = equal[np.flatnonzero(cost[equal] <= cost[equal].min() * (1 + TIE))[0]]
    return int(best) + (part.start or 0)


class Blend(NamedTuple):
    """One option for some tasks and another for the others, whichever they are.

    Attributes:
        one, other: options of a menu, the second with more coverage, or the same twice.
        share: of the tasks that get the second.
        cost: mean cost.
    """

    one: int
    other: int
    share: float
    cost: float


def blend(menu: Menu, coverage: float) -> Blend | None:
    """Return the cheapest way to exactly so much coverage, None where no option has as much.

    What lies between two options is had by giving tasks picked by lot the one or the other. Below
    the cheapest option's coverage nothing is cheaper than that option.
    """
    order = np.lexsort((-menu.coverage, menu.cost))
    covered = menu.coverage[order]
    rises = np.concatenate(([True], covered[1:] > np.maximum.accumulate(covered)[:-1] + TIE))
    able = order[rises]
    hull = able[_hull(menu.cost[able].tolist(), menu.coverage[able].tolist())]
    reached = menu.coverage[hull]
    if coverage > reached[-1] + TIE:
        return None
    last = int(np.searchsorted(reached, coverage - TIE))
    one, other = int(hull[max(last - 1, 0)]), int(hull[last])
    if last == 0:
        return Blend(one, other, 1.0, float(menu.cost[one]))
    share = float((coverage - menu.coverage[one]) / (menu.coverage[other] - menu.coverage[one]))
    share = min(share, 1.0)
    cost = (1 - share) * menu.cost[one] + share * menu.cost[other]
    return Blend(one, other, share, float(cost))


def _hull(cost: list[float], coverage: list[float]) -> list[int]:
    """Return which points lie on the upper concave hull; both rise, the coverage strictly."""
    hull: list[int] = []
    for at, (x, y) in enumerate(zip(cost, coverage, strict=True)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            # b lies on or below the line from a to the new point.
            if (coverage[b] - coverage[a]) * (x - cost[a]) > (y - coverage[a]) * (
                cost[b] - cost[a]
            ):
                break
            hull.pop()
        hull.append(at)
    return hull


def some_tries(most: int, demand: Demand, dense: int = 12, sparse: int = 12) -> _Ints:
    """Return numbers of tries up to `most`: all at first, then some on a log scale.

    Those that a budget pays for are among them.
    """
    spread = np.rint(np.geomspace(1, most, sparse + 1)).astype(np.int64)
    afford = [] if demand.budget is None else [demand.budget / price for price in demand.price]
    paid = [int(one * (1 + TIE)) for one in afford if one < most + 1]
    found = np.unique(np.concatenate((np.arange(1, min(dense, most) + 1), spread, paid)))
    return found[(found > 0) & (found <= most)].astype(np.int64)
