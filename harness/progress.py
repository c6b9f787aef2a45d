"""How far a run is: a bar in a terminal, plain lines elsewhere, or a callback."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

__all__ = ["Progress", "Reporter", "reporter"]

_BAR_PERIOD_S = 0.25
_LINE_PERIOD_S = 10.0
#: until so many rollouts of a call have ended, their rate says nothing of the others'
_FEW = 16
#: below so many a second the rate is told by the minute, and the time to go from the first on
_SLOW = 0.1


@dataclass(slots=True)
class Progress:
    """How far a run is.

    Attributes:
        total: rollouts that the run asks for.
        done: rollouts with an outcome, those of earlier calls included.
        resumed: how many of them were there before this call.
        successes: how many of `done` succeeded.
        steps: decisions taken in this call.
        started: `time.perf_counter()` at the start of this call.
        void: tries in this call that ended without a verdict, by a fault of the infrastructure.
        waiting: what the policy waits for, "" where it does not; shown in place of the time to go.
    """

    total: int
    done: int = 0
    resumed: int = 0
    successes: int = 0
    steps: int = 0
    started: float = 0.0
    void: int = 0
    waiting: str = ""

    @property
    def pass_at_1(self) -> float:
        """Share of the finished rollouts that succeeded; NaN before the first."""
        return self.successes / self.done if self.done else float("nan")

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start of this call."""
        return time.perf_counter() - self.started

    @property
    def per_second(self) -> float:
        """Rollouts finished a second in this call."""
        elapsed = self.elapsed_s
        return (self.done - self.resumed) / elapsed if elapsed > 0 else 0.0

    @property
    def eta_s(self) -> float:
        """Seconds to go at this rate; infinite before the first rollout ends."""
        left, rate = self.total - self.done, self.per_second
        if not left:
            return 0.0
        return left / rate if rate > 0 else float("inf")

    def line(self) -> str:
        """Return the state as one line of text."""
        parts = [f"{self.done}/{self.total} rollouts"]
        if self.done:
            # Tasks begin in their order, so that it is over the first ones.
            so_far = " so far" if self.done < self.total else ""
            parts.append(f"pass@1 {self.pass_at_1:.3f}{so_far}")
        if self.void:
            parts.append(f"{self.void} void")
        ended, rate = self.done - self.resumed, self.per_second
        slow = rate < _SLOW
        if ended:
            parts.append(f"{60 * rate:.1f}/min" if slow else f"{rate:.1f}/s")
        elif self.done < self.total:
            parts.append(f"none ended in {duration(self.elapsed_s)}")
        if self.done < self.total:
            few = ended < min(_FEW, self.total - self.resumed) and not slow
            eta = f"ETA {duration(float('inf') if few else self.eta_s)}"
            parts.append(self.waiting or eta)
        else:
            parts.append(f"took {duration(self.elapsed_s)}")
        return "  ".join(parts)


def duration(seconds: float) -> str:
    """Return seconds as 0:07 or 1:02:03; ? where they are not known."""
    if seconds == float("inf"):
        return "?"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


class Reporter:
    """Shows nothing; base of those that show something.

    Attributes:
        period_s: how often `tick` is to be called, or None for never.
    """

    period_s: float | None = None

    def start(self, progress: Progress) -> None:
        """Begin."""

    def ended(self, progress: Progress) -> None:
        """Take note that a rollout has ended."""

    def tick(self, progress: Progress) -> None:
        """Bring the display up to date."""

    def stop(self, progress: Progress, note: str = "") -> None:
        """End; `note` says why, where the run is not complete."""


class _Callback(Reporter):
    def __init__(self, call: Callable[[Progress], Any]) -> None:
        self._call = call

    def ended(self, progress: Progress) -> None:
        self._call(progress)


class _Lines(Reporter):
    """A line every ten seconds, for logs."""

    period_s = _LINE_PERIOD_S

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def _say(self, text: str) -> None:
        self.stream.write(text + "\n")
        self.stream.flush()

    def start(self, progress: Progress) -> None:
        before = f" ({progress.resumed} done before)" if progress.resumed else ""
        self._say(f"{progress.total} rollouts{before}")

    def tick(self, progress: Progress) -> None:
        # The last line is left to `stop`.
        if progress.done < progress.total:
            self._say(progress.line())

    def stop(self, progress: Progress, note: str = "") -> None:
        self._say(progress.line())
        if note:
            self._say(note)


class _Bar(Reporter):
    """A bar that is redrawn four times a second."""

    period_s = _BAR_PERIOD_S

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        self._console = Console(file=stream)
        self._bar = Bar(
            BarColumn(),
            TextColumn("{task.description}"),
            console=self._console,
            auto_refresh=False,
        )
        self._row = self._bar.add_task("")

    def start(self, progress: Progress) -> None:
        self._bar.start()
        self.tick(progress)

    def tick(self, progress: Progress) -> None:
        self._bar.update(
            self._row,
            total=progress.total,
            completed=progress.done,
            description=progress.line(),
        )
        self._bar.refresh()

    def stop(self, progress: Progress, note: str = "") -> None:
        self.tick(progress)
        self._bar.stop()
        if note:
            self._console.print(note, markup=False, highlight=False)


def reporter(choice: bool | Callable[[Progress], Any], stream: TextIO | None = None) -> Reporter:
    """Return what shows the progress.

    Args:
        choice: True for a bar (plain lines where the stream is no terminal), False for
            nothing, or a function that is called with a `Progress` as each rollout ends.
        stream: default standard error.
    """
    if choice is False:
        return Reporter()
    if choice is not True:
        return _Callback(choice)
    where = sys.stderr if stream is None else stream
    return _Bar(where) if where.isatty() else _Lines(where)
