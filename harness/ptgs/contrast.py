"""Success away from T_ref against success at T_ref, measured within the same groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.ptgs._checks import check_array

__all__ = ["COUNT", "COUNT_2", "EDGES", "SUM", "SUM_2", "Contrast", "bin_of", "exact"]

EDGES = (0.0, 0.05, 0.15, 0.3, 0.5, 0.75, 1.0)
"""Bins of the estimated rate of success within which groups are pooled."""

COUNT, COUNT_2, SUM, SUM_2 = range(4)
"""Sums of a bin: groups, their squared weights, the difference, its square."""

_BINS = len(EDGES) - 1
_HOT, _COLD = 0, 1


class Contrast:
    """Success away from T_ref minus success at T_ref, by bin of the estimate, with forgetting.

    Within a step nothing changes: what its groups show counts from the next step on. So neither
    the order of the groups nor how they are split into calls matters.
    """

    def __init__(self, keep: float) -> None:
        self._keep = keep
        self._step = 0
        self._settled = np.zeros((2, _BINS, 4))
        self._pending = np.zeros((2, _BINS, 4))

    def add(
        self,
        step: int,
        estimate: NDArray[np.float64],
        warmth: NDArray[np.float64],
        difference: NDArray[np.float64],
    ) -> None:
        """Take in groups of one step, each (m,).

        Args:
            step: the step, no earlier than any before.
            estimate: the rate of success that was expected.
            warmth: above 0 for heated groups, below 0 for cooled ones, 0 for neither.
            difference: success rate at the group's temperature minus that at T_ref.
        """
        if step > self._step:
            self._settled, self._step = self._at(step), step
            self._pending = np.zeros_like(self._pending)
        bins = bin_of(estimate)
        for side, here in ((_HOT, warmth > 0), (_COLD, warmth < 0)):
            gap = difference[here]
            ones = np.ones_like(gap)
            for column, values in enumerate((ones, ones, exact(gap), exact(gap * gap))):
                sums = np.bincount(bins[here], weights=values, minlength=_BINS)
                self._pending[side, :, column] += sums

    def heated(self, step: int) -> NDArray[np.float64]:
        """Return the sums over heated groups as they were when `step` began, (bins, 4)."""
        hot: NDArray[np.float64] = self._at(step)[_HOT]
        return hot

    def means(self, step: int) -> dict[str, float]:
        """Return the mean difference of each bin, NaN where no group was seen."""
        sums = self._at(step)
        out = {}
        for side, word in ((_HOT, "hot"), (_COLD, "cold")):
            for low, high, row in zip(EDGES[:-1], EDGES[1:], sums[side], strict=True):
                mean = row[SUM] / row[COUNT] if row[COUNT] else np.nan
                out[f"{word}_minus_ref/{low:g}-{high:g}"] = float(mean)
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is known."""
        return {
            "contrast_step": np.array(self._step, dtype=np.int64),
            "contrast_settled": self._settled.copy(),
            "contrast_pending": self._pending.copy(),
        }

    def load(self, arrays: Mapping[str, Any]) -> None:
        """Take over what `arrays` gave.

        Raises:
            BadArgument: an array is missing, or has another shape.
        """
        for name, shape in (
            ("contrast_step", ()),
            ("contrast_settled", (2, _BINS, 4)),
            ("contrast_pending", (2, _BINS, 4)),
        ):
            check_array(arrays, name, shape)
        self._step = int(arrays["contrast_step"])
        self._settled = np.array(arrays["contrast_settled"], dtype=np.float64)
        self._pending = np.array(arrays["contrast_pending"], dtype=np.float64)

    def _at(self, step: int) -> NDArray[np.float64]:
        """Return what was known when `step` began."""
        if step <= self._step:
            return self._settled
        kept = self._keep ** (step - self._step)
        weights = np.array([kept, kept * kept, kept, kept])
        return np.asarray((self._settled + self._pending) * weights)


def bin_of(estimate: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the bin of each estimate."""
    return np.searchsorted(np.array(EDGES[1:-1]), estimate, side="right")


def exact(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values rounded to 2**-24, so that their sum is the same in any order.

    That holds for up to 2**29 values below 1.
    """
    return np.asarray(np.rint(values * 2.0**24) * 2.0**-24)
