"""A job from start to end: train, measure, and lay the folder down whole."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentenvs.errors import RunError
from agentenvs.harness.lab.folder import JOB, StudyFolder, job_folder, lab_versions, write_json
from agentenvs.harness.lab.jobs import Job
from agentenvs.harness.lab.measuring import Measuring
from agentenvs.harness.lab.training import Trained, train
from agentenvs.harness.ptgs.sampler import PTGS
from agentenvs.harness.store.durable import write_whole
from agentenvs.harness.store.outcomes_file import dump
from agentenvs.toollab.design import Design
from agentenvs.toollab.tasks import all_ids

if TYPE_CHECKING:
    from agentenvs.harness.lab.model import TinyLM

__all__ = ["perform"]

_MODEL = "model"

# Which part of a job is training, the rest being measured; only the bar asks.
_TRAINING, _EVALUATION = 0.5, 0.35


def perform(study: str | os.PathLike[str], job: Job, report: Callable[[float, str], None]) -> None:
    """Train and measure one arm of one seed, in this process, with one thread.

    Args:
        study: the study's folder, with its settings and the jobs that this one needs.
        job: which.
        report: is told now and then which share is done, and with what this is busy.

    Raises:
        AgentEnvsError: settings that cannot be run.
    """
    import torch

    from agentenvs.harness.lab.evaluate import evaluate
    from agentenvs.harness.lab.model import load, save
    from agentenvs.harness.lab.world import TensorWorld

    torch.set_num_threads(1)
    folder = StudyFolder(study)
    config, arm = folder.config, folder.config.arm(job.arm)
    final = job_folder(folder.path, job.arm, job.seed)
    # Of its own process, so that one whose parent was killed cannot spoil it.
    part = final.with_name(f".{job.arm}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    world = TensorWorld(Design.of(config.world))
    measuring = Measuring(config, job.seed, world, part, evaluate)
    clock = _Clock()

    def on_step(step: int, steps: int, model: TinyLM | None) -> None:
        report(_TRAINING * step / steps, f"step {step} of {steps}")
        due = step % config.evaluation.checkpoint_every == 0 and step < steps
        if due and model is not None:
            with clock.booked("measuring"):
                measuring.checkpoint(model, step)

    report(0.0, "training")
    with clock.booked("training"):
        made = train(
            config,
            arm,
            job.seed,
            lambda name: load(job_folder(folder.path, name, job.seed) / _MODEL),
            world,
            on_step,
        )
    save(made.model, part / _MODEL)
    with clock.booked("measuring"):
        who = {"name": f"{arm.name}, seed {job.seed}", "arm": arm.name, "lab": config.digest}
        measuring.evaluate(
            made.model,
            who,
            lambda share: report(_TRAINING + _EVALUATION * share, "evaluation"),
        )
        measuring.probe(
            made.model,
            lambda share: report(
                _TRAINING + _EVALUATION + (1 - _TRAINING - _EVALUATION) * share, "probe"
            ),
        )
    told = {
        "arm": job.arm,
        "seed": job.seed,
        "lab": config.digest,
        "steps": len(made.history),
        "rollouts": made.rollouts,
        "weights": made.model.size(),
        "cpu_s": clock.seconds,
        "versions": lab_versions(),
    }
    _write(part, made, all_ids(config.world), told)
    _lay_down(part, final)


def _lay_down(part: Path, final: Path) -> None:
    """Give a job's folder its name, whole or not at all.

    A study that goes on takes away what its forerunner left, under the hands of a worker that has
    not noticed yet that its parent is gone; what that one wrote last makes no whole folder.

    Raises:
        RunError: the folder was taken away meanwhile.
    """
    if not (part / _MODEL).is_dir():
        shutil.rmtree(part, ignore_errors=True)
        raise RunError(f"{part}: another study took this folder away while it was written.")
    shutil.rmtree(final, ignore_errors=True)
    part.rename(final)


def _write(part: Path, made: Trained, names: tuple[str, ...], told: dict[str, Any]) -> None:
    write_json(part / "history.json", made.history)
    if made.recorder is not None:
        made.recorder.write(part / "training.jsonl", names)
        sampler = made.recorder.inner
        told["sampler"] = {"settings": sampler.describe(), "stats": sampler.stats()}
        if isinstance(sampler, PTGS) and sampler.keep_events:
            write_whole(part / "events.jsonl", (dump(row) for row in sampler.events.rows()))
    # The last file: its being there says that the folder is whole.
    write_json(part / JOB, told)


class _Clock:
    """Seconds of this process's CPU time, by what they went into."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._now: list[str] = []
        self._since = time.process_time()

    def _book(self) -> None:
        now = time.process_time()
        if self._now:
            key = self._now[-1]
            self.seconds[key] = self.seconds.get(key, 0.0) + now - self._since
        self._since = now

    @contextmanager
    def booked(self, key: str) -> Iterator[None]:
        """Book the time of a block under `key`, but for what blocks within it book."""
        self._book()
        self._now.append(key)
        try:
            yield
        finally:
            self._book()
            self._now.pop()
