"""Recorded rollouts checked one after another, in this process or in several."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any

from agentenvs.errors import RunError
from agentenvs.harness.replay.check import Checked, Checker
from agentenvs.harness.replay.play import Setup
from agentenvs.harness.replay.rows import Record

__all__ = ["check_all"]

_BATCH = 64
_PATIENCE_S = 5.0


def check_all(
    records: Iterable[Record], setup: Setup, jobs: int
) -> Generator[tuple[str, int, Checked]]:
    """Check rollouts and yield what came of each: task, rollout, result.

    The results are the same for every number of processes; their order is not.

    Args:
        records: what to check; read as it is needed.
        setup: what the rollouts were made with.
        jobs: how many processes; 1 does everything in this one.

    Raises:
        RunError: a process ended, or the run's arm cannot be built.
        InfrastructureFault: what surrounds an environment failed.
        SourceError: official data cannot be had.
    """
    if jobs == 1:
        with contextlib.closing(Checker(setup)) as checker:
            for record in records:
                yield record.task, record.rollout, checker.check(record)
        return
    batches = _batches(records)
    crew: dict[Connection, _Worker] = {}
    try:
        for batch in islice(batches, jobs):
            worker = _Worker(setup)
            crew[worker.connection] = worker
            worker.begin(batch)
        while busy := [line for line, worker in crew.items() if worker.batch]:
            for line in wait(busy):
                worker = crew[line]  # type: ignore[index]
                answers = worker.hear()
                # Only to a worker that has answered: two that send to one another wait forever.
                for batch in islice(batches, 1):
                    worker.begin(batch)
                yield from answers
    finally:
        for worker in crew.values():
            worker.end()


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    rest = iter(records)
    while batch := list(islice(rest, _BATCH)):
        yield batch


class _Worker:
    """A process and this side's end of the line to it."""

    def __init__(self, setup: Setup) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, setup), daemon=True)
        self._process.start()
        other.close()
        self.batch: list[Record] = []

    def begin(self, batch: list[Record]) -> None:
        try:
            self.connection.send(batch)
        except OSError:
            raise self._ended() from None
        self.batch = batch

    def hear(self) -> list[tuple[str, int, Checked]]:
        try:
            answer: Any = self.connection.recv()
        except (EOFError, OSError):
            raise self._ended() from None
        if isinstance(answer, Exception):
            raise answer
        batch, self.batch = self.batch, []
        return [
            (record.task, record.rollout, checked)
            for record, checked in zip(batch, answer, strict=True)
        ]

    def _ended(self) -> RunError:
        self._process.join(_PATIENCE_S)
        return RunError(f"A process that replays ended with exit code {self._process.exitcode}.")

    def end(self) -> None:
        if self.batch:
            self._process.terminate()
        self.connection.close()
        self._process.join(_PATIENCE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(connection: Connection, setup: Setup) -> None:
    """Check batches until the line is cut."""
    # Ctrl-C reaches every process of the terminal; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with connection:
        try:
            with contextlib.closing(Checker(setup)) as checker:
                while True:
                    try:
                        batch = connection.recv()
                    except (EOFError, OSError):
                        return
                    connection.send([checker.check(record) for record in batch])
        except Exception as error:
            # Where the line is cut nobody waits for it.
            with contextlib.suppress(OSError):
                connection.send(_portable(error))


def _portable(error: Exception) -> Exception:
    """Return an error that can go to another process."""
    kind = type(error)
    try:
        twin = kind(str(error))
    except Exception:
        return RunError(f"{kind.__name__}: {error}")
    return twin
