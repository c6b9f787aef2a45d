"""What `agentenvs ablate` does."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentenvs.harness import terminal
from agentenvs.harness.ablation.settings import ARMS
from agentenvs.harness.plain_data import finite
from agentenvs.harness.task_facts import AUTO

__all__ = ["add_to"]

_EPILOG = """\
examples:
  agentenvs ablate BFCLv4 --tasks mini --base scripted:wide --post scripted:narrow -n 16 \\
      --out runs/ablation
  agentenvs ablate BFCLv4 --tasks base --base hf:BASE --post hf:POST -n 64 --max-tokens 256 \\
      --arm base-light=runs/base --out runs/ablation
  agentenvs ablate --out runs/ablation --K 4

The same command again finishes what is missing. Without --base or --post, the arms of that model
are read from DIR or from --arm.
"""


def add_to(
    verbs: Any,
    positive: Callable[[str], int],
    fraction: Callable[[str], float],
    key_value: Callable[[str], tuple[str, Any]],
) -> None:
    """Add the verb to the command."""
    sub = verbs.add_parser(
        "ablate",
        help="two models by two harnesses: what each does, and whether one hangs on the other",
        description="Run or reuse four arms, two models (base, post) by two harnesses (none, "
        "light), on the same tasks and seeds, and compare them: model effect, harness effect and "
        "interaction on pass@1, pass@K and S(K), how replies were read, why rollouts failed.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.add_argument("env_id", metavar="ENV", nargs="?", help="an environment, such as BFCLv4")
    sub.add_argument("--base", metavar="POLICY", help="before post-training; see `agentenvs list`")
    sub.add_argument("--post", metavar="POLICY", help="after it, or the second of two models")
    sub.add_argument("--tasks", metavar="SET", help="a task set, a task, or several with commas")
    sub.add_argument("-n", type=positive, default=8, help="rollouts a task (default: %(default)s)")
    sub.add_argument(
        "--out", metavar="DIR", help="keeps each arm as a run folder, DIR/base-none ..."
    )
    sub.add_argument(
        "--arm",
        metavar="ARM=RUN",
        type=_arm,
        action="append",
        default=[],
        help=f"use this run folder in place of an arm: {', '.join(ARMS)}",
    )
    sub.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    sub.add_argument("--temperature", type=float, default=1.0, help="default: %(default)s")
    sub.add_argument("--top-p", type=float, default=1.0, help="default: %(default)s")
    sub.add_argument(
        "--max-tokens",
        type=positive,
        default=512,
        help="new tokens a reply (default: %(default)s)",
    )
    sub.add_argument(
        "--max-requests", type=positive, help="end an episode as failed after so many replies"
    )
    sub.add_argument(
        "--examples", type=int, default=0, help="worked examples in the light prompt, 0 to 4"
    )
    for option, what in (
        ("--env", "an argument of the environment, such as docs=compact"),
        ("--base-arg", "an argument of the base policy, such as dtype=bfloat16"),
        ("--post-arg", "an argument of the post-trained policy"),
    ):
        sub.add_argument(
            option, metavar="KEY=VALUE", type=key_value, action="append", default=[], help=what
        )
    sub.add_argument(
        "--concurrency", type=positive, help="live episodes (default: 64; 2 with a browser)"
    )
    sub.add_argument(
        "-K",
        "--K",
        "--k",
        dest="budget",
        metavar="K",
        type=positive,
        help="the budget of pass@K and S(K) (default: half of the rollouts a task)",
    )
    sub.add_argument(
        "--confidence", type=fraction, default=0.95, help="of the intervals (default: %(default)s)"
    )
    sub.add_argument(
        "--clusters",
        default=AUTO,
        metavar="auto|none|FILE",
        help="tasks that hang together, which widens intervals (default: as the environment "
        "knows them)",
    )
    sub.add_argument(
        "--anyway",
        action="store_true",
        help="compare arms that were not asked alike, with a warning for each difference",
    )
    sub.add_argument(
        "--common",
        action="store_true",
        help="compare on the tasks and rollouts that all arms have, where some lack some",
    )
    sub.add_argument(
        "--json", metavar="FILE", help="write everything as JSON; - prints it instead of text"
    )
    sub.add_argument("--no-transcripts", action="store_true", help="keep the outcomes alone")
    sub.add_argument("--quiet", action="store_true", help="no progress on standard error")
    sub.set_defaults(call=_ablate)


def _arm(text: str) -> tuple[str, str]:
    name, sep, run = text.partition("=")
    if not sep or not run or name not in ARMS:
        raise argparse.ArgumentTypeError(
            f"expected ARM=RUN with an arm of {', '.join(ARMS)}, got {text!r}"
        )
    return name, run


def _ablate(args: argparse.Namespace) -> int:
    """Run or reuse the arms and print what came out."""
    from agentenvs.harness.ablation.ablate import ablate

    found = ablate(
        args.env_id,
        args.base,
        args.post,
        tasks=_tasks(args.tasks),
        n=args.n,
        out=args.out,
        arms=dict(args.arm),
        examples=args.examples,
        base_kwargs=dict(args.base_arg),
        post_kwargs=dict(args.post_arg),
        K=args.budget,
        confidence=args.confidence,
        clusters=args.clusters,
        anyway=args.anyway,
        common=args.common,
        progress=not args.quiet,
        seed=args.seed,
        temperature=args.temperature,
        top_p=args.top_p,
        max_tokens=args.max_tokens,
        max_requests=args.max_requests,
        env_kwargs=dict(args.env),
        concurrency=args.concurrency,
        transcripts=not args.no_transcripts,
    )
    if args.json == "-":
        terminal.say_json(found.to_dict())
        return 0
    if args.json:
        text = json.dumps(finite(found.to_dict()), indent=2)
        Path(args.json).write_text(text + "\n", "utf-8")
    console = terminal.console()
    found.render(console)
    if args.out:
        console.print(f"run folders: {args.out}", soft_wrap=True, markup=False)
    return 0


def _tasks(text: str | None) -> str | list[str] | None:
    if text is None or "," not in text:
        return text
    return [part.strip() for part in text.split(",") if part.strip()]
