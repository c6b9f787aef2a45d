"""Does a resumed trainer draw the temperatures that it would have drawn?"""

from __future__ import annotations

import math
import tempfile
from typing import Any

import numpy as np

from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.outcome import Seen, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.recorder import Recorder
from agentenvs.harness.ptgs.selftest.rows import near
from agentenvs.harness.ptgs.selftest.steps import Build, Run, Step, one_step

__all__ = ["resume"]


def resume(run: Run, build: Build, seed: int) -> Seen:
    """Save, do a step, load into a fresh trainer, do the step again.

    Raises:
        Wrong: other parameters, another posterior, other tasks or other temperatures.
        Undecided: the saved posterior was that of a fresh sampler.
    """
    with tempfile.TemporaryDirectory() as folder:
        run.trainer.save(folder)
        first = one_step(run)
        recorder = Recorder(seed)
        other = Run(Guarded(build, recorder), recorder)
        other.trainer.load(folder)
        second = one_step(other)
    if first.before is None:
        raise Undecided("the step behind the checkpoint did not ask the sampler")
    if _same(first.before, Recorder(seed).state_dict()):
        raise Undecided("nothing had been told before the checkpoint")
    _compare(first, second)
    _compare_played(first, second)
    again = [one.tokens for one in first.trace.played] == [
        one.tokens for one in second.trace.played
    ]
    rest = (
        "the rollouts were the same too"
        if again
        else "the rollouts were others: what they are drawn from is not in the checkpoint"
    )
    return Seen(
        f"resumed, the posterior is the one saved and {len(second.asked())} tasks get the "
        f"temperatures that they would have got; {rest}",
        {"tasks": float(len(second.asked())), "same_rollouts": float(again)},
    )


def _compare(first: Step, second: Step) -> None:
    if second.before is None:
        raise Wrong("resumed, the trainer did not ask the sampler")
    if not _same(first.before, second.before):
        fresh = _steps(second.before) == 0
        raise Wrong(
            "resumed, the sampler's posterior is "
            + ("that of a fresh one: it is not in the checkpoint" if fresh else "another")
        )
    if first.weights is not None and second.weights is not None:
        close = len(first.weights) == len(second.weights) and np.allclose(
            np.array(first.weights), np.array(second.weights), rtol=1e-5, atol=1e-6
        )
        if not close:
            raise Wrong("resumed, the parameters in training are not those that were saved")
    asked, again = first.asked(), second.asked()
    if set(asked) != set(again):
        raise Wrong(
            f"resumed, the sampler is asked for other tasks, {_some(again)} in the place of "
            f"{_some(asked)}: the order of the tasks is not in the checkpoint"
        )
    for task, given in asked.items():
        if again[task] != given:
            raise Wrong(
                f"resumed, task {task!r} gets T = {min(again[task]):.6g}, expected {min(given):.6g}"
            )


def _compare_played(first: Step, second: Step) -> None:
    given = first.given()
    if not all(near(one.temperature, given.get(one.task, ())) for one in first.trace.played):
        return  # It was not right before either, which is not this check's business.
    before = {one.task: one.temperature for one in first.trace.played}
    for one in second.trace.played:
        if not near(one.temperature, second.given().get(one.task, ())):
            raise Wrong(
                f"resumed, task {one.task!r} is played at T = {one.temperature:.6g}, which is "
                f"not what the sampler gives; before, at {before.get(one.task, math.nan):.6g}"
            )


def _same(one: Any, other: Any) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name], equal_nan=True)
        if isinstance(one[name], np.ndarray)
        else one[name] == other[name]
        for name in one
    )


def _steps(state: dict[str, Any]) -> int:
    return int(state["header"].get("step", 0))


def _some(names: Any) -> str:
    return ", ".join(repr(name) for name in list(names)[:3])
