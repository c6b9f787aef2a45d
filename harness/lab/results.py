"""What the finished jobs of a study left, read back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import RunDamaged
from agentenvs.harness.lab.config import LabConfig
from agentenvs.harness.lab.folder import StudyFolder, read_json
from agentenvs.harness.lab.measuring import SETS, checkpoint_file, probe_file
from agentenvs.harness.lab.records import run_folder
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.tax import Counts

__all__ = ["Result", "Results", "read_results"]


@dataclass(frozen=True)
class Result:
    """One trained model, measured.

    Attributes:
        arm, seed: which.
        played: counts by (set of tasks, temperature).
        probe: counts by temperature, on the training tasks.
        along: counts by training step, on the training tasks, the last step not among them.
        job: what the job says of itself: rollouts, CPU seconds, sampler, versions.
    """

    arm: str
    seed: int
    played: dict[tuple[str, float], Counts]
    probe: dict[float, Counts]
    along: dict[int, Counts]
    job: dict[str, Any]


@dataclass(frozen=True)
class Results:
    """All finished models of a study.

    Attributes:
        config: the settings.
        found: the results by (arm, seed).
        asked: the arms and seeds that were asked for.
        exception: which training tasks are exceptions, (T,) bool, in the order of the counts.
    """

    config: LabConfig
    found: dict[tuple[str, int], Result]
    asked: tuple[tuple[str, ...], tuple[int, ...]]
    exception: NDArray[np.bool_]

    def seeds(self, *arms: str) -> list[int]:
        """Return the seeds for which all these arms are there."""
        every = sorted({seed for _, seed in self.found})
        return [seed for seed in every if all((arm, seed) in self.found for arm in arms)]

    def counts(
        self, arm: str, seed: int, tasks: str = "train", heat: float | None = None
    ) -> Counts:
        """Return a model's counts on a set of tasks; default at the reference temperature."""
        at = self.config.reference if heat is None else heat
        return self.found[arm, seed].played[tasks, at]

    def arms(self) -> list[str]:
        """Return the arms with a result, in the order of the settings."""
        have = {arm for arm, _ in self.found}
        return [arm.name for arm in self.config.arms if arm.name in have]


def read_results(folder: StudyFolder) -> Results:
    """Read every finished job of a study.

    Raises:
        RunDamaged: a file is missing or is not what it should be.
    """
    from agentenvs.toollab.design import Design

    config, path = folder.config, folder.path
    found = {}
    for arm, seed in folder.finished():
        job = folder.job(arm, seed)
        told = read_json(job / "job.json")
        if told.get("lab") != config.digest:
            raise RunDamaged(f"{job}: expected a job of {config.digest}, got {told.get('lab')!r}.")
        found[arm, seed] = _read(config, arm, seed, job, told)
    arms, seeds = folder.asked()
    ordered = tuple(one.name for one in config.arms if one.name in arms)
    design = Design.of(config.world)
    if not found:
        raise RunDamaged(f"{path}: no job of this study is finished.")
    exception = design.is_exception(design.train)
    return Results(config, found, (ordered, tuple(sorted(seeds))), exception)


def _read(config: LabConfig, arm: str, seed: int, job: Path, told: dict[str, Any]) -> Result:
    played = {
        (tasks, heat): Outcomes.load(run_folder(job, tasks, heat)).counts()
        for heat in config.evaluation.temperatures
        for tasks in SETS
    }
    probe = {
        heat: Outcomes.load(probe_file(job, heat)).counts() for heat in config.probe.temperatures
    }
    steps = _steps(job.glob("checkpoints/step-*.jsonl"))
    along = {step: Outcomes.load(checkpoint_file(job, step)).counts() for step in steps}
    return Result(arm, seed, played, probe, along, told)


def _steps(files: Iterable[Path]) -> list[int]:
    return sorted(int(file.stem.removeprefix("step-")) for file in files)
