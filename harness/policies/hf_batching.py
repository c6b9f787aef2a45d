"""Requests that wait at the same time, answered together in a worker thread."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from agentenvs.errors import BadArgument

__all__ = ["Job", "MicroBatcher"]

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Job(Generic[Question, Answer]):
    """One waiting question.

    Attributes:
        question: what is asked.
        answer: set when it is answered.
        cancelled: True once nobody waits any more; the worker may then leave it.
    """

    def __init__(self, question: Question, answer: asyncio.Future[Answer]) -> None:
        self.question = question
        self.answer = answer
        self.cancelled = False


class MicroBatcher(Generic[Question, Answer]):
    """Collects what is asked concurrently and answers it in batches, one batch at a time.

    The next batch is whoever is ready when the one before ends, in order of arrival. The event
    loop stays free meanwhile. Nothing runs while nothing is asked, and the same object serves
    one event loop after another.

    Args:
        work: called in the worker thread with 1 to `max_batch` jobs; returns an answer or an
            exception for each, in order.
        max_batch: most jobs a batch.
        wait: seconds without a newcomer after which an unfilled batch starts.

    Raises:
        BadArgument: `max_batch` is below 1, or `wait` below 0.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Job[Question, Answer]]], Sequence[Answer | Exception]],
        max_batch: int,
        wait: float = 0.005,
    ) -> None:
        if isinstance(max_batch, bool) or not isinstance(max_batch, int) or max_batch < 1:
            raise BadArgument(
                f"Expected `max_batch` to be an int of at least 1, got {max_batch!r}."
            )
        if wait < 0:
            raise BadArgument(f"Expected `wait` to be at least 0 seconds, got {wait}.")
        self._work = work
        self._max_batch = max_batch
        self._wait = wait
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[Job[Question, Answer]] = deque()
        self._server: asyncio.Task[None] | None = None
        self._pool: ThreadPoolExecutor | None = None

    async def ask(self, question: Question) -> Answer:
        """Return the answer to one question, in whichever batch it comes."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._server = loop, None
            self._waiting.clear()
        job: Job[Question, Answer] = Job(question, loop.create_future())
        self._waiting.append(job)
        if self._server is None or self._server.done():
            self._server = loop.create_task(self._serve())
        try:
            return await job.answer
        except asyncio.CancelledError:
            job.cancelled = True
            raise

    def close(self) -> None:
        """Let the worker thread end; a later question starts a new one."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    async def _serve(self) -> None:
        while self._waiting:
            await self._gather()
            jobs = self._take()
            if jobs:
                await self._answer(jobs)

    async def _gather(self) -> None:
        seen = 0
        while seen < len(self._waiting) < self._max_batch:
            seen = len(self._waiting)
            await asyncio.sleep(self._wait)

    def _take(self) -> list[Job[Question, Answer]]:
        jobs: list[Job[Question, Answer]] = []
        while self._waiting and len(jobs) < self._max_batch:
            job = self._waiting.popleft()
            if not job.cancelled:
                jobs.append(job)
        return jobs

    async def _answer(self, jobs: list[Job[Question, Answer]]) -> None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="agentenvs-hf")
        loop = asyncio.get_running_loop()
        answers: Sequence[Answer | Exception]
        try:
            answers = await loop.run_in_executor(self._pool, self._work, jobs)
        except asyncio.CancelledError:
            for job in jobs:
                job.cancelled = True
            raise
        except Exception as error:
            answers = [error] * len(jobs)
        for job, answer in zip(jobs, answers, strict=True):
            if job.answer.done():
                continue
            if isinstance(answer, Exception):
                job.answer.set_exception(answer)
            else:
                job.answer.set_result(answer)
