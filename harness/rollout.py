"""The vectorized runner: n rollouts of every task, recorded, resumable, in any order alike."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import time
import warnings
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from agentenvs.errors import BadArgument, PolicyError, RunError
from agentenvs.harness.arms import arm
from agentenvs.harness.episode import Episode
from agentenvs.harness.exchange import Sampling
from agentenvs.harness.folder import Memory, RunFolder
from agentenvs.harness.groups import Groups, Sampler, describe_sampler, unchanged_by_failure
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.policies.base import Policy, make_policy
from agentenvs.harness.policies.callable import CallablePolicy
from agentenvs.harness.policies.user import make_user
from agentenvs.harness.pool import Pool
from agentenvs.harness.progress import Progress, reporter
from agentenvs.harness.prompts import FORMS, Prompt

__all__ = ["run", "run_async"]

P = ParamSpec("P")
R = TypeVar("R")


async def run_async(
    env_id: str,
    policy: str | Policy | Callable[..., Any],
    *,
    tasks: str | Sequence[str] | None = None,
    n: int = 1,
    harness: str = "light",
    seed: int = 0,
    sampler: Sampler | None = None,
    group: int | None = None,
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
        sampler: gives each group of a task's rollouts its temperature, in place of
            `temperature`, and learns from what came of it; see `Sampler`. It is asked for all
            tasks as a round begins, and told all outcomes of the round when the last has ended,
            before anything else is done with them. A run that goes on in a folder tells it the
            complete rounds from there, so it must be given as it was when the run began; a run
            that fails leaves it so.
        group: rollouts a group, one temperature each; `n` must be a multiple of it. Group g is
            rollouts g * group to (g + 1) * group - 1, and round g is group g of every task.
            Default one round of all `n`.
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
        SettingsDiffer: the folder holds a run with other settings, or rollouts at temperatures
            that the sampler does not give; says which.
        PolicyError: the policy could not be built or failed on a request. What is finished is
            kept; a failure of the infrastructure never counts as a failed rollout.
        RunError: an environment failed, or another process is writing to the folder.
    """
    _check_counts(n, concurrency, max_requests, seed)
    sampling = Sampling(temperature, top_p, max_tokens)
    partner, kwargs = make_user(user, user_sampling, user_kwargs, env_kwargs)
    chosen = arm(
        env_id,
        tasks=tasks,
        harness=harness,
        prompt=prompt,
        parser=parser,
        examples=examples,
        env_kwargs=kwargs,
    )
    groups = Groups(chosen.task_ids, n, sampling, sampler, group)
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
            "sampling": sampling.as_dict(),
            "sampler": None,
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
        if sampler is not None:
            if isinstance(actor, CallablePolicy) and not actor.request:
                warnings.warn(
                    "The policy is a function of the conversation alone, so that the sampler's "
                    "temperatures do not reach it. With policy_kwargs={'request': True} it gets "
                    "the whole Request, with its `temperature`.",
                    stacklevel=2,
                )
            settings["sampling"]["temperature"] = None
            settings |= {"sampler": describe_sampler(sampler), "group": groups.size}
        if partner is not None:
            settings["user"] = partner.describe()
            settings["env_kwargs"] = {**settings["env_kwargs"], "user": partner.policy.name}
        store = Memory(settings) if out is None else RunFolder(out, settings, transcripts)

        def keep(episode: Episode, fields: Mapping[str, Any]) -> None:
            store.write(episode, fields)
            groups.note(episode.task, episode.rollout, episode.success)

        pool = Pool(
            chosen.make_env,
            actor,
            chosen.prompt,
            chosen.env_id,
            seed,
            max_requests,
            keep,
            None if partner is None else partner.for_slot(chosen.env_id),
        )
        with unchanged_by_failure(sampler), contextlib.closing(store), contextlib.closing(pool):
            groups.take(store.done)
            await _play(pool, groups, concurrency, store, n * len(chosen.task_ids), progress)
    finally:
        if actor is not policy:
            await actor.close()
        if partner is not None and partner.policy is not user:
            await partner.policy.close()
    return store.outcomes()


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


async def _play(
    pool: Pool,
    groups: Groups,
    concurrency: int,
    store: Memory | RunFolder,
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
        for number in range(groups.rounds):
            if jobs := groups.begin(number):
                await pool.play(jobs, min(concurrency, len(jobs)), state, shown)
            groups.end(number)
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
