"""What each verb of the `agentenvs` command does; `cli` reads the arguments."""

from __future__ import annotations

import argparse
import math
import textwrap
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agentenvs import registry
from agentenvs.errors import BadArgument
from agentenvs.harness import terminal
from agentenvs.harness.ablation.arms import APART

if TYPE_CHECKING:
    from rich.console import Console

    from agentenvs.harness.outcomes import Outcomes

__all__ = [
    "play",
    "run_policy",
    "show_list",
    "summarise",
]


# Columns for a description, beside a name however long.
_LEAST_ROOM = 20
# How many reasons are named, and how much of each; the rest is summed.
_MOST_REASONS, _MOST_LETTERS = 5, 60


def show_list(env: str | None, tasks: str | None) -> int:
    """Print environments with their task sets, policies and samplers, or one set's task ids."""
    from agentenvs.harness.policies import POLICIES
    from agentenvs.harness.samplers import SAMPLERS

    if tasks is not None:
        if env is None:
            raise BadArgument("`--tasks` needs an environment: agentenvs list ENV --tasks SET")
        for task in registry.tasks(env, tasks):
            terminal.say(task)
        return 0
    worlds = registry.WORLDS.values() if env is None else [registry.world(env)]
    for world in worlds:
        sets = {
            name: text + (" (default)" if name == world.default_tasks else "")
            for name, text in registry.task_sets(world.id).items()
        }
        _show_kinds(f"{world.id}: {world.summary}", "task set", sets)
    if env is None:
        policies = {kind: text for kind, (_, _, text) in POLICIES.items()}
        _show_kinds("policies", "kind", policies)
        _show_kinds("samplers", "kind", {kind: text for kind, (_, _, text) in SAMPLERS.items()})
    return 0


def _show_kinds(title: str, head: str, kinds: Mapping[str, str]) -> None:
    """Print names, which are to be typed and so never cut, with what each is beside it."""
    console = terminal.console()
    gap = max(map(len, (head, *kinds))) + 2
    room = max(console.width - gap - 1, _LEAST_ROOM)
    lines = [*textwrap.wrap(title, console.width), f" {head:{gap}}what it is"]
    for name, text in kinds.items():
        first, *more = textwrap.wrap(text, room) or [""]
        lines += [f" {name:{gap}}{first}", *(f" {'':{gap}}{line}" for line in more)]
    for line in (*lines, ""):
        console.print(line.rstrip(), soft_wrap=True, markup=False)


def _tasks(text: str | None) -> str | list[str] | None:
    if text is None or "," not in text:
        return text
    return [part.strip() for part in text.split(",") if part.strip()]


def run_policy(args: argparse.Namespace) -> int:
    """Roll out a policy and print what came out."""
    from agentenvs.harness.rollout import run
    from agentenvs.harness.samplers import make_sampler

    sampler = None if args.sampler is None else make_sampler(args.sampler, seed=args.seed)
    outcomes = run(
        args.env_id,
        args.policy,
        tasks=_tasks(args.tasks),
        n=args.n,
        harness=args.harness,
        prompt=args.prompt,
        parser=args.parser,
        examples=args.examples,
        seed=args.seed,
        sampler=sampler,
        group=args.group,
        out=args.out,
        temperature=args.temperature,
        top_p=args.top_p,
        max_tokens=args.max_tokens,
        max_requests=args.max_requests,
        concurrency=args.concurrency,
        retries=args.retries,
        engine=args.engine,
        engine_kwargs=dict(args.engine_arg),
        rollouts=args.rollouts,
        env_kwargs=dict(args.env),
        policy_kwargs=dict(args.policy_arg),
        user=args.user,
        user_kwargs=dict(args.user_arg),
        transcripts=not args.no_transcripts,
        progress=not args.quiet,
    )
    console = terminal.console()
    summarise(outcomes, console, args.out)
    if sampler is not None:
        told = sampler.stats().items()
        values = ", ".join(f"{key} {value:.4g}" for key, value in told if "/" not in key)
        console.print(f"sampler: {values}", soft_wrap=True, markup=False)
    return 1 if _left(outcomes) else 0


def summarise(outcomes: Outcomes, console: Console, out: str | None = None) -> None:
    """Print how rollouts came out and why, pass@1 and pass@n, and how replies were read."""
    if len(outcomes):
        _show_measures(outcomes, console)
    kinds = outcomes.kinds()
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    console.print(f"rollouts: {told or 'none came to a verdict'}", soft_wrap=True)
    _show_reasons(outcomes, console)
    _show_voids(outcomes, console, out)
    if out:
        console.print(f"run folder: {out}", soft_wrap=True, markup=False)


def _left(outcomes: Outcomes) -> int:
    """Return how many rollouts of what was to be played are open."""
    part = outcomes.settings.get("rollouts")
    if part is None:
        return len(outcomes.open)
    return sum(part[0] <= rollout < part[1] for _, rollout in outcomes.open)


def _show_voids(outcomes: Outcomes, console: Console, out: str | None) -> None:
    voids, missing = outcomes.voids, _left(outcomes)
    left = ""
    if missing:
        again = (
            "the same command tries them again" if out else "with --out they could be tried again"
        )
        are = "rollout is" if missing == 1 else "rollouts are"
        left = f"{missing} {are} still open; {again}"
    if voids:
        reasons = Counter(row["reason"] for row in voids).most_common()
        told = ", ".join(f"{count} {reason}" for reason, count in reasons)
        tries = "try" if len(voids) == 1 else "tries"
        came = left or "every one was played again"
        console.print(f"voids: {len(voids)} {tries} ({told}); {came}", soft_wrap=True, markup=False)
    elif left:
        console.print(left, soft_wrap=True)


def _show_measures(outcomes: Outcomes, console: Console) -> None:
    from agentenvs.harness.task_facts import clusters_of
    from agentenvs.harness.tax import pass_at_k_interval

    counts = outcomes.counts()
    clusters, _ = clusters_of(outcomes.settings, counts.task_ids)
    labels = None if clusters is None else [clusters[name] for name in counts.task_ids]
    tasks = len(counts.task_ids)
    if outcomes.scripted:
        console.print("scripted policy: these numbers describe the script, not a model")
    least = int(counts.n.min())
    for k in sorted({1, least}):
        found = pass_at_k_interval(counts.c, counts.n, k, clusters=labels)
        spread = f"{found.low:.4f} to {found.high:.4f}"
        mark = " *" if k > 1 else ""
        console.print(f"pass@{k}{mark}: {found.value:.4f} (95 % interval {spread})")
    if least > 1:
        console.print("* high variance: K is more than half of the rollouts; n = 2K is enough.")
    console.print(
        f"{int(counts.c.sum())} of {int(counts.n.sum())} rollouts on {_tasks_of(tasks)} solved"
    )
    _show_lacking(outcomes, tasks, least, console)
    scores = [score or 0.0 for score in outcomes.column("score")]
    if not set(scores) <= {0.0, 1.0}:
        console.print(f"mean score: {math.fsum(scores) / len(scores):.4f}")
    parse = outcomes.parse_totals()
    replies = sum(parse.get(key, 0) for key in ("calls", "words", "malformed"))
    if replies:
        kinds = ", ".join(f"{parse.get(key, 0)} {key}" for key in ("calls", "words", "malformed"))
        rescued = parse.get("rescued", 0)
        note = f"; {rescued} rescued by the relaxed parser" if rescued else ""
        console.print(f"replies: {kinds}{note}", soft_wrap=True)
    if cut := parse.get("cut", 0):
        sampling = outcomes.settings.get("sampling")
        most = sampling.get("max_tokens") if isinstance(sampling, Mapping) else None
        where = "as their tokens ran out" if most is None else f"at {most} tokens"
        was, all_of = "was" if cut == 1 else "were", replies or sum(outcomes.column("steps"))
        console.print(f"{cut} of {all_of} replies {was} cut {where}", soft_wrap=True)


def _show_lacking(outcomes: Outcomes, tasks: int, least: int, console: Console) -> None:
    """Say which tasks are in no number, and what bounds K, where rollouts are missing."""
    planned, n = outcomes.settings.get("task_ids"), outcomes.settings.get("n")
    if not isinstance(planned, list | tuple) or type(n) is not int:
        return
    first, after = outcomes.part or (0, n)
    told = []
    if missing := len(set(planned)) - tasks:
        verb, are = ("has", "is") if missing == 1 else ("have", "are")
        told.append(
            f"{missing} of {_tasks_of(len(set(planned)))} {verb} no verdict and {are} in no number"
        )
    if least < after - first:
        told.append(
            f"the least-played task has {least} of {after - first} rollouts, "
            f"so that K ends at {least}"
        )
    if told:
        console.print(f"{'; '.join(told)}.", soft_wrap=True)


def _show_reasons(outcomes: Outcomes, console: Console) -> None:
    """Print why rollouts failed, those that were cut short apart."""
    reasons = Counter(
        str(row.get("reason") or "no reason given") for row in outcomes if not row["success"]
    )
    short = {reason: reasons.pop(reason, 0) for reason in APART}
    ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    shown = ranked if len(ranked) <= _MOST_REASONS else ranked[: _MOST_REASONS - 1]
    told = [f"{count} {_short(reason)}" for reason, count in shown]
    if rest := ranked[len(shown) :]:
        told.append(f"{sum(count for _, count in rest)} for {len(rest)} other reasons")
    if told:
        console.print(f"failed: {', '.join(told)}", soft_wrap=True, markup=False)
    cut = [f"{count} {reason} ({APART[reason]})" for reason, count in short.items() if count]
    if cut:
        console.print(f"cut short, which counts as failed: {', '.join(cut)}", soft_wrap=True)


def _short(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _MOST_LETTERS else f"{line[: _MOST_LETTERS - 3]}..."


def _tasks_of(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"


def play(args: argparse.Namespace) -> int:
    """Let a person act in the terminal."""
    from agentenvs.harness.play import play_episode

    return play_episode(
        args.env_id,
        tasks=_tasks(args.tasks),
        task=args.task,
        harness=args.harness,
        examples=args.examples,
        seed=args.seed,
        env_kwargs=dict(args.env),
        console=terminal.console(),
    )
