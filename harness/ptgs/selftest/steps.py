"""Some steps of a fresh trainer, and what passed between it and its sampler meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch

from agentenvs.harness.ptgs.sampler import PTGS
from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.probe import exact
from agentenvs.harness.ptgs.selftest.protocol import Played, Trace, Trained, Trainer
from agentenvs.harness.ptgs.selftest.recorder import Given, Recorder, Told

__all__ = ["Build", "Run", "Step", "groups", "one_step", "play", "shows"]

Build: TypeAlias = Callable[[Any], Trainer]


@dataclass(frozen=True)
class Step:
    """One step: what the trainer showed, and what the sampler was asked and told in it.

    Attributes:
        trace: what the trainer showed.
        heard: what the sampler was asked and told.
        held: what it had given before, and had not been told of.
        before: the sampler's state as it was first asked.
        weights: a fingerprint of the parameters then.
    """

    trace: Trace
    heard: list[Given | Told]
    held: list[Given]
    before: dict[str, Any] | None
    weights: list[tuple[float, float]] | None

    def given(self) -> dict[str | int, set[float]]:
        """Return the temperatures that rollouts of tasks had before they were told."""
        rolled, had = self.rolled(), dict[str | int, set[float]]()
        for one in self.waiting():
            if one.rolled or one.task not in rolled:
                had.setdefault(one.task, set()).update(one.temperatures)
        return had

    def rolled(self) -> dict[str | int, set[tuple[float, ...]]]:
        """Return the groups that were asked for rollout by rollout, before they were told."""
        had: dict[str | int, set[tuple[float, ...]]] = {}
        for one in self.waiting():
            if one.rolled:
                had.setdefault(one.task, set()).add(one.temperatures)
        return had

    def asked(self) -> dict[str | int, set[float]]:
        """Return the temperatures that were asked for in this step, before tasks were told."""
        names = {one.task for one in self.heard if isinstance(one, Given)}
        return {task: t for task, t in self.given().items() if task in names}

    def waiting(self) -> list[Given]:
        """Return what was given to tasks that had not been told since."""
        found, told = list(self.held), set()
        for one in self.heard:
            if isinstance(one, Told):
                told.add(one.task)
            elif one.task not in told:
                found.append(one)
        return found


@dataclass
class Run:
    """A trainer with its recorder, and its steps so far.

    Attributes:
        first: the first step whose loss shows what it saw of the policy that played.
        start: the parameters before that step.
    """

    trainer: Guarded
    recorder: Recorder
    steps: list[Step] = field(default_factory=list)
    first: Step | None = None
    start: list[Any] = field(default_factory=list)


def groups(played: list[Played]) -> dict[str | int, tuple[int, int]]:
    """Return (successes, rollouts) of each task, of those with a verdict."""
    counts: dict[str | int, tuple[int, int]] = {}
    for one in played:
        won, n = counts.get(one.task, (0, 0))
        counts[one.task] = (won + bool(one.success), n + (one.success is not None))
    return counts


def play(build: Build, seed: int, least: int, most: int) -> Run:
    """Return a fresh trainer after `least` steps, or more until all that decides was seen."""
    recorder = Recorder(seed)
    trainer = Guarded(build, recorder)
    run = Run(trainer, recorder)
    while len(run.steps) < least or (len(run.steps) < most and not _enough(run)):
        one_step(run)
    return run


def one_step(run: Run) -> Step:
    """Do one step, keep it, and return it."""
    recorder = run.recorder
    waiting: dict[str | int, list[Given]] = {}
    for one in recorder.heard:
        if isinstance(one, Told):
            waiting.pop(one.task, None)
        else:
            waiting.setdefault(one.task, []).append(one)
    held = [one for given in waiting.values() for one in given]
    seen: dict[str, Any] = {}

    def look() -> None:
        if not seen:
            seen["state"] = PTGS.state_dict(recorder)
            seen["weights"] = fingerprint(run.trainer)

    if run.first is None:
        run.start = [p.detach().clone() for p in run.trainer.parameters()]
    mark, recorder.on_ask = len(recorder.heard), look
    try:
        trace = run.trainer.step()
    finally:
        recorder.on_ask = None
    step = Step(trace, recorder.heard[mark:], held, seen.get("state"), seen.get("weights"))
    run.steps.append(step)
    if run.first is None and any(map(shows, trace.trained)):
        run.first = step
    return step


def shows(row: Trained) -> bool:
    """Return whether a row was scored by the policy that played, and not masked as a whole."""
    columns = (row.log_probs, row.old_log_probs, row.positions)
    masked = row.log_probs is not None and not any(columns)
    return not row.update and not masked


def fingerprint(trainer: Guarded) -> list[tuple[float, float]]:
    """Return two numbers a tensor in training, which say whether it is the same."""
    with torch.no_grad():
        fine = map(exact, trainer.parameters())
        return [(float(p.sum()), float(p.abs().sum())) for p in fine]


def _enough(run: Run) -> bool:
    uniform = any(
        n and won in (0, n)
        for step in run.steps
        for won, n in groups(list(step.trace.played)).values()
    )
    mixed = any(len({one.temperature for one in step.trace.trained}) > 1 for step in run.steps)
    return uniform and mixed and run.first is not None
