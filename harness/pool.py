"""The free-running pool: many episodes over one event loop, each replaced when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import gymnasium

from agentenvs.core import ToolCall
from agentenvs.errors import AgentEnvsError, PolicyError, RunError
from agentenvs.harness.episode import Episode, Step
from agentenvs.harness.exchange import Completion, Sampling
from agentenvs.harness.policies.base import Policy
from agentenvs.harness.policies.user import PolicyUser, UserAsked
from agentenvs.harness.progress import Progress, Reporter
from agentenvs.harness.prompts import Prompt
from agentenvs.harness.seeds import derive

__all__ = ["Job", "Pool", "parse_counts"]

T = TypeVar("T")


class Job(NamedTuple):
    """One rollout to be played."""

    task: str
    rollout: int
    sampling: Sampling


def parse_counts(steps: Sequence[Step]) -> dict[str, int]:
    """Return how the replies of an episode were read, as counts of steps.

    Returns:
        `calls`, `words` and `malformed`: what the reading came to. Of the steps with calls,
        `repaired` were mended in some way, `strict` would have been read by the strict parser
        too, and `rescued` would not (where a relaxed parser read them and says so).
    """
    calls = words = malformed = repaired = strict = rescued = 0
    for step in steps:
        parse = step.parse
        status = parse.get("status")
        if status == "calls":
            calls += 1
            repaired += bool(parse.get("repairs"))
            reads = parse.get("strict")
            strict += reads is True
            rescued += reads is False
        elif status == "words":
            words += 1
        elif status == "malformed":
            malformed += 1
    return {
        "calls": calls,
        "words": words,
        "malformed": malformed,
        "repaired": repaired,
        "strict": strict,
        "rescued": rescued,
    }


class _Slot(NamedTuple):
    """What episodes after one another share."""

    env: gymnasium.Env[Any, Any]
    user: PolicyUser | None


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
        keep: takes each finished episode and the fields of its outcome, before the slot is
            used again.
        make_user: makes a slot's user where a policy plays it; the environment is made with it.
    """

    make_env: Callable[..., gymnasium.Env[Any, Any]]
    policy: Policy
    prompt: Prompt
    env_id: str
    seed: int
    max_requests: int | None
    keep: Callable[[Episode, Mapping[str, Any]], None]
    make_user: Callable[[], PolicyUser] | None = None
    _idle: list[_Slot] = field(default_factory=list, init=False)

    async def play(
        self, jobs: Iterable[Job], size: int, progress: Progress, reporter: Reporter
    ) -> None:
        """Play every job.

        Raises:
            PolicyError: the policy failed; the other episodes are dropped, what is finished
                is kept.
            RunError: an environment failed.
        """
        queue = iter(jobs)
        slots = [
            asyncio.create_task(self._slot(queue, progress, reporter), name=f"slot {index}")
            for index in range(size)
        ]
        ticker = asyncio.create_task(_tick(progress, reporter), name="progress")
        try:
            await asyncio.wait(slots, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in (*slots, ticker):
                task.cancel()
            ends = await asyncio.gather(*slots, ticker, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _slot(self, queue: Iterator[Job], progress: Progress, reporter: Reporter) -> None:
        slot: _Slot | None = None
        try:
            for job in queue:
                slot = slot or self._open()
                episode = await self._episode(slot.env, job, slot.user)
                progress.done += 1
                progress.successes += episode.success
                progress.steps += len(episode.steps)
                reporter.ended(progress)
                # A policy that never waits would keep the loop from signals and other slots.
                await asyncio.sleep(0)
        finally:
            if slot is not None:
                self._idle.append(slot)

    def _open(self) -> _Slot:
        if self._idle:
            return self._idle.pop()
        user = None if self.make_user is None else self.make_user()
        return _Slot(self.make_env() if user is None else self.make_env(user=user), user)

    def close(self) -> None:
        """Close the environments."""
        with contextlib.ExitStack() as ends:
            while self._idle:
                ends.callback(self._idle.pop().env.close)

    async def _episode(
        self, env: gymnasium.Env[Any, Any], job: Job, user: PolicyUser | None
    ) -> Episode:
        began = time.perf_counter()
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
                try:
                    completion = await generate(request)
                except asyncio.CancelledError as error:
                    if _is_cancelled():
                        raise
                    raise PolicyError(self._told(job, "The policy gave up", error)) from error
                except Exception as error:
                    raise PolicyError(self._told(job, "The policy failed", error)) from error
                _check(completion)
                if user is None:
                    episode.respond(completion)
                else:
                    await self._heard(partial(episode.respond, completion), job, user)
        except AgentEnvsError:
            raise
        except Exception as error:
            raise RunError(self._told(job, "The environment failed", error)) from error
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
        self.keep(episode, fields)
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
            except Exception as error:
                raise PolicyError(self._told(job, "The user failed", error)) from error

    def _told(self, job: Job, what: str, error: BaseException) -> str:
        return (
            f"{what} in task {job.task!r}, rollout {job.rollout}: {type(error).__name__}: {error}"
        )


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


async def _tick(progress: Progress, reporter: Reporter) -> None:
    while reporter.period_s is not None:
        await asyncio.sleep(reporter.period_s)
        reporter.tick(progress)
