"""What the finished jobs of a study left, read back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import RunDamaged
from agentenvs.harness.lab.config import LabConfig
from agentenvs.harness.lab.folder import JOB, StudyFolder, read_json
from agentenvs.harness.lab.measuring import SETS, checkpoint_file, probe_file
from agentenvs.harness.lab.records import run_folder
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.tax import Counts
from agentenvs.toollab.design import Design
from agentenvs.toollab.tasks import task_ids

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
        RunDamaged: a file is missing or is not what it should be; names it.
    """
    config, path = folder.config, folder.path
    names = {tasks: task_ids(tasks, config.world) for tasks in SETS}
    found = {
        (arm, seed): _read(config, arm, seed, folder.job(arm, seed), names)
        for arm, seed in folder.finished()
    }
    if not found:
        raise RunDamaged(f"{path}: no job of this study is finished.")
    arms, seeds = folder.asked()
    ordered = tuple(one.name for one in config.arms if one.name in arms)
    design = Design.of(config.world)
    exception = design.is_exception(design.train)
    return Results(config, found, (ordered, tuple(sorted(seeds))), exception)


def _read(
    config: LabConfig, arm: str, seed: int, job: Path, names: Mapping[str, list[str]]
) -> Result:
    told = _job(job, {"lab": config.digest, "arm": arm, "seed": seed})
    look, probe, train = config.evaluation, config.probe, names[SETS[0]]
    played = {
        (tasks, heat): _counts(run_folder(job, tasks, heat), names[tasks], look.n)
        for heat in look.temperatures
        for tasks in SETS
    }
    heated = {heat: _counts(probe_file(job, heat), train, probe.n) for heat in probe.temperatures}
    along = {
        step: _counts(checkpoint_file(job, step), train, look.checkpoint_n)
        for step in range(look.checkpoint_every, told["steps"], look.checkpoint_every)
        if config.arm(arm).start is not None
    }
    return Result(arm, seed, played, heated, along, told)


def _job(job: Path, expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a job says of itself, every part that is read here being of the right kind."""
    path = job / JOB
    told = read_json(path)
    for key, value in expected.items():
        if told.get(key) != value:
            raise RunDamaged(
                f"{path}: expected {key!r} to be {value!r}, got {told.get(key)!r:.60}."
            )
    for key in ("rollouts", "steps"):
        if type(told.get(key)) is not int or told[key] < 0:
            raise RunDamaged(f"{path}: expected {key!r} to count, got {told.get(key)!r:.60}.")
    spent = told.get("cpu_s")
    if not isinstance(spent, dict) or not all(map(_is_number, spent.values())):
        raise RunDamaged(f"{path}: expected 'cpu_s' to hold seconds by name, got {spent!r:.60}.")
    sampler = told.get("sampler")
    if sampler and not (isinstance(sampler, dict) and isinstance(sampler.get("stats"), dict)):
        raise RunDamaged(f"{path}: expected 'sampler' to hold its stats, got {sampler!r:.60}.")
    return told


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and math.isfinite(value)


def _counts(path: Path, names: list[str], n: int) -> Counts:
    """Return a file's counts in the order of the tasks, n rollouts of each.

    Everything beyond goes by place: which tasks are exceptions, and which bin a task is in.
    """
    outcomes = Outcomes.load(path)
    found = dict.fromkeys(names, (0, 0))
    if len(outcomes):
        counts = outcomes.counts()
        have = zip(counts.c.tolist(), counts.n.tolist(), strict=True)
        found |= dict(zip(counts.task_ids, have, strict=True))
    odd = [name for name, (_, rollouts) in found.items() if rollouts != n]
    if odd or len(found) > len(names):
        name = odd[0] if odd else list(found)[-1]
        raise RunDamaged(
            f"{path}: expected {n} rollouts of each of {len(names)} tasks and of no other, "
            f"got {found[name][1]} of {name!r}" + (f" and {len(odd) - 1} more." if odd[1:] else ".")
        )
    c, rollouts = np.array([found[name] for name in names], dtype=np.int64).T
    return Counts(names, c, rollouts)
