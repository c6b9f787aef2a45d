"""Worker processes that do jobs in the order of their needs, and outlive no parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Literal

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.jobs import Job

__all__ = ["Event", "Perform", "work"]

#: does a job; says now and then which share of it is done, and with what it is busy
Perform = Callable[[Job, Callable[[float, str], None]], None]

_TICK_S = 0.5
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to a job.

    Attributes:
        kind: it was begun, is on its way, done, failed, or cannot be begun ("skipped"), since
            one that it needs failed; "tick" is no job's, and comes twice a second.
        job: which.
        share: how much of it is done.
        text: with what it is busy, or why it failed.
    """

    kind: Literal["begun", "on", "done", "failed", "skipped", "tick"]
    job: Job | None
    share: float = 0.0
    text: str = ""


def work(
    jobs: Sequence[Job], perform: Perform, workers: int, done: Sequence[tuple[str, int]] = ()
) -> Iterator[Event]:
    """Do jobs in worker processes, and yield what happens.

    A process does one job after the other with a single thread. What it gives must depend on
    its job alone. A job that fails, or whose process dies, takes those along that need it; all
    others go on. Leaving the loop early ends the processes.

    Args:
        jobs: in the order in which they are to be begun where nothing is in their way.
        perform: does one; must be importable by its name.
        workers: how many processes at most.
        done: (arm, seed) that are there already.

    Raises:
        BadArgument: a job needs one that is neither there nor among them.
    """
    todo, ready = list(jobs), set(done)
    lost: set[tuple[str, int]] = set()
    crew: list[_Worker] = []
    busy: dict[Connection, _Worker] = {}
    try:
        while todo or busy:
            for job in [one for one in todo if any((n, one.seed) in lost for n in one.needs)]:
                todo.remove(job)
                lost.add((job.arm, job.seed))
                yield Event("skipped", job, text=f"needs {' and '.join(job.needs)}")
            for job in [one for one in todo if all((n, one.seed) in ready for n in one.needs)]:
                if len(busy) >= workers:
                    break
                free = [worker for worker in crew if worker.job is None]
                if not free:
                    crew.append(_Worker())
                    free = crew[-1:]
                free[0].begin(perform, job)
                busy[free[0].connection] = free[0]
                todo.remove(job)
                yield Event("begun", job)
            if todo and not busy:
                raise BadArgument(f"Nothing that {todo[0].name} needs is being done.")
            yield Event("tick", None)
            for connection in wait(list(busy), _TICK_S):
                worker = busy[connection]  # type: ignore[index]
                event = worker.hear()
                yield event
                if event.kind == "on":
                    continue
                del busy[worker.connection]
                (ready if event.kind == "done" else lost).add((event.job.arm, event.job.seed))  # type: ignore[union-attr]
                if not worker.alive:
                    crew.remove(worker)
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    """A process and this side's end of the line to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()
        self.job: Job | None = None
        self.alive = True

    def begin(self, perform: Perform, job: Job) -> None:
        self.connection.send((perform, job))
        self.job = job

    def hear(self) -> Event:
        assert self.job is not None  # noqa: S101
        job = self.job
        try:
            kind, share, text = self.connection.recv()
        except (EOFError, OSError):
            self._process.join(_PATIENCE_S)
            self.alive, self.job = False, None
            code = self._process.exitcode
            return Event("failed", job, text=f"its process ended with exit code {code}")
        if kind != "on":
            self.job = None
        return Event(kind, job, share, text)

    def end(self) -> None:
        if self.job is not None:
            self._process.terminate()
        self.connection.close()
        self._process.join(_PATIENCE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(connection: Connection) -> None:
    """Do jobs until the line is cut."""
    # Ctrl-C reaches every process of the terminal; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Torch reads it when it is imported, which is later.
    os.environ["OMP_NUM_THREADS"] = "1"
    with connection:
        while True:
            try:
                perform, job = connection.recv()
                message = _do(perform, job, connection)
                connection.send(message)
            except (EOFError, OSError):
                return


def _do(perform: Perform, job: Job, connection: Connection) -> tuple[str, float, str]:
    said = time.monotonic()

    def report(share: float, text: str) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said >= _TICK_S / 2:
            said = now
            try:
                connection.send(("on", share, text))
            except OSError:
                raise _Orphaned from None

    try:
        perform(job, report)
    except _Orphaned:
        raise OSError("the parent has gone") from None
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{os.path.basename(where.filename)}:{where.lineno}"
        return "failed", 0.0, f"{type(error).__name__}: {error} ({at})"
    return "done", 1.0, ""


class _Orphaned(BaseException):
    """Raised in a job whose parent has gone, past every handler of errors."""
