"""Studies without torch: jobs whose models are tables of chances, for the tests of the lab."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from agentenvs.harness.lab.config import LabConfig, bundled
from agentenvs.harness.lab.folder import StudyFolder, job_folder, write_json
from agentenvs.harness.lab.jobs import Job
from agentenvs.harness.lab.measuring import Measuring
from agentenvs.harness.seeds import derive
from agentenvs.toollab.design import Design


def small() -> LabConfig:
    """Return settings of few rollouts."""
    return bundled(smoke=True)


def named() -> LabConfig:
    """Return settings of few rollouts that are reported like a study's."""
    return dataclasses.replace(small(), name="few")


def chances(config: LabConfig, arm: str, seed: int, share: float = 1.0) -> np.ndarray:
    """Return the chance of success of every task; training loses some and mends the others."""
    rng = np.random.default_rng(derive(seed, "chances"))
    p = rng.beta(0.6, 1.2, size=1600)
    if config.arm(arm).start is None or config.arm(arm).how == "demonstrations":
        return p
    own = np.random.default_rng(derive(seed, "chances", arm))
    lost = own.random(1600) < 0.3 * share * (p < 0.3)
    return np.where(lost, 0.0, p + (1 - p) * 0.6 * share * (p > 0.1))


def evaluate(model: Any, world: Any, tasks: Any, n: int, heat: float, seed: int) -> np.ndarray:
    """Play a table of chances; heat takes them toward zero."""
    p = model[np.asarray(tasks)] ** (0.5 + 0.5 * heat)
    return np.random.default_rng(seed).random((len(p), n)) < p[:, None]


def perform(study: str, job: Job, report: Any) -> None:
    """Do a job at once."""
    config = StudyFolder(study).config
    final = job_folder(Path(study), job.arm, job.seed)
    for need in job.needs:
        assert (job_folder(Path(study), need, job.seed) / "job.json").exists(), need
    part = final.with_name(f".{job.arm}.part")
    part.mkdir(parents=True)
    measuring = Measuring(config, job.seed, None, part, evaluate)
    for step in (3,) if config.arm(job.arm).start else ():
        measuring.checkpoint(chances(config, job.arm, job.seed, 0.5), step)
        report(0.5, f"step {step}")
    model = chances(config, job.arm, job.seed)
    measuring.evaluate(model, {"name": job.arm}, lambda share: report(share, "evaluation"))
    measuring.probe(model, lambda share: report(share, "probe"))
    told: dict[str, Any] = {
        "arm": job.arm,
        "seed": job.seed,
        "lab": config.digest,
        "steps": 6,
        "rollouts": 768,
        "cpu_s": {"training": 1.5, "measuring": 2.0},
        "process": os.getpid(),
    }
    if config.arm(job.arm).sampler:
        told["sampler"] = {"settings": {}, "stats": {"mean_T": 1.1, "rails": 0.2}}
    write_json(part / "job.json", told)
    part.rename(final)


def fails_at_grpo(study: str, job: Job, report: Any) -> None:
    """Do a job, but not the one of the arm grpo."""
    if job.arm == "grpo":
        raise ValueError("no such luck")
    perform(study, job, report)


def dies_at_grpo(study: str, job: Job, report: Any) -> None:
    """Do a job, but end the process in that of the arm grpo."""
    if job.arm == "grpo":
        os._exit(7)
    perform(study, job, report)


def slow(study: str, job: Job, report: Any) -> None:
    """Do a job after the folder was told of it, and take a minute over any but base."""
    Path(study, f"begun-{job.arm}").write_text(str(os.getpid()))
    if job.arm != "base":
        part = job_folder(Path(study), job.arm, job.seed).with_name(f".{job.arm}.part")
        part.mkdir(parents=True)
        (part / "half").write_text("written")
        for _ in range(600):
            report(0.1, "waiting")
            time.sleep(0.1)
    perform(study, job, report)


def make(study: Path, config: LabConfig, arms: list[str], seeds: list[int]) -> StudyFolder:
    """Make a finished study in this process."""
    folder = StudyFolder(study, config)
    with folder:
        folder.begin(arms, seeds)
        for seed in seeds:
            for arm in arms:
                perform(os.fspath(study), Job(arm, seed, config.arm(arm).needs, 1.0), _quiet)
    assert Design.of(config.world) is not None
    return folder


def _quiet(share: float, text: str) -> None:
    """Say nothing."""
