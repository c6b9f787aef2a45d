"""The free-running pool: many episodes over one event loop, each replaced when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import gymnasium

from agentenvs.core import ToolCall
from agentenvs.errors import AgentEnvsError, PolicyError, RunError
from agentenvs.harness.episode import Episode
from agentenvs.harness.exchange import Completion
from agentenvs.harness.faults import FAULTS, Breaker, reason_of, told
from agentenvs.harness.jobs import Job
from agentenvs.harness.places import place_of
from agentenvs.harness.policies.base import Policy, waits_of
from agentenvs.harness.policies.user import PolicyUser, UserAsked
from agentenvs.harness.progress import Progress, Reporter
from agentenvs.harness.prompts import Prompt
from agentenvs.harness.records import Played, Void, parse_counts
from agentenvs.harness.seeds import derive

__all__ = ["Pool"]

T = TypeVar("T")
# What asks Python to leave would leave a run half done, and a worker of Ray without its loop.
_MISTAKES = (Exception, SystemExit)


class _Slot(NamedTuple):
    """What episodes after one another share."""

    env: gymnasium.Env[Any, Any]
    user: PolicyUser | None


class _Fault(Exception):
    """Raised within a try that is void; its cause is the fault.

    Attributes:
        cause: what was raised.
        broken: whether it came out of the environment, which is not to be trusted any more.
    """

    def __init__(self, cause: BaseException, broken: bool) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.broken = broken


def _ignore(void: Void) -> None:
    """Keep nothing of a void try."""


@dataclass(slots=True)
class Pool:
    """Plays jobs, at most `size` at a time, in order of work.

    Steps of environments run inline; only the policy is awaited, so that a batching policy
    sees the requests of every episode that is ready. Nothing that an episode does depends on
    the others or on when it runs. Environments are kept from one `play` to the next.

    Args:
        make_env: makes an environment for a slot; episodes after one another share it.
        policy: who acts.
        prompt: what it is shown.
        env_id: recorded in each request.
        seed: the run's seed; each rollout's own is derived from it, the task and the rollout.
        max_requests: ends an episode as a failure after so many decisions, or None.
        keep: takes each finished rollout, before the slot is used again.
        make_user: makes a slot's user where a policy plays it; the environment is made with it.
        void: takes each try that a fault of the infrastructure ended.
        retries: how many more times such a rollout is tried, from its start, before it stays
            open.
    """

    make_env: Callable[..., gymnasium.Env[Any, Any]]
    policy: Policy
    prompt: Prompt
    env_id: str
    seed: int
    max_requests: int | None
    keep: Callable[[Played], None]
    make_user: Callable[[], PolicyUser] | None = None
    void: Callable[[Void], None] = _ignore
    retries: int = 2
    _idle: list[_Slot] = field(default_factory=list, init=False)
    _partner: Policy | None = field(default=None, init=False)

    async def play(
        self, jobs: Iterable[Job], size: int, progress: Progress, reporter: Reporter
    ) -> None:
        """Play every job; those whose every try was void stay open.

        Raises:
            PolicyError: the policy failed; the other episodes are dropped, what is finished
                is kept.
            RunError: an environment failed, or so many rollouts in a row stayed open that there
                is no use in going on.
        """
        planned = list(jobs)
        queue = iter(planned)
        breaker = Breaker(size, len({job.task for job in planned}))
        slots = [
            asyncio.create_task(
                self._slot(queue, breaker, progress, reporter), name=f"slot {index}"
            )
            for index in range(size)
        ]
        ticker = asyncio.create_task(self._tick(progress, reporter), name="progress")
        try:
            await asyncio.wait(slots, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in (*slots, ticker):
                task.cancel()
            ends = await asyncio.gather(*slots, ticker, return_exceptions=True)
            progress.waiting = ""
        for end in ends:
            if isinstance(end, BaseException) and not isinstance(end, asyncio.CancelledError):
                raise end

    async def _slot(
        self, queue: Iterator[Job], breaker: Breaker, progress: Progress, reporter: Reporter
    ) -> None:
        slot: _Slot | None = None
        attempt = 0
        job: Job | None = None
        try:
            while not _is_cancelled() and (job := job or next(queue, None)) is not None:
                began = time.perf_counter()
                try:
                    slot = slot or self._open()
                    episode = await self._episode(slot, job)
                except _Fault as fault:
                    if fault.broken and slot is not None:
                        _discard(slot)
                        slot = None
                    if _is_cancelled():
                        # A policy may answer the end of the run by a fault, or by words.
                        break
                    lost = _void(job, attempt, fault.cause, began)
                    self.void(lost)
                    progress.void += 1
                    attempt += 1
                    if attempt > self.retries:
                        breaker.left_open(lost)
                        job, attempt = None, 0
                else:
                    self.keep(Played.of(episode, self._fields(episode, job, attempt, began)))
                    breaker.finished(job.task)
                    progress.done += 1
                    progress.successes += episode.success
                    progress.steps += len(episode.steps)
                    reporter.ended(progress)
                    job, attempt = None, 0
                # A policy that never waits would keep the loop from signals and other slots.
                await asyncio.sleep(0)
        finally:
            if slot is not None:
                self._idle.append(slot)

    async def _tick(self, progress: Progress, reporter: Reporter) -> None:
        while reporter.period_s is not None:
            await asyncio.sleep(reporter.period_s)
            told = (waits_of(policy) for policy in (self.policy, self._partner))
            progress.waiting = next(filter(None, told), "")
            reporter.tick(progress)

    def _open(self) -> _Slot:
        if self._idle:
            return self._idle.pop()
        user = None if self.make_user is None else self.make_user()
        self._partner = None if user is None else user.policy
        try:
            env = self.make_env() if user is None else self.make_env(user=user)
        except FAULTS as error:
            raise _Fault(error, broken=True) from error
        return _Slot(env, user)

    def close(self) -> None:
        """Close the environments."""
        with contextlib.ExitStack() as ends:
            while self._idle:
                ends.callback(self._idle.pop().env.close)

    def _fields(self, episode: Episode, job: Job, attempt: int, began: float) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "score": episode.score,
            "reason": episode.reason,
            "seed": episode.seed,
            "temperature": job.sampling.temperature,
            "steps": len(episode.steps),
            "parse": parse_counts(episode.steps),
            "wall_s": round(time.perf_counter() - began, 6),
        }
        if self.policy.scripted:
            fields["scripted"], fields["policy"] = True, self.policy.name
        if episode.new_tokens is not None:
            fields["new_tokens"] = episode.new_tokens
        if attempt:
            fields["attempt"] = attempt
        return fields

    async def _episode(self, slot: _Slot, job: Job) -> Episode:
        env, user = slot
        generate = self.policy.generate
        if user is not None:
            own = derive(self.seed, job.task, job.rollout, "user")
            user.begin(job.task, job.rollout, own)

        def open_episode() -> Episode:
            return Episode(
                env,
                self.prompt,
                form=self.policy.form,
                sampling=job.sampling,
                task=job.task,
                seed=derive(self.seed, job.task, job.rollout),
                rollout=job.rollout,
                env_id=self.env_id,
                max_requests=self.max_requests,
            )

        try:
            episode = await self._heard(open_episode, job, user)
            while (request := episode.request) is not None:
                if _is_cancelled():
                    raise asyncio.CancelledError
                try:
                    completion = await generate(request)
                except asyncio.CancelledError as error:
                    if _is_cancelled():
                        raise
                    raise PolicyError(self._told(job, "The policy gave up", error)) from error
                except FAULTS as error:
                    raise _Fault(error, broken=False) from error
                except _MISTAKES as error:
                    raise PolicyError(self._told(job, "The policy failed", error)) from error
                _check(completion)
                if user is None:
                    episode.respond(completion)
                else:
                    await self._heard(partial(episode.respond, completion), job, user)
        except FAULTS as error:
            raise _Fault(error, broken=True) from error
        except (AgentEnvsError, _Fault):
            raise
        except _MISTAKES as error:
            raise RunError(self._told(job, "The environment failed", error)) from error
        return episode

    async def _heard(self, go_on: Callable[[], T], job: Job, user: PolicyUser | None) -> T:
        """Go on, and try again with the user's words each time that the user is asked."""
        while True:
            try:
                return go_on()
            except UserAsked as asked:
                if user is None:
                    raise
                messages = asked.messages
            try:
                await user.answer(messages)
            except asyncio.CancelledError as error:
                if _is_cancelled():
                    raise
                raise PolicyError(self._told(job, "The user gave up", error)) from error
            except FAULTS as error:
                raise _Fault(error, broken=False) from error
            except _MISTAKES as error:
                raise PolicyError(self._told(job, "The user failed", error)) from error

    def _told(self, job: Job, what: str, error: BaseException) -> str:
        place = place_of(error)
        where = f"task {job.task!r}, rollout {job.rollout}{f' ({place})' if place else ''}"
        return f"{what} in {where}: {type(error).__name__}: {error}"


def _discard(slot: _Slot) -> None:
    """Close an environment that failed, as far as it still can be."""
    with contextlib.suppress(Exception):
        slot.env.close()


def _void(job: Job, attempt: int, error: BaseException, began: float) -> Void:
    wall_s = round(time.perf_counter() - began, 6)
    return Void(job.task, job.rollout, attempt, reason_of(error), told(error), wall_s)


def _is_cancelled() -> bool:
    """Whether the run itself cancels this slot, and not a policy its own reply."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _check(completion: object) -> None:
    if not isinstance(completion, Completion):
        kind = type(completion).__name__
        raise PolicyError(f"Expected the policy to give a Completion, got {kind}.")
    if not isinstance(completion.text, str):
        kind = type(completion.text).__name__
        raise PolicyError(f"Expected a Completion's `text` to be a str, got {kind}.")
    calls: object = completion.tool_calls
    fits = calls is None or isinstance(calls, list | tuple)
    if not fits or not all(isinstance(call, ToolCall) for call in completion.tool_calls or ()):
        shown = f"{calls!r:.80}"
        raise PolicyError(f"Expected a Completion's `tool_calls` to be ToolCalls, got {shown}.")
