"""The 2 x 2: two models, each with the benchmark's own prompt and with the light harness."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument, UnknownName, did_you_mean
from agentenvs.harness.ablation.result import Ablation, compared
from agentenvs.harness.ablation.settings import ARMS, harness_of, model_of, refuse
from agentenvs.harness.arms import arm as arm_of
from agentenvs.harness.blocking import blocking
from agentenvs.harness.exchange import Sampling
from agentenvs.harness.outcomes import Outcomes, read_settings
from agentenvs.harness.policies.base import Policy, make_policy
from agentenvs.harness.progress import Progress
from agentenvs.harness.rollout import run_async
from agentenvs.harness.store.folder import versions
from agentenvs.harness.task_facts import AUTO

__all__ = ["ablate", "ablate_async"]

_Policy = str | Policy | Callable[..., Any]
_Reused = str | os.PathLike[str] | Outcomes
# Each arm's own, or no part of a comparison of arms that are asked alike.
_NOT_SHARED = ("group", "harness", "parser", "policy", "policy_kwargs", "prompt", "sampler")


async def ablate_async(
    env_id: str | None = None,
    base: _Policy | None = None,
    post: _Policy | None = None,
    *,
    tasks: str | Sequence[str] | None = None,
    n: int = 8,
    out: str | os.PathLike[str] | None = None,
    arms: Mapping[str, _Reused] | None = None,
    examples: int = 0,
    base_kwargs: Mapping[str, Any] | None = None,
    post_kwargs: Mapping[str, Any] | None = None,
    K: int | None = None,  # noqa: N803
    confidence: float = 0.95,
    clusters: str = AUTO,
    anyway: bool = False,
    common: bool = False,
    progress: bool | Callable[[str, Progress], Any] = False,
    **shared: Any,
) -> Ablation:
    """Run or reuse the four arms of two models and two harnesses, and compare them.

    `ablate` blocks; `ablate_async` is the same for callers with an event loop of their own.

        >>> from agentenvs.harness import ablate
        >>> found = ablate("BFCLv4", "scripted:wide", "scripted:narrow", tasks="mini", n=4)
        >>> found.measures.pass_1.harness.value
        0.0

    All arms play the same tasks with the same seeds and the same sampling. With `out`, each is an
    ordinary run folder there, `base-none` to `post-light`; the same call goes on where an earlier
    one was stopped, and plays nothing that is there already.

    Args:
        env_id: the environment; not needed where no arm is to be played.
        base: the policy before post-training: a spec, a `Policy` (the caller closes it) or a
            function. None where both of its arms are there: in `arms`, or as folders in `out`.
        post: the policy after it, or the second of two.
        tasks: a named set or a list of task ids, as for `run`.
        n: rollouts a task.
        out: a folder for the four run folders; None keeps outcomes in memory only.
        arms: arm -> run folder, file of JSON lines or `Outcomes` to be used in its place.
        examples: worked examples in the light prompt, 0 to 4.
        base_kwargs: arguments for building the base policy.
        post_kwargs: arguments for building the post-trained policy.
        K: the budget of pass@K and S(K); default half of the rollouts of the task that has
            fewest, where n rollouts say most, or 2 where there are fewer than 4.
        confidence: what each interval aims at.
        clusters: which tasks hang together: "auto" as the environment knows them, "none", or a
            file, as for `agentenvs tax`.
        anyway: compare arms that were not asked alike, with a warning for each difference,
            instead of refusing.
        common: compare on the tasks and rollouts that all four arms have, where some lack some;
            tasks may then have unequal n. Says so in the warnings.
        progress: True to show it on standard error, or a function called with the arm's name and
            a `Progress` as each rollout ends.
        shared: anything else that `run` takes, the same for all arms that are played: `seed`,
            `temperature`, `max_tokens`, `env_kwargs`, `concurrency`, `user`, `retries`, ...

    Raises:
        SettingsDiffer: two arms differ in what should be alike (says in what), or a folder in
            `out` holds a run with other settings.
        BadArgument: an arm that is neither there nor can be played, arms over different tasks,
            or `K` beyond the smallest n.
        UnknownName: no such arm; or as `run`.
        RunError: an arm lacks every rollout of some task, and not `common`; or none is in all.
        AgentEnvsError: as `run`. Arms that are finished stay.
    """
    given = _given(arms, out, {"base": base, "post": post})
    for name in _NOT_SHARED:
        if name in shared:
            raise BadArgument(f"`{name}` is no setting that all four arms can share.")
    to_play = [name for name in ARMS if name not in given]
    shared["tasks"] = tasks
    planned: dict[str, dict[str, Any]] = {}
    if to_play:
        if env_id is None:
            raise BadArgument(f"Expected an environment to play {', '.join(to_play)} in.")
        if given:
            planned = {name: _plan(env_id, name, examples, n, shared) for name in to_play}
            if not common:
                _same_tasks(given, planned[to_play[0]]["task_ids"])
    refuse({name: known.settings for name, known in given.items()}, planned, anyway)
    for model, policy, kwargs in (("base", base, base_kwargs), ("post", post, post_kwargs)):
        mine = [name for name in to_play if model_of(name) == model]
        if not mine or policy is None or env_id is None:
            continue
        async with _built(policy, kwargs, shared, len(mine)) as (actor, building):
            for name in mine:
                given[name] = await run_async(
                    env_id,
                    actor,
                    n=n,
                    harness=harness_of(name),
                    examples=examples if harness_of(name) == "light" else 0,
                    out=None if out is None else Path(out) / name,
                    policy_kwargs=building,
                    progress=_shown(name, progress),
                    **shared,
                )
                if out is None:
                    given[name].settings["history"] = [{"versions": versions()}]
    ordered = {name: given[name] for name in ARMS}
    return compared(ordered, K, confidence, clusters, anyway, common)


ablate = blocking(ablate_async)


def _given(
    arms: Mapping[str, _Reused] | None,
    out: str | os.PathLike[str] | None,
    policies: Mapping[str, _Policy | None],
) -> dict[str, Outcomes]:
    """Return the arms that are there: those that were named, and those of a model not given."""
    named = dict(arms or {})
    for name in named:
        if name not in ARMS:
            raise UnknownName(f"There is no arm {name!r}.{did_you_mean(name, ARMS)}")
    found = {}
    for name in ARMS:
        source = named.get(name)
        if source is None:
            if policies[model_of(name)] is not None:
                continue
            model = model_of(name)
            source = None if out is None else Path(out) / name
            if source is None or read_settings(source) is None:
                raise BadArgument(
                    f"The arm {name} is not there{'' if out is None else f' in {out}'}: give the "
                    f"policy `{model}` to play it, or its run as an arm ({name}=RUN)."
                )
        found[name] = source if isinstance(source, Outcomes) else Outcomes.load(source)
        if not len(found[name]):
            raise BadArgument(f"The arm {name} has no outcomes ({source}).")
    return found


def _plan(
    env_id: str, name: str, examples: int, n: int, shared: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings that an arm will record, as far as no policy is needed to know them."""
    chosen = arm_of(
        env_id,
        tasks=shared["tasks"],
        harness=harness_of(name),
        examples=examples if harness_of(name) == "light" else 0,
        env_kwargs=shared.get("env_kwargs"),
    )
    known = chosen.describe()
    if shared.get("user") is not None:
        known["env_kwargs"].pop("user", None)
    drawn = {key: shared[key] for key in ("temperature", "top_p", "max_tokens") if key in shared}
    return {
        **known,
        "n": n,
        "seed": shared.get("seed", 0),
        "sampling": Sampling(**drawn).as_dict(),
        "max_requests": shared.get("max_requests"),
    }


def _same_tasks(given: Mapping[str, Outcomes], wanted: Sequence[str]) -> None:
    """Refuse arms that are there for other tasks, before hours go into the others."""
    for name, arm in given.items():
        have = set(arm.settings.get("task_ids") or arm.task_ids)
        lacks, more = set(wanted) - have, have - set(wanted)
        if lacks or more:
            raise BadArgument(
                f"The arm {name} is over other tasks than `tasks` says: {len(lacks)} of "
                f"{len(wanted)} are not in it, {len(more)} are in it alone."
            )


@contextlib.asynccontextmanager
async def _built(
    policy: _Policy, kwargs: Mapping[str, Any] | None, shared: Mapping[str, Any], arms: int
) -> AsyncIterator[tuple[_Policy, Mapping[str, Any] | None]]:
    """Give a policy, with arguments for building it; a model is loaded once for both arms."""
    scripted = isinstance(policy, str) and policy.startswith("scripted:")
    elsewhere = shared.get("engine", "local") != "local"
    if not isinstance(policy, str) or scripted or elsewhere or arms < 2:
        # A run gives scripts their solutions, and sends a spec to where it is played.
        yield policy, kwargs
        return
    actor = make_policy(policy, **(kwargs or {}))
    try:
        yield actor, None
    finally:
        await actor.close()


def _shown(
    name: str, progress: bool | Callable[[str, Progress], Any]
) -> bool | Callable[[Progress], Any]:
    if not callable(progress):
        if progress:
            sys.stderr.write(f"{name} ({ARMS.index(name) + 1} of {len(ARMS)})\n")
        return progress
    return functools.partial(progress, name)
