"""A study from start to end: what is missing is trained and measured, then all of it reported."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument, RunError
from agentenvs.harness.lab.arms import with_needs
from agentenvs.harness.lab.config import LabConfig
from agentenvs.harness.lab.folder import StudyFolder
from agentenvs.harness.lab.jobs import plan
from agentenvs.harness.lab.perform import perform
from agentenvs.harness.lab.watch import watch
from agentenvs.harness.lab.workers import Perform, work

__all__ = ["JobsFailed", "run_study"]


class JobsFailed(RunError):
    """Raised when jobs failed, all others being done."""


def run_study(
    out: str | os.PathLike[str],
    config: LabConfig,
    arms: Iterable[str] | None = None,
    seeds: int | Sequence[int] = 1,
    jobs: int = 2,
    *,
    quiet: bool = False,
    doing: Perform | None = None,
) -> StudyFolder:
    """Train and measure every arm and seed that is missing.

    Jobs run in processes of their own, with one thread each. Stopped at any moment, the same
    call goes on: what is finished stays, what was begun is begun again. More arms or seeds may
    be asked for later in the same folder; other settings may not.

    Args:
        out: the study's folder.
        config: the settings.
        arms: names; what they need or are compared with comes along. Default the core arms.
        seeds: how many, counted from 0, or which.
        jobs: how many at a time.
        quiet: no progress on standard error.
        doing: what does a job, in place of training; for tests.

    Returns:
        The folder, with every job that was asked for.

    Raises:
        SettingsDiffer: the folder holds a study with other settings.
        JobsFailed: jobs failed, all others being done.
        RunError: another process writes there.
        UnknownName: there is no such arm.
        BadArgument: an argument out of range, or settings that a trainer does not take.
    """
    names = with_needs(config.arms, config.core if arms is None else arms)
    listed = _seeds(seeds)
    if type(jobs) is not int or jobs < 1:
        raise BadArgument(f"Expected `jobs` of at least 1, got {jobs!r}.")
    if doing is None:
        from agentenvs.harness.lab.training import check

        check(config, names)
    folder = StudyFolder(out, config)
    failed: list[str] = []
    with folder:
        planned = plan(config, names, listed)
        done = [(job.arm, job.seed) for job in planned if folder.done(job.arm, job.seed)]
        todo = [job for job in planned if (job.arm, job.seed) not in set(done)]
        if todo:
            folder.begin(names, listed)
            call = doing or functools.partial(perform, os.fspath(Path(out).resolve()))
            shown = watch(todo, len(done), jobs, quiet)
            try:
                for event in work(todo, call, jobs, done):
                    shown.take(event)
                    if event.kind in ("failed", "skipped") and event.job is not None:
                        failed.append(f"{event.job.name}: {event.text}")
            finally:
                shown.close()
    if failed:
        raise JobsFailed(
            f"{len(failed)} of {len(todo)} jobs were not done:\n  "
            + "\n  ".join(failed)
            + "\nThe same command tries them again."
        )
    return folder


def _seeds(seeds: int | Sequence[int]) -> list[int]:
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        if seeds < 1:
            raise BadArgument(f"Expected `seeds` of at least 1, got {seeds}.")
        return list(range(seeds))
    listed: list[Any] = list(seeds) if isinstance(seeds, Sequence) else [seeds]
    good = all(type(seed) is int and seed >= 0 for seed in listed)
    if not listed or not good or len(set(listed)) < len(listed):
        raise BadArgument(f"Expected `seeds` to be different numbers from 0, got {seeds!r}.")
    return listed
