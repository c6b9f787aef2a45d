"""What each policy would pick in many replicates at once, and which of the two is better."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax.resampled import drawn_again
from agentenvs.harness.tax.routing.demand import Demand
from agentenvs.harness.tax.routing.options import Weighed

__all__ = ["Picked", "pick", "replicates", "winners"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


class Picked(NamedTuple):
    """An arm's choice in each of B replicates, (B,): k, 0 where none will do, and what it gives."""

    k: _Ints
    coverage: _Floats
    cost: _Floats


def winners(base: Picked, post: Picked, demand: Demand) -> tuple[_Ints, NDArray[np.bool_]]:
    """Return the places in `KINDS` of the better choice, -1 where none will do, and the ties."""
    both = (base.k > 0) & (post.k > 0)
    order = demand.prefers(base.coverage, base.cost, (post.coverage, post.cost))
    first = (base.k > 0) & (~both | (order >= 0))
    second = np.where(post.k > 0, np.where(post.k > 1, 2, 1), -1)
    return np.where(first, 0, second), both & (order == 0)


def pick(missed: _Floats, demand: Demand, arm: int) -> Picked:
    """Return an arm's choice from sums of failures (B, K + 1), the weight in the first column."""
    total = missed[:, :1]
    missed = np.divide(missed, total, out=np.ones_like(missed), where=total > 0)
    coverage, costs = 1 - missed[:, 1:], demand.costs(missed[:, :-1], arm)
    k = np.where(total[:, 0] > 0, demand.choose(coverage, costs), 0)
    rows, at = np.arange(len(k)), np.maximum(k - 1, 0)
    return Picked(k, coverage[rows, at], costs[rows, at])


def replicates(
    arms: tuple[Weighed, Weighed],
    demand: Demand,
    draws: int,
    seed: int,
    codes: NDArray[np.intp] | None,
) -> list[Picked]:
    """Return each arm's choice when tasks are drawn again, the same ones for both arms."""
    size, width = len(arms[0].weight), max(side.missed.shape[1] for side in arms)
    parts: tuple[list[Picked], list[Picked]] = ([], [])
    for weights in drawn_again(size, draws, np.random.default_rng(seed), codes, width):
        for at, side in enumerate(arms):
            parts[at].append(pick(weights @ side.missed, demand, at))
    return [
        Picked(*(np.concatenate(column) for column in zip(*part, strict=True))) for part in parts
    ]
