"""The vectorized runner: n rollouts of every task, recorded, resumable, in any order alike."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from agentenvs.errors import BadArgument, PolicyError, RunError
from agentenvs.harness.arms import Arm, arm
from agentenvs.harness.episode import Episode
from agentenvs.harness.exchange import Sampling
from agentenvs.harness.folder import RunFolder
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.policies.base import Policy, make_policy
from agentenvs.harness.policies.user import PolicyUser
from agentenvs.harness.pool import Job, Pool
from agentenvs.harness.progress import Progress, reporter
from agentenvs.harness.prompts import FORMS, Prompt

__all__ = ["Sampler", "run", "run_async"]

_USER_SAMPLING = Sampling(temperature=0.0, max_tokens=256)
_USER_THREADS = 32

P = ParamSpec("P")
R = TypeVar("R")


class Sampler(Protocol):
    """Sets a temperature for each group (the rollouts of one task) and learns from it."""

    def temperatures(self, task_ids: Sequence[str]) -> Any:
        """Return one temperature for each task, as an array."""
        ...

    def update(self, task_ids: Sequence[str], successes: Any, n: Any) -> None:
        """Take in how many of each task's `n` rollouts succeeded, as arrays."""
        ...


async def run_async(
    env_id: str,
    policy: str | Policy | Callable[..., Any],
    *,
    tasks: str | Sequence[str] | None = None,
    n: int = 1,
    harness: str = "light",
    seed: int = 0,
    sampler: Sampler | None = None,
    out: str | os.PathLike[str] | None = None,
    prompt: str | Prompt | None = None,
    parser: str | None = None,
    examples: int = 0,
    temperature: float = 1.0,
    top_p: float = 1.0,
    max_tokens: int = 512,
    env_kwargs: Mapping[str, Any] | None = None,
    max_requests: int | None = None,
    concurrency: int | None = None,
    progress: bool | Callable[[Progress], Any] = False,
    transcripts: bool = True,
    policy_kwargs: Mapping[str, Any] | None = None,
    user: str | Sequence[str] | Policy | Callable[..., Any] | None = None,
    user_sampling: Sampling | None = None,
    user_kwargs: Mapping[str, Any] | None = None,
) -> Outcomes:
    """Play `n` rollouts of every task and return their outcomes.

    `run` blocks; `run_async` is the same for callers with an event loop of their own.

        >>> from agentenvs.harness import run
        >>> outcomes = run("BFCLv4", "scripted:wide", tasks="mini", n=4, out="runs/wide")

    With `out`, every finished rollout is in the folder when its slot is used again, and the
    same call goes on where an earlier one was stopped, by a kill too. What comes out depends
    on the settings alone and not on `concurrency`, on timing, or on how often it was stopped,
    as far as the policy itself answers a request the same way each time.

    Args:
        env_id: an environment's id; the `agentenvs/` prefix and `-v0` may be left out.
        policy: a spec such as "random" or "hf:FOLDER", a `Policy` (the caller closes it), or
            a function.
        tasks: a named set or a list of task ids; default the environment's own set.
        n: rollouts a task; in a folder it may be raised later.
        harness: "light" (light prompt, relaxed parser) or "none" (the benchmark's own prompt
            and decoding).
        seed: everything random is derived from it, the task and the rollout's index.
        sampler: sets each task's temperature, held for all its rollouts and turns, in place of
            `temperature`. It is asked once, before the first rollout, and updated once, with
            every task's outcomes, when the run is complete: a run that was stopped has not
            updated it, and one that is resumed counts every rollout once.
        out: the run folder; None keeps outcomes in memory only.
        prompt: "none", "light" or a `Prompt`, instead of the harness's.
        parser: "official", "native", "strict" or "relaxed", instead of the harness's.
        examples: worked examples in the light prompt, 0 to 4.
        temperature: sampling temperature; 0 is greedy.
        top_p: nucleus mass.
        max_tokens: most new tokens a reply.
        env_kwargs: further arguments of the environment.
        max_requests: ends a rollout as a failure after so many replies; default the
            environment's own limits alone.
        concurrency: how many rollouts are under way at a time; default 64, or 2 where each has
            a browser of its own.
        progress: True to show it on standard error, or a function called with a `Progress` as
            each rollout ends.
        transcripts: whether the folder keeps what was said.
        policy_kwargs: arguments for building the policy.
        user: who plays the user, in environments with a `user`: "scripted" or a list of
            recorded turns, or a policy (a spec, a `Policy`, or a function, given or named by a
            spec, from the messages as the user sees them to its words, which runs in a
            thread). A policy's requests are
            awaited like the agent's and hold up no other rollout; each rollout's user has seeds
            of its own. Default: what the environment takes by itself.
        user_sampling: how a policy's words as a user are drawn; default greedy, 256 tokens.
        user_kwargs: arguments for building the user's policy.

    Raises:
        UnknownName: no such environment, task set, task, policy, prompt or parser.
        BadArgument: an argument out of range.
        SettingsDiffer: the folder holds a run with other settings; says which.
        PolicyError: the policy could not be built or failed on a request. What is finished is
            kept; a failure of the infrastructure never counts as a failed rollout.
        RunError: an environment failed, or another process is writing to the folder.
    """
    _check_counts(n, concurrency, max_requests, seed)
    sampling = Sampling(temperature, top_p, max_tokens)
    partner, kwargs = _partner(user, user_sampling, user_kwargs, env_kwargs)
    chosen = arm(
        env_id,
        tasks=tasks,
        harness=harness,
        prompt=prompt,
        parser=parser,
        examples=examples,
        env_kwargs=kwargs,
    )
    building = dict(policy_kwargs or {})
    if isinstance(policy, str) and policy.startswith("scripted:") and chosen.task_options:
        building.setdefault("gold", chosen.gold)
    actor = make_policy(policy, **building)
    concurrency = concurrency or chosen.concurrency
    try:
        if actor.form not in FORMS:
            raise PolicyError(f"Expected a policy's `form` to be one of {FORMS}, got {actor.form}.")
        settings = {
            **chosen.describe(),
            "n": n,
            "seed": seed,
            "sampling": sampling.as_dict() | ({"temperature": None} if sampler else {}),
            "sampler": _describe_sampler(sampler),
            "max_requests": max_requests,
            "policy": {
                **actor.describe(),
                "name": actor.name,
                "form": actor.form,
                "scripted": actor.scripted,
            },
            "concurrency": concurrency,
            "transcripts": transcripts,
        }
        if partner is not None:
            settings["user"] = partner.describe()
            settings["env_kwargs"] = {**settings["env_kwargs"], "user": partner.policy.name}
        store = _Memory(settings) if out is None else RunFolder(out, settings, transcripts)
        try:
            temperatures = _temperatures(sampler, chosen.task_ids, store.done, temperature)
            jobs = _jobs(chosen, n, sampling, temperatures, store.done.keys())
            pool = Pool(
                chosen.make_env,
                actor,
                chosen.prompt,
                chosen.env_id,
                seed,
                max_requests,
                store.write,
                None if partner is None else partner.for_slot(chosen.env_id),
            )
            await _play(pool, list(jobs), concurrency, store, n * len(chosen.task_ids), progress)
        finally:
            store.close()
    finally:
        if actor is not policy:
            await actor.close()
        if partner is not None and partner.policy is not user:
            await partner.policy.close()
    outcomes = store.outcomes()
    if sampler is not None:
        counts = outcomes.counts()
        sampler.update(list(counts.task_ids), counts.c, counts.n)
    return outcomes


def _blocking(function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, R]:
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop()
            raise RunError("An event loop is running here: use `await run_async(...)`.")
        return asyncio.run(function(*args, **kwargs))

    call.__name__ = call.__qualname__ = "run"
    return call


run = _blocking(run_async)


def _partner(
    user: Any,
    sampling: Sampling | None,
    building: Mapping[str, Any] | None,
    env_kwargs: Mapping[str, Any] | None,
) -> tuple[PolicyUser | None, dict[str, Any]]:
    """Return the user, where a policy plays it, and the environment's arguments with it."""
    kwargs = dict(env_kwargs or {})
    by_policy = user is not None and user != "scripted" and not isinstance(user, list | tuple)
    if not by_policy and (sampling is not None or building):
        raise BadArgument(
            f"`user_sampling` and `user_kwargs` are for a policy as the user, got {user!r:.80}."
        )
    if user is None:
        return None, kwargs
    if "user" in kwargs:
        raise BadArgument("Give the user as `user` or within `env_kwargs`, not both.")
    if not by_policy:
        return None, {**kwargs, "user": user}
    settings = dict(building or {})
    named = isinstance(user, str) and user.startswith("callable:")
    if named or (callable(user) and not isinstance(user, Policy)):
        # A function may block; in a thread it holds up nobody else.
        settings = {"form": "chat", "threads": _USER_THREADS, **settings}
    played = PolicyUser(make_policy(user, **settings), sampling or _USER_SAMPLING)
    if played.policy.form not in FORMS:
        form = played.policy.form
        raise PolicyError(f"Expected a policy's `form` to be one of {FORMS}, got {form}.")
    return played, {**kwargs, "user": played}


class _Memory:
    """Keeps outcomes in memory; the stand-in for a folder."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.done = Outcomes()
        self._settings = settings
        self._rows: list[dict[str, Any]] = []

    def write(self, episode: Episode, fields: Mapping[str, Any]) -> None:
        row = {"task_id": episode.task, "rollout": episode.rollout, "success": episode.success}
        self._rows.append({**row, **fields})

    def close(self) -> None:
        """Nothing to close."""

    def outcomes(self) -> Outcomes:
        return Outcomes(self._rows, self._settings)


async def _play(
    pool: Pool,
    jobs: Sequence[Job],
    concurrency: int,
    store: _Memory | RunFolder,
    total: int,
    choice: bool | Callable[[Progress], Any],
) -> None:
    done = len(store.done)
    successes = sum(store.done.column("success"))
    state = Progress(total, done, done, successes, 0, time.perf_counter())
    shown = reporter(choice)
    shown.start(state)
    note = ""
    try:
        await pool.play(jobs, max(1, min(concurrency, len(jobs))), state, shown)
    except BaseException:
        note = f"Stopped with {state.done} of {state.total} rollouts done."
        if isinstance(store, RunFolder):
            note += " The same command goes on from there."
        raise
    finally:
        shown.stop(state, note)


def _check_counts(n: int, concurrency: int | None, max_requests: int | None, seed: int) -> None:
    limits = {"n": n, "concurrency": concurrency, "max_requests": max_requests}
    for name, value in limits.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadArgument(f"Expected `{name}` to be an int, got {value!r}.")
        if value < 1:
            raise BadArgument(f"Expected `{name}` to be at least 1, got {value}.")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise BadArgument(f"Expected `seed` to be an int, got {seed!r}.")


def _describe_sampler(sampler: Sampler | None) -> dict[str, Any] | None:
    if sampler is None:
        return None
    describe = getattr(sampler, "describe", None)
    return {"name": type(sampler).__name__, **(describe() if callable(describe) else {})}


def _temperatures(
    sampler: Sampler | None, task_ids: Sequence[str], done: Outcomes, default: float
) -> dict[str, float]:
    """Return each task's temperature; a group that was begun keeps the one it had."""
    if sampler is None:
        return dict.fromkeys(task_ids, default)
    drawn = np.asarray(sampler.temperatures(list(task_ids)), dtype=np.float64)
    if drawn.shape != (len(task_ids),):
        raise BadArgument(
            f"Expected the sampler to give {len(task_ids)} temperatures, got shape {drawn.shape}."
        )
    temperatures = dict(zip(task_ids, drawn.tolist(), strict=True))
    if len(done):
        pairs = zip(done.column("task_id"), done.column("temperature"), strict=True)
        temperatures.update((task, held) for task, held in pairs if held is not None)
    return temperatures


def _jobs(
    chosen: Arm,
    n: int,
    sampling: Sampling,
    temperatures: Mapping[str, float],
    done: set[tuple[str, int]],
) -> Iterator[Job]:
    for task in chosen.task_ids:
        own = Sampling(temperatures[task], sampling.top_p, sampling.max_tokens)
        for rollout in range(n):
            if (task, rollout) not in done:
                yield Job(task, rollout, own)
