"""A target that moves: from an early rate of success to a late one."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._ranges import number, whole

__all__ = ["Ramp", "check_target"]


@dataclass(frozen=True, slots=True)
class Ramp:
    """A target that goes from `start` to `end` by equal factors.

    At step k, counted from 1, it is start * (end / start) ** (k / total); from step `total` on
    it is `end`.

    Attributes:
        start, end: rates of success in (0, 1).
        total: steps, or visits, until the end is reached.
        by: "step" counts updates of the sampler, "visits" counts the visits of each task.

    Raises:
        BadArgument: rates outside (0, 1), `total` below 1, or an unknown `by`.

    >>> [round(float(Ramp(0.25, 0.5, 4).at(k)), 3) for k in (1, 2, 3, 4, 5)]
    [0.297, 0.354, 0.42, 0.5, 0.5]
    """

    start: float
    end: float
    total: int
    by: Literal["step", "visits"] = "step"

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            object.__setattr__(self, name, check_target(name, getattr(self, name), 3))
        object.__setattr__(self, "total", whole("total", self.total, low=1))
        if self.by not in ("step", "visits"):
            raise BadArgument(f'Expected `by` to be "step" or "visits", got {self.by!r}.')

    def at(self, k: ArrayLike) -> NDArray[np.float64]:
        """Return the target at step or visit `k`, counted from 1, any shape."""
        part = np.minimum(np.asarray(k, dtype=np.float64) / self.total, 1.0)
        ramp = self.start * np.power(self.end / self.start, part)
        return np.asarray(np.where(part == 1.0, self.end, ramp))

    def describe(self) -> dict[str, Any]:
        """Return the settings, ready for JSON."""
        return asdict(self)


def check_target(name: str, value: object, depth: int) -> float:
    """Return a target; warn where the rule becomes a switch.

    Args:
        name: what messages call it.
        value: the target.
        depth: how many calls above this one the warning points to.

    Raises:
        BadArgument: no number inside (0, 1).
    """
    target = number(name, value, above=0, below=1)
    if not 0.05 <= target <= 0.95:
        warnings.warn(
            f"`{name}` = {target:g} is close to an end: nearly every first draw is full heat or "
            "full cold. Targets of 0.05 to 0.95 behave.",
            stacklevel=depth + 1,
        )
    return target
