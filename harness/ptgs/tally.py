"""What there is to watch in a sampler, of the last step and since the start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.ptgs._checks import check_array
from agentenvs.harness.ptgs.contrast import exact

__all__ = ["Tally"]

_COLUMNS = (
    "groups",
    "alike",
    "tempered",
    "temperature",
    "heated",
    "at_rails",
    "judged",
    "error",
    "success",
)
_ALL, _LAST = 0, 1


class Tally:
    """Sums over groups: one row since the start, one of the last step."""

    def __init__(self) -> None:
        self._step = 0
        self._sums = np.zeros((2, len(_COLUMNS)))

    def add(
        self,
        step: int,
        temperature: NDArray[np.float64],
        rails: tuple[float, float, float],
        alike: NDArray[np.bool_],
        estimate: NDArray[np.float64],
        success: NDArray[np.float64],
    ) -> None:
        """Take in groups of one step, each (m,).

        Args:
            step: the step, no earlier than any before.
            temperature: what was played, NaN where the sampler was not asked.
            rails: the coldest temperature, T_ref, and the hottest.
            alike: whether all rollouts of a group succeeded, or all failed.
            estimate: the rate of success that was expected, NaN for a task's first group.
            success: the rate that came, of the rollouts that feed the estimate.
        """
        if step > self._step:
            self._step, self._sums[_LAST] = step, 0
        cold, middle, hot = rails
        given, judged = ~np.isnan(temperature), ~np.isnan(estimate)
        with np.errstate(invalid="ignore"):
            ends = (temperature <= cold * 1.01) | (temperature >= hot / 1.01)
            heated = temperature > middle
        error = estimate * estimate - 2 * estimate * success + success
        columns = np.zeros((len(_COLUMNS), len(success)))
        columns[0] = 1
        columns[1:4] = alike, given, np.where(given, temperature, 0)
        columns[4:7] = heated, ends, judged
        columns[7:] = np.where(judged, (error, success), 0)
        self._sums += exact(columns).sum(axis=1)

    def stats(self) -> dict[str, float]:
        """Return shares and means; those of the last step under `last/`."""
        out = {}
        for row, prefix in ((_ALL, ""), (_LAST, "last/")):
            sums = dict(zip(_COLUMNS, self._sums[row].tolist(), strict=True))
            rate = _share(sums["success"], sums["judged"])
            told = {
                "groups": sums["groups"],
                "zero_advantage": _share(sums["alike"], sums["groups"]),
                "mean_T": _share(sums["temperature"], sums["tempered"]),
                "heated": _share(sums["heated"], sums["tempered"]),
                "rails": _share(sums["at_rails"], sums["tempered"]),
                "brier": _share(sums["error"], sums["judged"]),
                "brier_mean": rate - rate * rate,
            }
            out.update({prefix + name: value for name, value in told.items()})
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the sums."""
        return {"tally_step": np.array(self._step, dtype=np.int64), "tally": self._sums.copy()}

    def load(self, arrays: Mapping[str, Any]) -> None:
        """Take over what `arrays` gave.

        Raises:
            BadArgument: an array is missing, or has another shape.
        """
        check_array(arrays, "tally", (2, len(_COLUMNS)))
        check_array(arrays, "tally_step", ())
        self._step = int(arrays["tally_step"])
        self._sums = np.array(arrays["tally"], dtype=np.float64)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
