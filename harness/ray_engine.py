"""Rollouts over a Ray cluster: one writer here, any number of workers elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import inspect
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import gymnasium

from agentenvs import errors, registry
from agentenvs.errors import BadArgument, PolicyError, RunError
from agentenvs.harness.faults import Breaker, told
from agentenvs.harness.playing import Cast, Playing
from agentenvs.harness.policies.callable import CallablePolicy
from agentenvs.harness.pool import Job
from agentenvs.harness.progress import Progress, Reporter
from agentenvs.harness.ray_cluster import Cluster, load_ray
from agentenvs.harness.ray_worker import Failed, Ready, Recipe, Record, Worker, facts
from agentenvs.harness.records import Played, Void

__all__ = ["RayEngine", "make"]

Key = tuple[str, int]
_FAREWELL_S = 5.0
_FEWEST_DEATHS = 4
_KEY = inspect.Parameter.KEYWORD_ONLY


class _Handed(NamedTuple):
    """A rollout that a worker plays.

    Attributes:
        job: which.
        tries: how many were void before it was handed over.
        since: when that was.
    """

    job: Job
    tries: int
    since: float


@dataclasses.dataclass(slots=True, eq=False)
class _Hired:
    """A worker as it is seen from here.

    Attributes:
        actor: its handle.
        stream: gives references to what it reports.
        up: its process runs.
        ready: it plays.
        news: what it reports next.
        shard: rollouts of one task that it is to play, unless others run out before.
        under_way: what it plays.
    """

    actor: Any
    stream: Any
    up: bool = False
    ready: bool = False
    news: asyncio.Task[list[Record]] | None = None
    shard: deque[Job] = dataclasses.field(default_factory=deque)
    under_way: dict[Key, _Handed] = dataclasses.field(default_factory=dict)

    def listen(self) -> asyncio.Task[list[Record]]:
        """Return what it reports next."""
        if self.news is None:
            self.news = asyncio.create_task(self._next(), name="records of a worker")
        return self.news

    async def _next(self) -> list[Record]:
        reference = await anext(self.stream)
        news: list[Record] = await reference
        return news


class RayEngine:
    """Plays jobs on the workers of a Ray cluster.

    A worker is a process with a pool, a policy and environments of its own, which it keeps. It
    plays at most `per_worker` rollouts at a time and reports each as it ends, upon which it is
    handed the next: of the task that it is at, else of the next task, else of the task where
    another worker has most to do. What a rollout comes to depends on none of this.

    A worker that dies takes along what it had under way. Those tries are void by the reason
    "worker"; the rollouts are played again by others, for the last time each by itself, so that
    one that kills whoever plays it takes no others along.

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
            this process are added.
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
        self._environment = _environment(runtime_env or {})
        self._recipe = _recipe(cast, "working_dir" not in self._environment)
        self._retries = cast.playing.retries
        self._start_s = start_s
        self._cluster: Cluster | None = None
        self._hired: list[_Hired] = []
        self._deaths = 0
        self._tries: Counter[Key] = Counter()
        self._lost: Counter[Key] = Counter()
        self._shards: deque[deque[Job]] = deque()
        self._alone: deque[Job] = deque()
        self._left = 0

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
        self._shards = _by_task(jobs)
        self._left = len(jobs)
        breaker = Breaker(size)
        count = min(self._workers or cluster.room(self._resources), len(jobs))
        most = self._per_worker or -(-size // count)
        since, tick = time.monotonic(), time.monotonic()
        while self._left:
            while len(self._hired) < min(count, self._left):
                self._hired.append(self._hire(cluster))
            for worker in self._hired:
                self._hand_out(worker, most)
            listened = {worker.listen(): worker for worker in self._hired}
            done, _ = await asyncio.wait(
                listened, timeout=reporter.period_s or 1.0, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                self._hear(listened[task], task, breaker, progress, reporter)
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
            cpus = self._resources["CPU"]
            wish = None if self._workers is None else int(-(-self._workers * cpus // 1))
            most = max(wish, os.cpu_count() or 1) if wish is not None else None
            self._cluster = Cluster(self._address, most)
        return self._cluster

    def _hire(self, cluster: Cluster) -> _Hired:
        actor = cluster.ray.remote(Worker).options(
            num_cpus=self._resources["CPU"],
            num_gpus=self._resources["GPU"],
            runtime_env=self._environment,
            max_restarts=0,
            max_task_retries=0,
            # `play` is called anew with each rollout that another one makes room for.
            max_concurrency=1_000_000,
        )
        handle = actor.remote()
        stream = handle.records.options(num_returns="streaming").remote(self._recipe)
        return _Hired(handle, stream)

    def _hand_out(self, worker: _Hired, most: int) -> None:
        if not worker.ready or any(self._is_last(key) for key in worker.under_way):
            return
        jobs: list[Job] = []
        while len(worker.under_way) + len(jobs) < most and (job := self._next(worker)):
            jobs.append(job)
        if not jobs and not worker.under_way and self._alone:
            jobs = [self._alone.popleft()]
        now = time.monotonic()
        for job in jobs:
            key = job.task, job.rollout
            worker.under_way[key] = _Handed(job, self._tries[key], now)
        if jobs:
            worker.actor.play.remote(jobs)

    def _is_last(self, key: Key) -> bool:
        """Whether this is the last try at a rollout that took workers along."""
        return 0 < self._lost[key] == self._retries

    def _next(self, worker: _Hired) -> Job | None:
        if not worker.shard and self._shards:
            worker.shard = self._shards.popleft()
        if not worker.shard:
            richest = max(self._hired, key=lambda other: len(other.shard))
            half = [richest.shard.pop() for _ in range(-(-len(richest.shard) // 2))]
            worker.shard.extend(reversed(half))
        return worker.shard.popleft() if worker.shard else None

    def _hear(
        self,
        worker: _Hired,
        task: asyncio.Task[list[Record]],
        breaker: Breaker,
        progress: Progress,
        reporter: Reporter,
    ) -> None:
        worker.news = None
        try:
            news = task.result()
        except StopAsyncIteration:
            raise RunError("A worker ended without a word.") from None
        except Exception as error:
            if not _is_death(error):
                raise RunError(f"A worker failed: {told(error)}") from error
            self._bury(worker, error, breaker, progress)
            return
        worker.up = True
        for record in news:
            if isinstance(record, Failed):
                raise getattr(errors, record.kind, RunError)(record.text)
            if isinstance(record, Ready):
                worker.ready = True
            elif isinstance(record, Void):
                self._note_void(worker, record, breaker, progress)
            else:
                self._note_played(worker, record, progress)
                breaker.finished()
                reporter.ended(progress)

    def _note_played(self, worker: _Hired, played: Played, progress: Progress) -> None:
        handed = worker.under_way.pop((played.task, played.rollout))
        if handed.tries:
            attempt = handed.tries + played.fields.get("attempt", 0)
            played = played._replace(fields={**played.fields, "attempt": attempt})
        self._keep(played)
        self._deaths = 0
        self._left -= 1
        progress.done += 1
        progress.successes += played.success
        progress.steps += len(played.steps)

    def _note_void(self, worker: _Hired, void: Void, breaker: Breaker, progress: Progress) -> None:
        key = void.task, void.rollout
        final = void.attempt >= self._retries
        void = void._replace(attempt=worker.under_way[key].tries + void.attempt)
        self._tries[key] += 1
        progress.void += 1
        self._void(void)
        if final:
            del worker.under_way[key]
            self._left -= 1
            breaker.left_open(void)

    def _bury(self, worker: _Hired, error: Exception, breaker: Breaker, progress: Progress) -> None:
        """Take note of a worker that died, and give what it had to others."""
        assert self._cluster is not None  # noqa: S101
        self._hired.remove(worker)
        # One that is out of reach might go on by itself.
        self._cluster.ray.kill(worker.actor)
        self._shards.appendleft(worker.shard)
        again: deque[Job] = deque()
        for key, handed in worker.under_way.items():
            attempt = self._tries[key]
            wall_s = round(time.monotonic() - handed.since, 6)
            void = Void(*key, attempt, "worker", told(error), wall_s)
            self._tries[key] += 1
            self._lost[key] += 1
            progress.void += 1
            self._void(void)
            if self._lost[key] > self._retries:
                self._left -= 1
                breaker.left_open(void)
            else:
                (self._alone if self._is_last(key) else again).append(handed.job)
        self._shards.extendleft(reversed(_by_task(again)))
        self._deaths += 1
        if self._deaths >= max(_FEWEST_DEATHS, 2 * len(self._hired)):
            raise RunError(
                f"{self._deaths} workers died with no rollout finished between them, the last by "
                f"{told(error)} In a run folder the same command goes on."
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


def _by_task(jobs: Sequence[Job]) -> deque[deque[Job]]:
    """Return jobs as a shard for each task."""
    return deque(deque(shard) for _, shard in groupby(jobs, key=lambda job: job.task))


def _is_death(error: Exception) -> bool:
    """Whether an error means that a worker is gone, and with it what it had not reported."""
    from ray import exceptions as known

    gone = (known.RayActorError, known.ObjectLostError, known.NodeDiedError)
    return isinstance(error, (*gone, known.WorkerCrashedError, known.OutOfMemoryError))


def _environment(given: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in os.environ.items() if name.startswith("AGENTENVS_")}
    return {**given, "env_vars": {**own, **given.get("env_vars", {})}}


def _recipe(cast: Cast, same_folder: bool) -> bytes:
    """Return all that a worker needs.

    Raises:
        PolicyError: it cannot be sent to other processes.
    """
    from ray import cloudpickle

    playing = _by_value(cast)
    env_id = cast.arm.env_id
    spec = None if env_id in registry.WORLDS else gymnasium.registry[env_id]
    folder = os.getcwd() if same_folder else None
    recipe = Recipe(playing, spec, facts(cast), folder)
    try:
        made: bytes = cloudpickle.dumps(recipe)
    except Exception as error:
        raise PolicyError(
            "What is played cannot be sent to workers "
            f"({type(error).__name__}: {error}). Name the policy by a spec, or give a function or "
            "an object that pickles."
        ) from error
    return made


def _by_value(cast: Cast) -> Playing:
    """Return what is played with functions in place of the names of those in files."""
    playing = cast.playing
    named: dict[str, tuple[Any, Any, Any]] = {
        "policy": (playing.policy, cast.policy, playing.policy_kwargs)
    }
    if cast.user is not None:
        named["user"] = (playing.user, cast.user.policy, playing.user_kwargs)
    changes: dict[str, Any] = {}
    for name, (spec, policy, kwargs) in named.items():
        if isinstance(spec, str) and isinstance(policy, CallablePolicy):
            changes[name] = policy.function
            changes[f"{name}_kwargs"] = {"name": policy.name, **(kwargs or {})}
    return dataclasses.replace(playing, **changes)
