"""How far a study is, on standard error: bars in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, TextIO

from agentenvs.harness.lab.jobs import Job
from agentenvs.harness.lab.workers import Event
from agentenvs.harness.progress import duration

__all__ = ["Watch", "watch"]

_LINE_PERIOD_S = 10.0


class Watch:
    """Keeps count and shows nothing; base of those that show something.

    Args:
        jobs: those to be done.
        done: how many there were before.
        workers: how many run at a time.
    """

    def __init__(self, jobs: Sequence[Job], done: int, workers: int) -> None:
        self.jobs = list(jobs)
        self.workers = workers
        self.before = done
        self.total = sum(job.weight for job in jobs)
        self.ended = 0
        self._weight = 0.0
        self._running: dict[Job, tuple[float, str]] = {}
        self._at = time.monotonic()
        self._busy_s = 0.0

    def take(self, event: Event) -> None:
        """Take note of what happened."""
        now, job = time.monotonic(), event.job
        self._busy_s += len(self._running) * (now - self._at)
        self._at = now
        if job is None:
            return
        if event.kind in ("begun", "on"):
            self._running[job] = (event.share, event.text)
            return
        self._running.pop(job, None)
        self.ended += 1
        self._weight += job.weight

    def close(self) -> None:
        """End the display."""

    @property
    def share(self) -> float:
        """The share of the work that is done, by weight."""
        under_way = sum(job.weight * share for job, (share, _) in self._running.items())
        return (self._weight + under_way) / self.total if self.total else 1.0

    @property
    def eta_s(self) -> float:
        """Seconds to go at the rate so far; infinite before anything is done.

        As many workers as there are jobs left are taken to be busy from here on.
        """
        share, left = self.share, max(1, len(self.jobs) - self.ended)
        if share <= 0:
            return float("inf")
        return self._busy_s * (1 - share) / share / min(self.workers, left)

    def line(self) -> str:
        """Return the state as one line of text."""
        names = ", ".join(
            f"{job.name} ({text})" if text else job.name for job, (_, text) in self._running.items()
        )
        count = f"{self.ended}/{len(self.jobs)} jobs"
        eta = f"ETA {duration(self.eta_s)}" if self.ended < len(self.jobs) else "done"
        return "  ".join(part for part in (count, f"{100 * self.share:.0f} %", eta, names) if part)


class _Lines(Watch):
    """A line for each job that ends, and one every ten seconds."""

    def __init__(self, jobs: Sequence[Job], done: int, workers: int, stream: TextIO) -> None:
        super().__init__(jobs, done, workers)
        self._stream = stream
        self._said = time.monotonic()
        before = f" ({done} done before)" if done else ""
        self._say(f"{len(self.jobs)} jobs{before}")

    def _say(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()
        self._said = time.monotonic()

    def take(self, event: Event) -> None:
        super().take(event)
        if event.job is not None and event.kind in ("done", "failed", "skipped"):
            why = f": {event.text}" if event.text else ""
            self._say(f"{event.job.name} {event.kind}{why}  [{self.line()}]")
        elif time.monotonic() - self._said >= _LINE_PERIOD_S:
            self._say(self.line())


class _Bars(Watch):
    """A bar for the whole, and a line for each job that runs."""

    def __init__(self, jobs: Sequence[Job], done: int, workers: int, stream: TextIO) -> None:
        super().__init__(jobs, done, workers)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._console = Console(file=stream, highlight=False)
        self._bar: Any = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            console=self._console,
            refresh_per_second=4,
        )
        note = f"{done} jobs done before" if done else ""
        self._whole = self._bar.add_task("study", total=1.0, note=note)
        self._rows: dict[Job, Any] = {}
        self._bar.start()

    def take(self, event: Event) -> None:
        super().take(event)
        job = event.job
        if job is not None and event.kind in ("done", "failed", "skipped"):
            row = self._rows.pop(job, None)
            if row is not None:
                self._bar.remove_task(row)
            if event.kind != "done":
                self._console.print(f"{job.name} {event.kind}: {event.text}", markup=False)
        elif job is not None:
            if job not in self._rows:
                self._rows[job] = self._bar.add_task(job.name, total=1.0, note="")
            self._bar.update(self._rows[job], completed=event.share, note=event.text)
        count = f"{self.ended}/{len(self.jobs)} jobs, ETA {duration(self.eta_s)}"
        self._bar.update(self._whole, completed=self.share, note=count)

    def close(self) -> None:
        self._bar.stop()


def watch(
    jobs: Sequence[Job], done: int, workers: int, quiet: bool, stream: TextIO | None = None
) -> Watch:
    """Return what shows how far the jobs are.

    Args:
        jobs: those to be done.
        done: how many there were before.
        workers: how many run at a time.
        quiet: show nothing.
        stream: default standard error.
    """
    if quiet:
        return Watch(jobs, done, workers)
    where = sys.stderr if stream is None else stream
    kind = _Bars if where.isatty() else _Lines
    return kind(jobs, done, workers, where)
