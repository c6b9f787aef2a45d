"""Rollouts over a Ray cluster: one writer here, any number of workers elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentenvs import errors
from agentenvs.errors import BadArgument, RunError
from agentenvs.harness.faults import Breaker, told
from agentenvs.harness.jobs import Job
from agentenvs.harness.playing import Cast
from agentenvs.harness.progress import Progress, Reporter
from agentenvs.harness.ray.cluster import Cluster, load_ray
from agentenvs.harness.ray.rota import Hand, Rota
from agentenvs.harness.ray.worker import Failed, Ready, Recipe, Record, Worker
from agentenvs.harness.records import Played, Void

__all__ = ["RayEngine", "make"]

_FAREWELL_S = 5.0
_FEWEST_DEATHS = 4
_LONGEST = 500
_KEY = inspect.Parameter.KEYWORD_ONLY


@dataclass(slots=True, eq=False)
class _Hired:
    """A worker as it is seen from here.

    Attributes:
        actor: its handle.
        stream: gives references to what it reports.
        hand: what it has to do.
        up: its process runs.
        ready: it plays.
        news: what it reports next.
    """

    actor: Any
    stream: Any
    hand: Hand = field(default_factory=Hand)
    up: bool = False
    ready: bool = False
    news: asyncio.Task[list[Record]] | None = None

    def listen(self) -> asyncio.Task[list[Record]]:
        """Return what it reports next."""
        if self.news is None:
            self.news = asyncio.create_task(self._next(), name="records of a worker")
        return self.news

    async def _next(self) -> list[Record]:
        reference = await anext(self.stream)
        news: list[Record] = await reference
        return news


@dataclass(slots=True)
class _Round:
    """One call of `play`."""

    rota: Rota
    breaker: Breaker
    progress: Progress
    reporter: Reporter


class RayEngine:
    """Plays jobs on the workers of a Ray cluster.

    A worker is a process with a pool, a policy and environments of its own, which it keeps. It
    plays at most `per_worker` rollouts at a time and reports each as it ends, upon which it is
    handed the next; see `Rota`. What a rollout comes to depends on none of this. A worker that dies
    takes along what it had under way: those tries are void by the reason "worker", and others
    play these rollouts again.

    Args:
        cast: what is played.
        keep: takes each finished rollout.
        void: takes each try that a fault of the infrastructure ended.
        workers: how many; default as many as there is room for.
        per_worker: most rollouts under way in one; default their share of the run's concurrency.
        address: see `Cluster`.
        num_cpus: CPUs a worker, as Ray counts them.
        num_gpus: GPUs a worker.
        runtime_env: the workers' environment, as Ray takes it. The variables `AGENTENVS_...` of
            this process reach them unless it sets them.
        start_s: how long to wait for the first worker to start.

    Raises:
        BadArgument: an argument out of range, or Ray is not installed.
        PolicyError: the policy cannot be sent to other processes.
    """

    def __init__(
        self,
        cast: Cast,
        keep: Callable[[Played], None],
        void: Callable[[Void], None],
        *,
        workers: int | None = None,
        per_worker: int | None = None,
        address: str | None = None,
        num_cpus: float = 1.0,
        num_gpus: float = 0.0,
        runtime_env: Mapping[str, Any] | None = None,
        start_s: float = 300.0,
    ) -> None:
        for name, count in (("workers", workers), ("per_worker", per_worker)):
            if count is not None and (not isinstance(count, int) or count < 1):
                raise BadArgument(f"Expected `{name}` to be an int of at least 1, got {count!r}.")
        for name, value in (("num_cpus", num_cpus), ("num_gpus", num_gpus), ("start_s", start_s)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise BadArgument(f"Expected `{name}` to be a number >= 0, got {value!r}.")
        load_ray()
        self._keep = keep
        self._void = void
        self._workers = workers
        self._per_worker = per_worker
        self._address = address
        self._resources = {"CPU": float(num_cpus), "GPU": float(num_gpus)}
        self._environment = dict(runtime_env or {})
        self._recipe = Recipe.written(cast, self._environment)
        self._retries = cast.playing.retries
        self._start_s = start_s
        self._cluster: Cluster | None = None
        self._hired: list[_Hired] = []
        self._deaths = 0

    async def play(
        self, jobs: Sequence[Job], size: int, progress: Progress, reporter: Reporter
    ) -> None:
        """Play every job; those whose every try was void stay open.

        Raises:
            PolicyError: the policy failed in a worker; what is finished is kept.
            RunError: an environment failed, no worker could start, workers died again and
                again, or many rollouts in a row stayed open.
        """
        cluster = self._connected()
        rota = Rota(jobs, self._retries)
        rota.hands.extend(worker.hand for worker in self._hired)
        breaker = Breaker(size, len({job.task for job in jobs}))
        this = _Round(rota, breaker, progress, reporter)
        count = min(self._workers or cluster.room(self._resources), len(jobs))
        most = self._per_worker or math.ceil(size / count)
        since = tick = time.monotonic()
        while rota.left:
            while len(self._hired) < min(count, rota.left):
                self._hired.append(self._hire(cluster))
                rota.hands.append(self._hired[-1].hand)
            for worker in self._hired:
                if worker.ready and (some := rota.take(worker.hand, most)):
                    worker.actor.play.remote(some)
            heard = {worker.listen(): worker for worker in self._hired}
            done, _ = await asyncio.wait(
                heard, timeout=reporter.period_s or 1.0, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                self._hear(this, heard[task], task)
            now = time.monotonic()
            if any(worker.up for worker in self._hired):
                since = now
            elif now - since > self._start_s:
                raise RunError(
                    f"No worker started within {self._start_s:g} s: each asks for "
                    f"{self._resources}, and free in the Ray cluster are {cluster.free()}."
                )
            if reporter.period_s is not None and now - tick >= reporter.period_s:
                tick = now
                reporter.tick(progress)

    def _connected(self) -> Cluster:
        if self._cluster is None:
            cpus = None
            if self._workers is not None:
                wish = math.ceil(self._workers * self._resources["CPU"])
                cpus = max(wish, os.cpu_count() or 1)
            self._cluster = Cluster(self._address, cpus)
        return self._cluster

    def _hire(self, cluster: Cluster) -> _Hired:
        actor = cluster.ray.remote(Worker).options(
            num_cpus=self._resources["CPU"],
            num_gpus=self._resources["GPU"],
            runtime_env=self._environment or None,
            max_restarts=0,
            max_task_retries=0,
            # `play` is called anew with each rollout that another one makes room for.
            max_concurrency=1_000_000,
        )
        handle = actor.remote()
        stream = handle.records.options(num_returns="streaming").remote(self._recipe)
        return _Hired(handle, stream)

    def _hear(self, this: _Round, worker: _Hired, task: asyncio.Task[list[Record]]) -> None:
        worker.news = None
        try:
            news = task.result()
        except Exception as error:
            if not _is_death(error):
                raise RunError(f"A worker failed: {told(error)}") from error
            self._bury(this, worker, _why(error))
            return
        worker.up = True
        for record in news:
            if isinstance(record, Failed):
                raise getattr(errors, record.kind, RunError)(record.text)
            if isinstance(record, Ready):
                worker.ready = True
            elif isinstance(record, Void):
                self._note_void(this, *this.rota.void(worker.hand, record))
            else:
                self._note_played(this, this.rota.played(worker.hand, record))

    def _note_played(self, this: _Round, played: Played) -> None:
        self._keep(played)
        self._deaths = 0
        this.breaker.finished(played.task)
        this.progress.done += 1
        this.progress.successes += played.success
        this.progress.steps += len(played.steps)
        this.reporter.ended(this.progress)

    def _note_void(self, this: _Round, void: Void, last: bool) -> None:
        this.progress.void += 1
        self._void(void)
        if last:
            this.breaker.left_open(void)

    def _bury(self, this: _Round, worker: _Hired, why: str) -> None:
        """Take note of a worker that died, and give what it had to others."""
        most = max(_FEWEST_DEATHS, 2 * len(self._hired))
        self._hired.remove(worker)
        # One that is out of reach might go on by itself.
        self._connected().ray.kill(worker.actor)
        for void, last in this.rota.lost(worker.hand, why):
            self._note_void(this, void, last)
        self._deaths += 1
        if self._deaths >= most:
            raise RunError(
                f"{self._deaths} workers died with no rollout finished between them, the last by "
                f"{why} In a run folder the same command goes on."
            )

    def close(self) -> None:
        """End the workers, and Ray where it was started here; harmless when repeated."""
        hired, self._hired = self._hired, []
        if self._cluster is None:
            return
        ray = self._cluster.ray
        with contextlib.closing(self._cluster):
            for worker in hired:
                if worker.news is not None:
                    # What it may still report is of no use, nor is that it died.
                    worker.news.add_done_callback(_heed)
                    worker.news.cancel()
            ends = [worker.actor.close.remote() for worker in hired if worker.ready]
            if ends:
                ray.wait(ends, num_returns=len(ends), timeout=_FAREWELL_S)
            for worker in hired:
                ray.kill(worker.actor)
        self._cluster = None


def make(
    cast: Cast,
    keep: Callable[[Played], None],
    void: Callable[[Void], None],
    settings: Mapping[str, Any],
) -> RayEngine:
    """Return a `RayEngine` with these settings.

    Raises:
        BadArgument: a setting that it does not take, or one out of range.
    """
    known = [name for name, p in inspect.signature(RayEngine).parameters.items() if p.kind is _KEY]
    for name in settings:
        if name not in known:
            hint = errors.did_you_mean(name, known)
            raise BadArgument(f"The engine 'ray' takes no argument {name!r}.{hint}")
    return RayEngine(cast, keep, void, **settings)


def _heed(news: asyncio.Task[list[Record]]) -> None:
    """Take note of an error, which asyncio would report as one that nobody minds."""
    if not news.cancelled():
        news.exception()


def _is_death(error: Exception) -> bool:
    """Whether an error means that a worker is gone, and with it what it had not reported."""
    from ray import exceptions as known

    gone = (known.RayActorError, known.ObjectLostError, known.NodeDiedError)
    return isinstance(error, (*gone, known.WorkerCrashedError, known.OutOfMemoryError))


def _why(error: Exception) -> str:
    """Return the part of an error that says why a worker is gone, at most 500 characters."""
    text = " ".join(str(error).split()).partition(" Some common causes")[0]
    # What stands before is ids.
    text = text[max(0, text.find("The actor is dead because")) :]
    return f"{type(error).__name__}: {text}"[:_LONGEST]
