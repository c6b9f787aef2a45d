"""The same tries for every task, of one policy or of both: what needs no pilot and no routing.

Given a task, rollouts of the two policies are independent, so that j tries of one and k of the
other all fail with the product of the two chances, unbiased from the counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Paired
from agentenvs.harness.tax.demand import Demand
from agentenvs.harness.tax.measures import TIE
from agentenvs.harness.tax.options import failures
from agentenvs.harness.tax.routing import pick
from agentenvs.harness.tax.serving import Serving

__all__ = ["Fixed", "Way", "better"]

_Floats = NDArray[np.float64]

_NAMES = ("base", "post")
# Tries of each policy that mixtures are made of.
_MOST = 256


class Way(NamedTuple):
    """A way to serve tasks.

    Attributes:
        name: "base@28", or "post@1+base@3", where post is asked first.
        serving: what each task is given.
    """

    name: str
    serving: Serving


class Fixed(NamedTuple):
    """Chances (T, K + 1) that 0, ..., K tries all fail, of base and of post."""

    base: _Floats
    post: _Floats

    @classmethod
    def of(cls, arms: Paired, most: int) -> Fixed:
        """Return what is known of up to `most` tries."""
        return cls(failures(arms.base, most), failures(arms.post, most))

    def single(self, arm: int, k: int, demand: Demand) -> Way:
        """Return k tries of base (0) or post (1)."""
        missed = self[arm]
        cost = demand.costs(missed[:, :k], arm)[:, -1]
        return Way(
            f"{_NAMES[arm]}@{k}", Serving(1 - missed[:, k], cost, np.full(len(cost), 1.0 - arm))
        )

    def arm(self, arm: int, demand: Demand) -> Way | None:
        """Return the tries of one policy that meet the demand best, None where none will do."""
        k = int(pick(self[arm].sum(axis=0)[None], demand, arm).k[0])
        return self.single(arm, k, demand) if k else None

    def both(self, demand: Demand) -> Way | None:
        """Return the mixture that meets the demand best, with a try of each policy at least.

        With `stop="success"` the policy that is asked second is paid only where the first has
        failed, so that the order matters: both are tried. Up to 256 tries of each are.
        """
        return better([self._mixture(first, demand) for first in (0, 1)], demand)

    def cheapest(self, coverage: float, demand: Demand) -> Way | None:
        """Return the cheapest of all these with so much coverage, None where none gets as far."""
        aim = demand._replace(target=coverage, budget=None)
        return better([self.arm(0, aim), self.arm(1, aim), self.both(aim)], aim)

    def _mixture(self, first: int, demand: Demand) -> Way | None:
        one, two = (self[arm][:, : _MOST + 1] for arm in (first, 1 - first))
        fails = one.T @ two / len(one)
        coverage = 1 - fails[1:, 1:]
        # The second policy's tries are paid where the first's have failed.
        paid_first = demand.costs(one.mean(axis=0)[None, :-1], first).T
        cost = paid_first + demand.costs(fails[1:, :-1], 1 - first)
        if demand.target is not None:
            fits, keys = coverage >= demand.target - TIE, (cost, -coverage)
        else:
            fits, keys = cost <= (demand.budget or 0) * (1 + TIE), (-coverage, cost)
        if not fits.any():
            return None
        # Rounded, so that what is equal in theory is.
        ranked = [np.where(fits, np.round(key, 11), np.inf).ravel() for key in keys]
        j, k = (at + 1 for at in divmod(int(np.lexsort(ranked[::-1])[0]), cost.shape[1]))
        second = demand.costs(two[:, :k], 1 - first)[:, -1]
        if demand.stop == "success":
            second = one[:, j] * second
        share = (k if first else j) / (j + k)
        return Way(
            f"{_NAMES[first]}@{j}+{_NAMES[1 - first]}@{k}",
            Serving(
                1 - one[:, j] * two[:, k],
                demand.costs(one[:, :j], first)[:, -1] + second,
                np.full(len(one), share),
            ),
        )


def better(ways: Iterable[Way | None], demand: Demand) -> Way | None:
    """Return the way that meets the demand best of those that do, the first at a tie."""
    best: Way | None = None
    for way in ways:
        if way is None:
            continue
        if best is None:
            best = way
            continue
        ours, theirs = (
            [np.asarray(np.mean(part)) for part in one.serving[:2]] for one in (way, best)
        )
        if demand.prefers(ours[0], ours[1], (theirs[0], theirs[1])) > 0:
            best = way
    return best
