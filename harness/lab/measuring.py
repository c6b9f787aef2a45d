"""Measuring a trained model: evaluation, success over temperature, and points along the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.lab.config import LabConfig
from agentenvs.harness.lab.records import run_folder, write_counts, write_run
from agentenvs.harness.seeds import derive
from agentenvs.toollab.design import Design
from agentenvs.toollab.tasks import all_ids, task_indices

__all__ = ["SETS", "Measuring", "checkpoint_file", "probe_file"]

#: the sets on which models are evaluated; training, probe and checkpoints have the first
SETS = ("train", "heldout")


def probe_file(job: Path, temperature: float) -> Path:
    """Return the counts of the probe at a temperature, on the training tasks."""
    return job / "probe" / f"T{temperature:g}.jsonl"


def checkpoint_file(job: Path, step: int) -> Path:
    """Return the counts of a model along the way, on the training tasks."""
    return job / "checkpoints" / f"step-{step:04d}.jsonl"


class Measuring:
    """Measures the models of one seed.

    Rollouts depend on the seed and on what they are for, not on the arm: the models of one seed
    are given the same uniform numbers, which makes differences between them less noisy.

    Args:
        config: the settings.
        seed: of the models.
        world: the tensor world.
        folder: where the measurements go.
        evaluate: plays, as `agentenvs.harness.lab.evaluate.evaluate` does.
    """

    def __init__(
        self,
        config: LabConfig,
        seed: int,
        world: Any,
        folder: Path,
        evaluate: Callable[..., NDArray[np.bool_]],
    ) -> None:
        self._config = config
        self._seed = seed
        self._world = world
        self._folder = folder
        self._evaluate = evaluate
        self._names = all_ids(config.world)

    def _play(
        self, model: Any, tasks: str, n: int, heat: float, use: str
    ) -> tuple[list[str], NDArray[np.bool_], int]:
        """Return the tasks' ids, who succeeded, (T, n), and the seed of the draws."""
        indices = task_indices(tasks, self._config.world)
        seed = derive(self._seed, "lab", use, tasks, repr(heat))
        flags = np.asarray(self._evaluate(model, self._world, indices, n, heat, seed))
        return [self._names[at] for at in indices.tolist()], flags, seed

    def evaluate(self, model: Any, who: Mapping[str, Any], report: Callable[[float], None]) -> None:
        """Write a run folder for each set of tasks and temperature.

        Args:
            model: the model.
            who: what `run.json` says of it under `policy`.
            report: is told which share is done.
        """
        look = self._config.evaluation
        todo = [(tasks, heat) for heat in look.temperatures for tasks in SETS]
        for at, (tasks, heat) in enumerate(todo):
            report(at / len(todo))
            ids, flags, seed = self._play(model, tasks, look.n, heat, "evaluate")
            settings = {
                "tasks": tasks,
                "env_kwargs": {"world": self._config.world},
                "data": Design.of(self._config.world).digest,
                "sampling": {"temperature": heat, "top_p": 1.0},
                "seed": seed,
                "policy": {"form": "chat", "scripted": False, **who},
            }
            write_run(run_folder(self._folder, tasks, heat), ids, flags, settings)

    def probe(self, model: Any, report: Callable[[float], None]) -> None:
        """Write counts of success at each temperature of the probe."""
        look = self._config.probe
        for at, heat in enumerate(look.temperatures):
            report(at / len(look.temperatures))
            ids, flags, _ = self._play(model, SETS[0], look.n, heat, "probe")
            write_counts(probe_file(self._folder, heat), ids, flags.sum(1), look.n)

    def checkpoint(self, model: Any, step: int) -> None:
        """Write counts of a model along the way."""
        look = self._config.evaluation
        reference = self._config.reference
        ids, flags, _ = self._play(model, SETS[0], look.checkpoint_n, reference, "along")
        write_counts(checkpoint_file(self._folder, step), ids, flags.sum(1), look.checkpoint_n)
