"""A run folder teaches a sampler what the run's own sampler learned."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from agentenvs.errors import BadArgument, RunDamaged, SettingsDiffer
from agentenvs.harness.exchange import Sampling
from agentenvs.harness.groups import Groups, Sampler, describe_sampler, unchanged_by_failure
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.store.folder import differences

__all__ = ["replay_sampler"]

S = TypeVar("S", bound=Sampler)
# A number in a file must not ask for more than memory has.
_MOST_ROLLOUTS = 10**9


def replay_sampler(run: str | os.PathLike[str] | Outcomes, sampler: S) -> S:
    """Let a sampler learn from a run folder what the one that played it learned.

        >>> sampler = replay_sampler("runs/wide", PTGS(tau=1.5, gamma=0.95, target=0.5))
        >>> sampler.save("wide.npz")

    Every temperature is asked for again and compared with the one that the rollout was played
    at, so that a sampler which ends here has gone the same way. Of a run that was stopped, the
    complete rounds count, and the temperatures of the one under way are held.

    Args:
        run: a run folder, or its outcomes.
        sampler: one with the settings and the state that the run's had as the run began; mostly
            a fresh one.

    Returns:
        The same sampler.

    Raises:
        BadArgument: the run was made without a sampler.
        SettingsDiffer: the sampler has other settings, or gives other temperatures; it is then
            left as it was.
        RunDamaged: the folder cannot be read.
    """
    outcomes = run if isinstance(run, Outcomes) else Outcomes.load(run)
    settings: Mapping[str, Any] = outcomes.settings
    told = settings.get("sampler")
    if not told:
        raise BadArgument("Expected a run that was made with a sampler; this one was not.")
    lines = differences({"sampler": told}, {"sampler": describe_sampler(sampler)})
    if lines:
        raise SettingsDiffer("The run was made with another sampler:\n  " + "\n  ".join(lines))
    groups = Groups(*_planned(settings, outcomes), Sampling(), sampler, settings["group"])
    groups.take(outcomes)
    complete, begun = groups.progress()
    with unchanged_by_failure(sampler):
        for number in range(complete + begun):
            groups.begin(number)
            if number < complete:
                groups.end(number)
    return sampler


def _planned(settings: Mapping[str, Any], outcomes: Outcomes) -> tuple[Sequence[str], int]:
    """Return the tasks of a run and how many rollouts each was to have.

    Raises:
        RunDamaged: its settings do not say.
    """
    tasks = settings.get("task_ids") or outcomes.task_ids
    if (
        not isinstance(tasks, list | tuple)
        or not all(isinstance(task, str) for task in tasks)
        or len(set(tasks)) < len(tasks)
    ):
        told = f"{tasks!r:.60}"
        raise RunDamaged(f"Expected `task_ids` in run.json to list different tasks, got {told}.")
    n, group = settings.get("n"), settings.get("group")
    if type(n) is not int or type(group) is not int or not 0 < group <= n or n % group:
        raise RunDamaged(
            "Expected `n` in run.json to be a multiple of `group`, "
            f"got n={n!r:.60} and group={group!r:.60}."
        )
    if n * len(tasks) > _MOST_ROLLOUTS:
        raise RunDamaged(
            f"Expected at most {_MOST_ROLLOUTS} rollouts in run.json, got n={n} for each of "
            f"{len(tasks)} tasks."
        )
    return tasks, n
