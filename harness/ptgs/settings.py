"""What a sampler was told to do, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._ranges import number, whole
from agentenvs.harness.ptgs.gate import Gate
from agentenvs.harness.ptgs.schedule import Ramp, check_target

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The arguments of `PTGS`, in their ranges.

    Raises:
        BadArgument: a value out of range.
    """

    tau: float
    gamma: float
    target: float | Ramp
    t_ref: float
    seed: int
    ref_share: float
    pilot: int
    gate: Gate | None

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "tau": number("tau", self.tau, low=1, high=1e6),
            "gamma": number("gamma", self.gamma, low=0, high=1),
            "t_ref": number("t_ref", self.t_ref, low=1e-6, high=1e6),
            "seed": whole("seed", self.seed, low=0, high=2**64 - 1),
            "ref_share": number("ref_share", self.ref_share, low=0, below=1),
            "pilot": whole("pilot", self.pilot, low=0),
        }
        if not isinstance(self.target, Ramp):
            checked["target"] = check_target("target", self.target, 4)
        if self.gate is not None and not isinstance(self.gate, Gate):
            raise BadArgument(f"Expected `gate` to be a Gate or None, got {self.gate!r}.")
        if self.gate is not None and not checked["ref_share"]:
            raise BadArgument(
                "Expected `ref_share` above 0 with a `gate`: it compares heated rollouts with "
                "those of the same group at t_ref."
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def rails(self) -> tuple[float, float, float]:
        """The coldest temperature, `t_ref`, and the hottest, as float32 holds them."""
        ends = np.array([self.t_ref / self.tau, self.t_ref, self.t_ref * self.tau])
        cold, middle, hot = ends.astype(np.float32).tolist()
        return cold, middle, hot

    def target_at(self, step: int, visits: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the target at a step for tasks that were visited so often, (m,)."""
        if not isinstance(self.target, Ramp):
            return np.full(len(visits), self.target)
        if self.target.by == "visits":
            return self.target.at(visits + 1)
        return np.full(len(visits), float(self.target.at(step)))

    def ref_count(self, n: int) -> int:
        """Return how many rollouts of a group of `n` are at `t_ref` to feed the posterior.

        Raises:
            BadArgument: `n` below 1, or below 2 with `ref_share`.
        """
        if not self.ref_share:
            whole("n", n, low=1)
            return 0
        if whole("n", n, low=1) < 2:
            raise BadArgument(
                "Expected `n` of at least 2 with `ref_share`, got 1: a group is split into "
                "rollouts at t_ref and others."
            )
        return min(max(int(self.ref_share * n + 0.5), 1), n - 1)

    def describe(self) -> dict[str, Any]:
        """Return the settings, ready for JSON."""
        return {
            "tau": self.tau,
            "gamma": self.gamma,
            "target": self.target.describe() if isinstance(self.target, Ramp) else self.target,
            "t_ref": self.t_ref,
            "seed": self.seed,
            "ref_share": self.ref_share,
            "pilot": self.pilot,
            "gate": None if self.gate is None else self.gate.describe(),
        }
