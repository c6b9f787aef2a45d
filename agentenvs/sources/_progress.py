"""How a fetch reports what it does, and a bar for the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from rich.progress import TaskID

__all__ = ["Progress", "console_progress", "quiet"]

#: messages that are shown; one who reports without end must not fill the screen
_KINDS = 200
#: seconds between two lines about the same work where there is no bar
_PAUSE = 30.0


class Progress(Protocol):
    """A callback that is told how far a fetch has come."""

    def __call__(self, done: int, total: int, text: str) -> None:
        """Take note: `done` of `total` bytes (0 where unknown), `text` says what is going on."""


def quiet(done: int, total: int, text: str) -> None:
    """Report nothing."""


@contextmanager
def console_progress(unit: Literal["bytes", "share"] = "bytes") -> Iterator[Progress]:
    """Report on stderr: on a terminal with bars, elsewhere a line for each message.

    Nothing is shown before the first report.

    Args:
        unit: "bytes" for one bar that counts them, "share" for work of several kinds, with a
            bar for each message that says how much of it is done.

    Example:
        >>> from agentenvs import sources
        >>> with sources.console_progress() as progress:  # doctest: +SKIP
        ...     sources.pull("bfcl", progress)
    """
    stream = sys.stderr
    if stream is None:
        yield quiet
        return
    if not stream.isatty():
        yield _PlainLines()
        return
    bar: _Bar | _Bars = _Bar() if unit == "bytes" else _Bars()
    try:
        yield bar
    finally:
        bar.close()


class _PlainLines:
    """Each message once, and now and then how far the work has come that takes long."""

    def __init__(self) -> None:
        self._told: dict[str, float] = {}

    def __call__(self, done: int, total: int, text: str) -> None:
        now = time.monotonic()
        if text not in self._told:
            if len(self._told) < _KINDS:
                self._told[text] = now
                print(text, file=sys.stderr, flush=True)
        elif 0 < done < total and now - self._told[text] >= _PAUSE:
            self._told[text] = now
            print(f"{text}: {100 * done // total} %", file=sys.stderr, flush=True)


class _Bar:
    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TransferSpeedColumn
        from rich.progress import Progress as RichProgress

        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._bar = RichProgress(*columns, console=Console(stderr=True))
        self._task = self._bar.add_task("", total=None)
        self._last = ""

    def __call__(self, done: int, total: int, text: str) -> None:
        self._bar.update(self._task, completed=done, total=total or None)
        if text != self._last:
            self._last = text
            self._bar.console.print(text, markup=False, highlight=False)
        self._bar.start()

    def close(self) -> None:
        self._bar.stop()


class _Bars:
    def __init__(self) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        self._bar = RichProgress(*columns, TimeRemainingColumn(), console=Console(stderr=True))
        self._escape = escape
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, done: int, total: int, text: str) -> None:
        if total <= 0:
            if text not in self._tasks and len(self._tasks) < _KINDS:
                self._tasks[text] = self._bar.add_task(text, visible=False, total=None)
                self._bar.console.print(text, markup=False, highlight=False)
            return
        if text not in self._tasks:
            if len(self._tasks) >= _KINDS:
                return
            self._tasks[text] = self._bar.add_task(self._escape(text), total=total)
        self._bar.update(self._tasks[text], completed=done, total=total)
        self._bar.start()

    def close(self) -> None:
        self._bar.stop()
