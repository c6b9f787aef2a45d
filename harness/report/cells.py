"""Estimates as cells of a table."""

from __future__ import annotations

import math

from agentenvs.harness.report.formats import number, percent, signed, span
from agentenvs.harness.report.markup import Cell
from agentenvs.harness.tax import Estimate

__all__ = ["estimate_cell", "points_cell", "share_cell"]


def share_cell(estimate: Estimate) -> Cell:
    """Return a share with its interval, in per cent."""
    if math.isnan(estimate.low):
        return Cell(percent(estimate.value), "no interval")
    return Cell(
        percent(estimate.value, 1),
        f"{number(100 * estimate.low, 1)} to {number(100 * estimate.high, 1)}",
    )


def estimate_cell(estimate: Estimate, digits: int, *, sign: bool = False) -> Cell:
    """Return a number with its interval; a difference that is beyond chance stands out."""
    if math.isnan(estimate.value):
        return Cell("undefined", "", "quiet")
    shown = signed(estimate.value, digits) if sign else number(estimate.value, digits)
    return Cell(
        shown, span(estimate, digits, sign=sign), "strong" if sign and estimate.sure else ""
    )


def points_cell(drop: Estimate) -> Cell:
    """Return a drop of a share with its interval, in percentage points."""
    ends = "no interval"
    if not math.isnan(drop.low):
        ends = f"{signed(100 * drop.low, 1)} to {signed(100 * drop.high, 1)}"
    kind = "strong" if drop.sure else ""
    return Cell(f"{signed(100 * drop.value, 1)}\u00a0points", ends, kind)
