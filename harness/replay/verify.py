"""Play a run again without a model, and certify that what it recorded is what happens."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument, RunError
from agentenvs.harness.groups import Sampler
from agentenvs.harness.progress import Progress, reporter
from agentenvs.harness.prompts import Prompt
from agentenvs.harness.replay.certificate import (
    CERTIFICATE,
    added,
    compare_rows,
    compare_settings,
    file_sums,
    make_certificate,
    read_certificate,
    write_certificate,
)
from agentenvs.harness.replay.findings import OUTCOMES, Finding, Verification
from agentenvs.harness.replay.play import Setup
from agentenvs.harness.replay.rows import Rows
from agentenvs.harness.replay.settings import (
    against_now,
    against_sampler,
    check_settings,
    other_versions,
    within,
)
from agentenvs.harness.replay.workers import check_all
from agentenvs.harness.store.durable import at_rest, count_lines
from agentenvs.harness.store.folder import versions
from agentenvs.harness.store.no_run import no_run
from agentenvs.harness.store.outcomes_file import read_settings
from agentenvs.harness.store.segments import segments
from agentenvs.harness.store.voids import read_voids

__all__ = ["verify"]


def verify(
    run: str | os.PathLike[str],
    *,
    jobs: int = 1,
    quick: bool = False,
    write: bool = True,
    env_id: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    prompt: Prompt | None = None,
    sampler: Sampler | None = None,
    progress: bool | Callable[[Progress], Any] = False,
) -> Verification:
    """Play every recorded rollout again without a model, and name what does not hold.

        >>> from agentenvs.harness import verify
        >>> verify("runs/wide").ok
        True

    Each rollout's recorded actions go into a fresh episode with the rollout's seed. Compared
    are what was shown, step by step what came back and how the action was read, and the
    verdict: success, score, reason, number of steps. Besides, every row has to fit its
    transcript, the run's seed, its temperature and its plan, and `run.json` itself. Where
    everything holds, `certificate.json` is written into the folder; where one is there, rows
    that were changed since are findings too.

    Args:
        run: a run folder with transcripts; nothing in it but the certificate is written.
        jobs: in how many processes; the result is the same. A program that asks for several
            needs the usual `if __name__ == "__main__":`.
        quick: only compare the rows with the certificate's sums, and play nothing.
        write: whether to write the certificate.
        env_id: an id with the module that registers it (`my_package:Mine-v0`), for an
            environment that is not of this package and not registered yet.
        env_kwargs: arguments of the environment that say where things lie on this machine
            (`catalog` of WebShop).
        prompt: the run's prompt, where it was one of its own.
        sampler: the run's sampler, where it was one of its own or had learned before the run
            began, in the state of then.
        progress: True to show it on standard error, or a function called with a `Progress` as
            each rollout is done.

    Raises:
        RunDamaged: the folder is no run's, or cannot be read.
        RunError: there is nothing to replay, another process is writing to the folder, the
            environment is not to be had here, or the certificate cannot be written.
        BadArgument: an argument out of range, or one that would make another run of it.
        SourceError: official data cannot be had.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise BadArgument(f"Expected `jobs` to be an int of at least 1, got {jobs!r}.")
    folder = Path(run)
    settings = read_settings(folder)
    if settings is None:
        raise no_run(folder)
    check_settings(settings)
    with at_rest(folder):
        if not segments(folder):
            raise RunError(f"{folder} holds no transcripts: there is nothing to replay.")
        if quick:
            return _compared(folder, settings)
        setup = Setup(settings, env_id, env_kwargs, prompt)
        return _verify(folder, setup, jobs, write, sampler, progress)


def _verify(
    folder: Path,
    setup: Setup,
    jobs: int,
    write: bool,
    sampler: Sampler | None,
    progress: bool | Callable[[Progress], Any],
) -> Verification:
    began = time.perf_counter()
    settings = setup.settings
    before = read_certificate(folder)
    rows = Rows(folder, settings)
    findings = list(within(settings))
    first, changed = other_versions(settings)
    recorded = setup.arm()
    findings.extend(against_now(settings, recorded))
    own = ("version of agentenvs:", "code:")
    stale = (*recorded.changed, *(line for line in changed if line.startswith(own)))
    notes = [line for line in changed if line not in stale]
    played = recorded.arm.env_id
    if played != settings["env_id"]:
        notes.append(f"Played in {played}, which shows and judges the same.")
    findings.extend(_replayed(rows, replace(setup, stale=bool(stale)), jobs, progress, folder))
    findings.extend(rows.findings)
    notes += rows.notes
    if settings.get("sampler") and not findings:
        # A verdict that was edited would lead a sampler to other temperatures after it.
        findings.extend(against_sampler(folder, settings, sampler, notes))
    if before is not None:
        findings += [*compare_settings(before, settings), *compare_rows(before, rows)]
    found = _told(folder, settings, rows, findings)
    facts: dict[str, Any] = {
        "certified": datetime.now(UTC).isoformat(timespec="seconds"),
        "env_id": settings["env_id"],
        "played": played,
        "policy": settings["policy"].get("name"),
        "rollouts": found.rows,
        "open": found.open,
        "voids": len(found.voids),
        **{key: settings.get(key) for key in ("data", "task_hash", "prompt", "parser")},
        "versions": {"run": first, "replay": versions()},
    }
    if not findings:
        facts = make_certificate(folder, facts, settings, rows)
        if write:
            write_certificate(folder, facts)
    return replace(
        found,
        stale=stale,
        notes=tuple(notes),
        played=played,
        facts=_brief(facts),
        seconds=time.perf_counter() - began,
    )


def _compared(folder: Path, settings: Mapping[str, Any]) -> Verification:
    """Compare a run with its certificate and play nothing."""
    began = time.perf_counter()
    before = read_certificate(folder)
    if before is None:
        raise RunError(f"{folder} holds no {CERTIFICATE}: verify it once without `quick`.")
    findings = [*within(settings), *compare_settings(before, settings)]
    if before["files"] == file_sums(folder):
        found = _told(folder, settings, None, findings, before["rollouts"])
        notes: tuple[str, ...] = ()
    else:
        rows = Rows(folder, settings)
        for _ in rows:
            pass
        findings += [*rows.findings, *compare_rows(before, rows)]
        if new := added(before, rows):
            told = f"{len(new)} were added since"
            one = Finding("uncertified", None, None, CERTIFICATE, "rollouts", None, None, told)
            findings.append(one)
        found = _told(folder, settings, rows, findings, new=new)
        notes = tuple(rows.notes)
    seconds = time.perf_counter() - began
    return replace(found, notes=notes, facts=_brief(before), seconds=seconds, quick=True)


def _told(
    folder: Path,
    settings: Mapping[str, Any],
    rows: Rows | None,
    findings: Iterable[Finding],
    total: int = 0,
    new: Collection[tuple[str, int]] = (),
) -> Verification:
    """Return findings in order, and how many rollouts have none."""
    wrong = {(f.task, f.rollout) for f in findings if f.task is not None} | {*new}
    if rows is not None:
        total = len(rows.outcomes)
        wrong = wrong & rows.outcomes.keys() if wrong else wrong
    order = {task: at for at, task in enumerate(settings["task_ids"])}
    return Verification(
        folder,
        total,
        total - len(wrong),
        tuple(sorted(findings, key=lambda finding: _place(finding, order))),
        open=max(0, len(order) * settings["n"] - total),
        uncertified=len(new),
        voids=tuple(read_voids(folder)),
    )


def _brief(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if key not in ("marks", "task_ids")}


def _replayed(
    rows: Rows,
    setup: Setup,
    jobs: int,
    choice: bool | Callable[[Progress], Any],
    folder: Path,
) -> Iterable[Finding]:
    total = 0
    with contextlib.suppress(OSError):
        total = count_lines(folder / OUTCOMES)
    state = Progress(total, started=time.perf_counter())
    shown = reporter(choice)
    shown.start(state)
    ticked = time.perf_counter()
    findings: list[Finding] = []
    note = "Stopped."
    try:
        # Closed here, a stop ends the processes before it is told.
        with contextlib.closing(check_all(rows, setup, jobs)) as results:
            for _, _, checked in results:
                findings += checked.findings
                state.done += 1
                state.successes += checked.success
                state.steps += checked.steps
                shown.ended(state)
                now = time.perf_counter()
                if shown.period_s is not None and now - ticked >= shown.period_s:
                    ticked = now
                    shown.tick(state)
        note = ""
    finally:
        shown.stop(state, note)
    return findings


def _place(finding: Finding, order: Mapping[str, int]) -> tuple[Any, ...]:
    """Return where a finding stands: those of the whole run first, then task by task."""
    task = finding.task
    at = -1 if task is None else order.get(task, len(order))
    return at, task or "", finding.rollout or 0, finding.file, finding.field, finding.kind
