"""Which of many cells show anything: p-values with the share of false finds kept in check."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax.shares import Estimate
from agentenvs.harness.tax.student import student_tail

__all__ = ["Dependence", "Discoveries", "discoveries", "p_value"]

Dependence = Literal["positive", "any"]
"""How cells hang together: not at all or positively, or in any way."""


class Discoveries(NamedTuple):
    """What is found among many cells, made by `discoveries`.

    Attributes:
        rejected: (M,) where the hypothesis of no difference is given up.
        adjusted: (M,) the smallest `rate` at which a cell would still be found; NaN for NaN.
        rate: how large a share of the finds may be false, on average.
        dependence: between the cells, "positive" or "any".
        tested: how many p-values there are that are no NaN.
    """

    rejected: NDArray[np.bool_]
    adjusted: NDArray[np.float64]
    rate: float
    dependence: Dependence
    tested: int

    @property
    def found(self) -> int:
        """How many cells are found."""
        return int(self.rejected.sum())


def p_value(estimate: Estimate, groups: float | None = None) -> float:
    """Return the two-sided p-value against 0, from an estimate and its standard error.

    NaN where the standard error is unknown or the measure undefined.

    Args:
        estimate: one of the measures, with `se`.
        groups: tasks, or clusters of tasks, that the error was estimated from; then the value
            is Student's, as the intervals of `sharpening_tax_interval` are, and lies below 0.05
            where the 95 % interval leaves 0 out. By default as if there were very many.

    Raises:
        BadArgument: `groups` below 2.
    """
    value, se = estimate.value, estimate.se
    if groups is not None and not (isinstance(groups, float | int) and groups >= 2):
        raise BadArgument(f"Expected `groups` of at least 2, got {groups!r}.")
    if not math.isfinite(value) or not se > 0:
        return math.nan
    if groups is None or groups == math.inf:
        return math.erfc(abs(value) / se / math.sqrt(2))
    return student_tail(value / se, groups - 1)


def discoveries(
    p_values: ArrayLike, rate: float = 0.05, dependence: Dependence = "positive"
) -> Discoveries:
    """Return which of many p-values are finds, with the false discovery rate below `rate`.

    Of 42 cells without any difference, 2 lie below 0.05 by chance; here, of all finds together, at
    most `rate` are expected to be false. Benjamini and Hochberg's procedure (1995) for cells that
    are independent or hang together positively, as those of one benchmark do, which share tasks;
    Benjamini and Yekutieli's (2001) for any dependence, which finds less.

    Args:
        p_values: (M,) numbers in [0, 1]; NaN, for cells that cannot be judged, is never a find
            and does not count among the cells.
        rate: in (0, 1).
        dependence: "positive" or "any".

    Raises:
        BadArgument: p-values outside [0, 1], more than one dimension, or bad options.
    """
    ps = _p_values(p_values)
    if isinstance(rate, bool) or not isinstance(rate, float | int) or not 0 < rate < 1:
        raise BadArgument(f"Expected `rate` between 0 and 1, got {rate!r}.")
    if dependence not in ("positive", "any"):
        raise BadArgument(f'Expected `dependence` "positive" or "any", got {dependence!r}.')
    known = np.flatnonzero(~np.isnan(ps))
    order = known[np.argsort(ps[known], kind="stable")]
    ranks = np.arange(1, len(order) + 1)
    strict = float((1 / ranks).sum()) if dependence == "any" else 1.0
    levels = ps[order] * (strict * len(order)) / ranks
    adjusted = np.full(len(ps), math.nan)
    # A cell is found with every one of a smaller p-value.
    adjusted[order] = np.minimum(np.minimum.accumulate(levels[::-1])[::-1], 1.0)
    return Discoveries(
        adjusted <= rate * (1 + 1e-12), adjusted, float(rate), dependence, len(order)
    )


def _p_values(p_values: ArrayLike) -> NDArray[np.float64]:
    try:
        ps = np.asarray(p_values, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadArgument("Expected `p_values` to be a list of numbers.") from None
    if ps.ndim != 1:
        raise BadArgument(f"Expected `p_values` to be a list, got shape {ps.shape}.")
    wrong = ps[(ps < 0) | (ps > 1)]
    if wrong.size:
        raise BadArgument(f"Expected `p_values` in [0, 1], got {wrong[0]:g}.")
    return ps
