"""Questions of an event loop, answered by a worker thread while it goes on."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from agentenvs.errors import BadArgument, PolicyError

__all__ = ["Desk", "Job"]

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Job(Generic[Question, Answer]):
    """One question that waits for its answer; the worker answers it by `answer`.

    Attributes:
        question: what is asked.
    """

    def __init__(self, question: Question) -> None:
        self.question = question
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Answer] = self.loop.create_future()
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """True once nobody waits any more; the worker may then leave it."""
        return self._cancelled or self.loop.is_closed()

    def cancel(self) -> None:
        """Tell the worker that nobody waits any more."""
        self._cancelled = True

    def answer(self, value: Answer | Exception) -> None:
        """Give the answer, or the exception to be raised where it is awaited; from any thread."""
        try:
            self.loop.call_soon_threadsafe(self._set, value)
        except RuntimeError:
            # The loop has ended, and with it whoever asked.
            self.cancel()

    def _set(self, value: Answer | Exception) -> None:
        if self.future.done():
            return
        if isinstance(value, Exception):
            self.future.set_exception(value)
        else:
            self.future.set_result(value)


class Desk(Generic[Question, Answer]):
    """Where questions wait, in order of arrival, until the worker takes them.

    The event loop stays free meanwhile. Nothing runs while nothing is asked, and the same object
    serves one event loop after another, or several at once.

    Args:
        work: called in the worker thread once there is a question; takes and answers questions
            until none is left.
        wait: seconds without a newcomer after which `gather` ends.

    Raises:
        BadArgument: `wait` is below 0.
    """

    def __init__(self, work: Callable[[Desk[Question, Answer]], None], wait: float = 0.005) -> None:
        if not wait >= 0:
            raise BadArgument(f"Expected `wait` to be at least 0 seconds, got {wait}.")
        self._work = work
        self._wait = wait
        self._news = threading.Condition()
        self._waiting: deque[Job[Question, Answer]] = deque()
        self._open: set[Job[Question, Answer]] = set()
        self._pool: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None

    async def ask(self, question: Question) -> Answer:
        """Return the answer to one question."""
        job: Job[Question, Answer] = Job(question)
        try:
            self._put(job)
            return await job.future
        except asyncio.CancelledError:
            job.cancel()
            raise
        finally:
            with self._news:
                self._open.discard(job)

    def _put(self, job: Job[Question, Answer]) -> None:
        with self._news:
            if self._running is None:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(1, thread_name_prefix="agentenvs-hf")
                self._running = self._pool.submit(self._serve)
            self._waiting.append(job)
            self._open.add(job)
            self._news.notify_all()

    def gather(self, enough: int) -> None:
        """Wait in the worker until so many questions are there, or a moment brings no newcomer."""
        with self._news:
            seen = 0
            while seen < len(self._waiting) < enough:
                seen = len(self._waiting)
                self._news.wait_for(lambda: len(self._waiting) >= enough, self._wait)

    def take(self, most: int) -> list[Job[Question, Answer]]:
        """Return up to `most` questions that still wait, without waiting for any."""
        jobs: list[Job[Question, Answer]] = []
        with self._news:
            while self._waiting and len(jobs) < most:
                job = self._waiting.popleft()
                if not job.cancelled:
                    jobs.append(job)
        return jobs

    async def close(self) -> None:
        """End the worker thread: who still waits gets a `PolicyError`.

        A later question starts a new one.
        """
        with self._news:
            left, running, pool = list(self._open), self._running, self._pool
            self._pool = None
        for job in left:
            job.cancel()
            job.answer(PolicyError("The policy was closed while a request waited."))
        if running is not None:
            await asyncio.wait([asyncio.wrap_future(running)])
        if pool is not None:
            pool.shutdown(wait=False)

    def _serve(self) -> None:
        while True:
            try:
                self._work(self)
            except Exception as error:
                with self._news:
                    left = list(self._open)
                    self._waiting.clear()
                for job in left:
                    job.answer(error)
                    job.cancel()
            with self._news:
                if not self._waiting:
                    self._running = None
                    return
