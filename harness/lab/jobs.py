"""The jobs of a study: one for each arm and seed, needs first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentenvs.harness.lab.arms import Arm, order
from agentenvs.harness.lab.config import LabConfig

__all__ = ["Job", "plan"]

# Seconds on one core, measured on a machine of 2024; they only weigh jobs against each other.
_DIALOGUE_S = 5e-4
_TRAINED_S = 1.2e-3
_PLAYED_S = 2e-4
_TASKS = 320
_TRAINED_TASKS = 200


@dataclass(frozen=True, slots=True)
class Job:
    """One model to be trained and measured.

    Attributes:
        arm: its arm.
        seed: of everything in it: demonstrations, first weights, training and rollouts.
        needs: the arms of the same seed that must be there first.
        weight: about how long it takes against others.
    """

    arm: str
    seed: int
    needs: tuple[str, ...]
    weight: float

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"{self.arm}, seed {self.seed}"


def plan(config: LabConfig, names: Sequence[str], seeds: Sequence[int]) -> tuple[Job, ...]:
    """Return the jobs of some arms and seeds: seed by seed, the longest chains of needs first.

    Args:
        config: the settings.
        names: arms, with all that they need.
        seeds: whole numbers, all different.
    """
    return tuple(
        Job(name, seed, config.arm(name).needs, _weight(config, config.arm(name)))
        for seed in seeds
        for name in order(config.arms, names)
    )


def _weight(config: LabConfig, arm: Arm) -> float:
    look, probe = config.evaluation, config.probe
    played = look.n * _TASKS * len(look.temperatures)
    played += probe.n * _TRAINED_TASKS * len(probe.temperatures)
    if arm.how == "pretrain":
        made = config.pretraining
        trained = _DIALOGUE_S * int(made.get("steps", 1000)) * int(made.get("batch", 128))
    else:
        made = config.gradient
        steps = int(made.get("steps", 200))
        trained = _TRAINED_S * steps * int(made.get("tasks", 8)) * int(made.get("group", 16))
        played += look.checkpoint_n * _TRAINED_TASKS * (steps // look.checkpoint_every)
    return trained + _PLAYED_S * played
