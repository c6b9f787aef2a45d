"""The vectorized runner: n rollouts of every task, recorded, resumable, in any order alike."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentenvs.errors import BadArgument, UnknownName, did_you_mean
from agentenvs.harness.blocking import blocking
from agentenvs.harness.exchange import Sampling
from agentenvs.harness.groups import Groups, Sampler, describe_sampler, unchanged_by_failure
from agentenvs.harness.jobs import Engine
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.playing import Cast, Playing
from agentenvs.harness.policies.base import Policy
from agentenvs.harness.policies.callable import CallablePolicy
from agentenvs.harness.progress import Progress, reporter
from agentenvs.harness.prompts import Prompt
from agentenvs.harness.records import Played, Void
from agentenvs.harness.store.folder import Memory, RunFolder

__all__ = ["run", "run_async"]

ENGINES = ("local", "ray")


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
    retries: int = 2,
    engine: str = "local",
    engine_kwargs: Mapping[str, Any] | None = None,
    rollouts: tuple[int, int] | None = None,
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
        retries: how many more times a rollout is tried, from its start, that a fault of the
            infrastructure ended (`InfrastructureFault`, `TimeoutError` or `ConnectionError`, out
            of a policy or the environment). After that it stays open: it has no outcome, the
            run goes on, and the same call on the same folder tries it again. The void tries are
            in `Outcomes.voids`, the open rollouts in `Outcomes.open`.
        engine: "local" plays in this process, "ray" spreads the rollouts over a Ray cluster.
        engine_kwargs: arguments for building the engine.
        rollouts: plays a part, rollouts `first` to `after - 1` of every task for `(first,
            after)`, as one machine's share of the `n`; `merge_runs` joins the folders of several.
            The others stay open. Not with a sampler.

    Raises:
        UnknownName: no such environment, task set, task, policy, prompt or parser.
        BadArgument: an argument out of range.
        SettingsDiffer: the folder holds a run with other settings, or rollouts at temperatures
            that the sampler does not give; says which.
        PolicyError: the policy could not be built or failed on a request. What is finished is
            kept; a failure of the infrastructure never counts as a failed rollout.
        RunError: an environment failed, another process is writing to the folder, many
            rollouts in a row came to no verdict, or one stayed open in a round of a sampler.
    """
    _check_counts(n, concurrency, max_requests, seed, retries)
    if engine not in ENGINES:
        raise UnknownName(f"There is no engine {engine!r}.{did_you_mean(engine, ENGINES)}")
    if engine == "local" and engine_kwargs:
        told = f"{min(engine_kwargs)!r}"
        raise BadArgument(f"The engine 'local' takes no arguments, got {told}.")
    sampling = Sampling(temperature, top_p, max_tokens)
    playing = Playing(
        env_id,
        policy,
        tasks,
        harness,
        prompt,
        parser,
        examples,
        env_kwargs,
        policy_kwargs,
        user,
        user_sampling,
        user_kwargs,
        seed,
        max_requests,
        retries,
        concurrency,
    )
    cast = playing.cast()
    try:
        groups = Groups(cast.arm.task_ids, n, sampling, sampler, group, rollouts)
        settings = {
            **cast.describe(),
            "n": n,
            "sampling": sampling.as_dict(),
            "sampler": None,
            "engine": engine,
            "rollouts": None if rollouts is None else list(rollouts),
            "transcripts": transcripts,
        }
        if sampler is not None:
            if isinstance(cast.policy, CallablePolicy) and not cast.policy.request:
                warnings.warn(
                    "The policy is a function of the conversation alone, so that the sampler's "
                    "temperatures do not reach it. With policy_kwargs={'request': True} it gets "
                    "the whole Request, with its `temperature`.",
                    stacklevel=2,
                )
            settings["sampling"]["temperature"] = None
            settings |= {"sampler": describe_sampler(sampler), "group": groups.size}
        store = Memory(settings) if out is None else RunFolder(out, settings, transcripts)

        def keep(played: Played) -> None:
            store.write(played)
            groups.note(played.task, played.rollout, played.success)

        with unchanged_by_failure(sampler), contextlib.closing(store):
            groups.take(store.done)
            players = _engine(engine, cast, keep, store.void, engine_kwargs)
            with contextlib.closing(players):
                await _play(players, groups, cast, store, progress)
    finally:
        await cast.close()
    return store.outcomes()


def _engine(
    name: str,
    cast: Cast,
    keep: Callable[[Played], None],
    void: Callable[[Void], None],
    building: Mapping[str, Any] | None,
) -> Engine:
    """Return what plays the rollouts."""
    if name == "ray":
        module = importlib.import_module("agentenvs.harness.ray.engine")
        made: Engine = module.make(cast, keep, void, building or {})
        return made
    return cast.pool(keep, void)


run = blocking(run_async)


async def _play(
    players: Engine,
    groups: Groups,
    cast: Cast,
    store: Memory | RunFolder,
    choice: bool | Callable[[Progress], Any],
) -> None:
    done = len(store.done)
    successes = sum(store.done.column("success"))
    state = Progress(groups.total, done, done, successes, 0, time.perf_counter())
    shown = reporter(choice)
    shown.start(state)
    note = ""
    try:
        for number in range(groups.rounds):
            if jobs := groups.begin(number):
                await players.play(jobs, min(cast.concurrency, len(jobs)), state, shown)
            groups.end(number)
        if missing := state.total - state.done:
            note = f"{missing} of {state.total} rollouts came to no verdict and stay open."
    except BaseException:
        note = f"Stopped with {state.done} of {state.total} rollouts done."
        if isinstance(store, RunFolder):
            note += " The same command goes on from there."
        raise
    finally:
        shown.stop(state, note)


def _check_counts(
    n: int, concurrency: int | None, max_requests: int | None, seed: int, retries: int
) -> None:
    limits = {
        "n": (n, 1),
        "concurrency": (concurrency, 1),
        "max_requests": (max_requests, 1),
        "retries": (retries, 0),
    }
    for name, (value, least) in limits.items():
        if value is None and name != "retries":
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadArgument(f"Expected `{name}` to be an int, got {value!r}.")
        if value < least:
            raise BadArgument(f"Expected `{name}` to be at least {least}, got {value}.")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise BadArgument(f"Expected `seed` to be an int, got {seed!r}.")
