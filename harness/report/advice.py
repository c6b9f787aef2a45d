"""Which model is cheaper for some shares of the tasks, and whether a few tries can tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from agentenvs.harness.tax import Counts
from agentenvs.harness.tax.routing.pilot import PilotProtocol, pilot_protocol
from agentenvs.harness.tax.routing.route import Routing, route

if TYPE_CHECKING:
    from agentenvs.harness.tax.clusters import Clusters

__all__ = ["pilot_of", "routes_of"]

# Rollouts of a pilot, where there are twice as many.
_PILOT = 8
# Shares asked about are multiples of 1 / 20, at most so many of them.
_STEPS, _MOST = 20, 4


def routes_of(
    base: Counts,
    post: Counts,
    price: tuple[float, float],
    target: float | None,
    confidence: float,
    clusters: Clusters | None,
) -> tuple[Routing, ...]:
    """Return which model is cheaper for the target, or for up to four round shares.

    The round shares go from what one try of the better model solves to what all tries solve;
    there are none where nothing is solved.
    """
    if target is not None:
        aims = [target]
    else:
        least = max(float(np.mean(arm.c / arm.n)) for arm in (base, post))
        most = max(float(np.mean(arm.c > 0)) for arm in (base, post))
        low, high = (math.floor(_STEPS * share + 1e-9) for share in (least, most))
        steps = range(max(low, 1), high + 1)
        aims = [at / _STEPS for at in steps[:: max(1, math.ceil(len(steps) / _MOST))]]
    return tuple(
        route(base, post, price, aim, confidence=confidence, clusters=clusters) for aim in aims
    )


def pilot_of(
    base: Counts,
    post: Counts,
    routes: Sequence[Routing],
    confidence: float,
    clusters: Clusters | None,
) -> PilotProtocol | None:
    """Return what a pilot is worth for the middle one of the shares asked about.

    None where there is no such share, or a single rollout, of which none is left to judge by.
    """
    n = int(min(base.n.min(), post.n.min()))
    if n < 2 or not routes:
        return None
    asked = routes[(len(routes) - 1) // 2]
    size = min(_PILOT, n // 2)
    return pilot_protocol(
        base, post, size, asked.price, asked.target, confidence=confidence, clusters=clusters
    )
