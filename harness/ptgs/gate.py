"""Where heating is switched off, because it was measured not to raise success."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.ptgs._ranges import number, whole
from agentenvs.harness.ptgs.contrast import COUNT, COUNT_2, SUM, SUM_2

__all__ = ["Gate"]


@dataclass(frozen=True, slots=True)
class Gate:
    """When heating is switched off: where a one-sided test says that it does not raise success.

    Groups that were heated played a part of their rollouts at T_ref (`ref_share`). Within each
    bin of the estimate, the success of the hot part minus that of the other is pooled; where it
    is surely below `margin`, groups are no more heated, except for a share of `probe` that keeps
    measuring. Cooling is never switched off.

    Attributes:
        confidence: of the one-sided test, in (0.5, 1).
        margin: the gain that heating has to bring, in [-1, 1].
        groups: heated groups of a bin, forgotten ones not counted, before it is judged.
        keep: how much of the past is left after each step, in (0, 1].
        probe: the share of groups that are heated where heating is off, in [0, 1].

    Raises:
        BadArgument: a value out of range.
    """

    confidence: float = 0.95
    margin: float = 0.0
    groups: int = 20
    keep: float = 0.98
    probe: float = 0.05

    def __post_init__(self) -> None:
        checked = {
            "confidence": number("confidence", self.confidence, above=0.5, below=1),
            "margin": number("margin", self.margin, low=-1, high=1),
            "groups": whole("groups", self.groups, low=2),
            "keep": number("keep", self.keep, above=0, high=1),
            "probe": number("probe", self.probe, low=0, high=1),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def describe(self) -> dict[str, Any]:
        """Return the settings, ready for JSON."""
        return asdict(self)

    def off(self, sums: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return for each bin whether heating is off, (bins,).

        Args:
            sums: of the heated groups of each bin, as `Contrast.heated` gives them.
        """
        count = sums[:, COUNT]
        with np.errstate(invalid="ignore", divide="ignore"):
            size = count**2 / sums[:, COUNT_2]
            mean = sums[:, SUM] / count
            # One imagined group that differs by 1 keeps a run of equal groups from being proof.
            spread = np.maximum((sums[:, SUM_2] + 1) / (count + 1) - mean**2, 0)
            high = mean + NormalDist().inv_cdf(self.confidence) * np.sqrt(spread / size)
            off: NDArray[np.bool_] = (size >= self.groups) & (high < self.margin)
        return off
