"""How a fetch reports what it does, and a bar for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Progress", "console_progress", "quiet"]


class Progress(Protocol):
    """A callback that is told how far a fetch has come."""

    def __call__(self, done: int, total: int, text: str) -> None:
        """Take note: `done` of `total` bytes (0 where unknown), `text` says what is going on."""


def quiet(done: int, total: int, text: str) -> None:
    """Report nothing."""


@contextmanager
def console_progress() -> Iterator[Progress]:
    """Report on stderr: each message on a line, on a terminal with a bar below.

    Nothing is shown before the first report.

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
    bar = _Bar()
    try:
        yield bar
    finally:
        bar.close()


class _PlainLines:
    def __init__(self) -> None:
        self._last = ""

    def __call__(self, done: int, total: int, text: str) -> None:
        if text != self._last:
            self._last = text
            print(text, file=sys.stderr, flush=True)


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
