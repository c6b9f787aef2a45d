"""Ways to serve tasks, and what they cost, in words."""

from __future__ import annotations

import math

from agentenvs.harness.report.formats import number
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.voice import names, voice
from agentenvs.harness.tax.routing.options import Option
from agentenvs.harness.tax.routing.route import Routing

__all__ = ["between", "cost", "cost_span", "tries", "way"]

_ARMS = ("base", "post")


def tries(found: Findings, arm: str, k: int) -> str:
    """Return so many tries of an arm, "base" or "post", as tables name them."""
    return f"{k} {'try' if k == 1 else 'tries'}, {names(found)[_ARMS.index(arm)]}"


def way(found: Findings, name: str) -> str:
    """Return the name of an option, "base@6" or "post@1+base@3", in words."""
    parts = [part.partition("@") for part in name.split("+")]
    if len(parts) == 1:
        return tries(found, parts[0][0], int(parts[0][2]))
    whose = {"base": voice(found).then, "post": voice(found).now}
    (one, _, k), (two, _, more) = parts
    return f"{k} {'try' if k == '1' else 'tries'} {whose[one]} and {more} {whose[two]}"


def cost(value: float) -> str:
    """Return a cost, "" where there is none to tell."""
    if not math.isfinite(value):
        return ""
    return number(value, 0 if abs(value) >= 100 or value == int(value) else 1)


def between(low: float, high: float) -> str:
    """Return the interval of a cost, of which an end may lie beyond what was played."""
    if math.isnan(low):
        return "no interval"
    if math.isinf(low):
        return "no interval" if math.isinf(high) else f"{cost(high)} or less"
    return f"{cost(low)} or more" if math.isinf(high) else f"{cost(low)} to {cost(high)}"


def cost_span(routing: Routing, option: Option) -> str:
    """Return what the option's model may cost on other tasks like these, "" where that is sure.

    The number of tries is named by these tasks; others would take more or less.
    """
    at = 0 if option.arm == "base" else 1
    side, price = (routing.base, routing.post)[at], routing.price[at]
    most = side.furthest.k
    low, high = (math.inf if k is None else price * k for k in (side.k_low, side.k_high))
    if math.isinf(low):
        return f"more than {cost(price * most)}"
    if math.isinf(high):
        return f"{cost(low)} to more than {cost(price * most)}"
    return "" if low == high else f"{cost(low)} to {cost(high)}"
