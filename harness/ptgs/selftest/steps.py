"""Some steps of a fresh trainer, and what passed between it and its sampler meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch

from agentenvs.harness.ptgs.sampler import PTGS
from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.probe import exact
from agentenvs.harness.ptgs.selftest.protocol import Played, Trace, Trainer
from agentenvs.harness.ptgs.selftest.recorder import Given, Recorder, Told

__all__ = ["Build", "Run", "Step", "groups", "one_step", "play"]

Build: TypeAlias = Callable[[Any], Trainer]


@dataclass(frozen=True)
class Step:
    """One step: what the trainer showed, and what the sampler was asked and told in it."""

    trace: Trace
    heard: list[Given | Told]
    held: dict[str | int, set[float]]
    before: dict[str, Any] | None
    weights: list[tuple[float, float]] | None

    def given(self) -> dict[str | int, set[float]]:
        """Return the temperatures that tasks had before they were told."""
        had = {task: set(kept) for task, kept in self.held.items()}
        told: set[str | int] = set()
        for one in self.heard:
            if isinstance(one, Told):
                told.add(one.task)
            elif one.task not in told:
                had.setdefault(one.task, set()).update(one.temperatures)
        return had

    def asked(self) -> dict[str | int, set[float]]:
        """Return the temperatures that were asked for in this step, before tasks were told."""
        names = {one.task for one in self.heard if isinstance(one, Given)}
        return {task: t for task, t in self.given().items() if task in names}


@dataclass
class Run:
    """A trainer with its recorder, and its steps so far.

    Attributes:
        first: the first step that had rows in its loss.
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
    held: dict[str | int, set[float]] = {}
    for one in recorder.heard:
        if isinstance(one, Told):
            held.pop(one.task, None)
        else:
            held.setdefault(one.task, set()).update(one.temperatures)
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
    if run.first is None and any(not row.update for row in trace.trained):
        run.first = step
    return step


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
    return uniform and mixed
