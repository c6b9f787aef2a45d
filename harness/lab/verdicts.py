"""Whether an interval says that something rises or falls; nothing here expects a sign."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.harness.lab.student import over_seeds
from agentenvs.harness.tax.student import student_quantile

__all__ = ["decided", "heat_verdict"]


def decided(spread: Mapping[str, Any]) -> bool:
    """Tell whether there is an interval and it leaves out 0."""
    return bool(spread["low"] > 0 or spread["high"] < 0)


def heat_verdict(bins: Sequence[Mapping[str, Any]]) -> str:
    """Say what the interval of a gain by heating says: over seeds, or of one seed over tasks.

    Args:
        bins: the same bin of a model, a mapping for each seed.

    Returns:
        "raises", "lowers", "not decided" or "too few tasks".
    """
    gains = [one["gain"] for one in bins]
    if len(gains) > 1:
        found = over_seeds(gains)
        low, high = found.low, found.high
    else:
        half = student_quantile(0.95, max(bins[0]["tasks"] - 1, 1)) * bins[0]["se"]
        low, high = gains[0] - half, gains[0] + half
    if math.isnan(low):
        return "too few tasks"
    return "raises" if low > 0 else "lowers" if high < 0 else "not decided"
