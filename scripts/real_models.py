"""Let small language models play, and print one table: scripts/real-models MODELS.

MODELS is the folder that scripts/models made. Each model plays `mini` and three official tasks of
--env (for WebShop from the catalog that --catalog names) under the benchmark's own prompt (none),
the light prompt (light), and the light prompt with two worked examples (light+2). Stopped at any
time, the same command goes on; arms that are complete are only read. On a machine that does other
work, set --threads 1.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: environment -> (official set, name of its limit)
ENVS = {
    "BFCLv4": ("base", "max_steps_per_turn"),
    "WebShop": ("paper", "max_steps"),
    "ACEBench": ("agent", "max_messages"),
}
NAMES = ("gemma-3-270m", "smollm2-135m-instruct")
ARMS: dict[str, dict[str, Any]] = {
    "none": {"harness": "none"},
    "light": {"harness": "light"},
    "light+2": {"harness": "light", "examples": 2},
}
COLUMNS = (
    ("model", "<22"),
    ("tasks", "<9"),
    ("arm", "<8"),
    ("solved", ">9"),
    ("pass@1", ">7"),
    ("pass@n", ">7"),
    ("replies", ">8"),
    ("calls", ">6"),
    ("words", ">6"),
    ("malformed", ">9"),
    ("rescued", ">7"),
    ("tokens", ">8"),
    ("seconds", ">8"),
)


@dataclass(frozen=True)
class Play:
    """One row of the table: a model, a set of tasks, an arm, and the folder that keeps it."""

    model: str
    tasks: str
    arm: str
    folder: Path
    settings: dict[str, Any]


def plays(args: argparse.Namespace) -> Iterator[Play]:
    """Yield what is to be played, the small set first."""
    import agentenvs

    official_set, name_of_limit = ENVS[args.env]
    limit = {name_of_limit: args.max_steps}
    catalog = {"catalog": args.catalog} if args.catalog else {}
    official: list[str] = []
    if args.official and "official" in (args.tasks or ["official"]):
        official = agentenvs.tasks(args.env, official_set, **catalog)[: args.official]
    more = {"docs": "compact"} if args.env == "BFCLv4" else catalog
    mini = agentenvs.tasks(args.env, "mini")[: args.mini] if args.mini else "mini"
    sets = {
        "mini": {"tasks": mini, "n": args.n, "env_kwargs": limit},
        "official": {"tasks": official, "n": 2, "env_kwargs": {**limit, **more}},
    }
    for name in args.model or NAMES:
        for label in args.tasks or (sets if official else ["mini"]):
            for arm in args.arm or ARMS:
                folder = args.out / name / f"{label}-{arm}"
                yield Play(name, label, arm, folder, {**sets[label], **ARMS[arm]})


def play(item: Play, policy: Any, args: argparse.Namespace) -> None:
    """Play what is missing, and add the seconds that it took to those before."""
    from agentenvs.harness import run

    began = time.perf_counter()
    try:
        run(
            args.env,
            policy,
            seed=args.seed,
            out=item.folder,
            temperature=args.temperature,
            max_tokens=args.max_tokens,
            concurrency=args.concurrency,
            progress=args.progress,
            **item.settings,
        )
    finally:
        if item.folder.is_dir():
            clock = item.folder / "seconds.txt"
            spent = float(clock.read_text()) if clock.exists() else 0.0
            clock.write_text(f"{spent + time.perf_counter() - began:.1f}\n")


def done(item: Play) -> bool:
    """Tell whether a folder holds every rollout."""
    from agentenvs.errors import RunDamaged
    from agentenvs.harness.outcomes import Outcomes

    try:
        outcomes = Outcomes.load(item.folder)
    except RunDamaged:
        return False
    planned = outcomes.settings.get("task_ids", ())
    return len(outcomes) >= len(planned) * item.settings["n"] > 0


def row(item: Play) -> list[str]:
    """Return a line of the table."""
    from agentenvs.harness.outcomes import Outcomes

    outcomes = Outcomes.load(item.folder)
    counts, parse = outcomes.counts(), outcomes.parse_totals()
    solved = int((counts.c > 0).sum())
    tokens = sum(n or 0 for n in outcomes.column("new_tokens"))
    return [
        item.model,
        item.tasks,
        item.arm,
        f"{solved}/{len(counts.c)}",
        f"{counts.c.sum() / counts.n.sum():.4f}",
        f"{solved / len(counts.c):.3f}",
        str(sum(n or 0 for n in outcomes.column("steps"))),
        *(str(parse.get(k, 0)) for k in ("calls", "words", "malformed", "rescued")),
        str(tokens),
        (item.folder / "seconds.txt").read_text().strip(),
    ]


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", metavar="MODELS", type=Path)
    parser.add_argument("--env", choices=tuple(ENVS), default="BFCLv4")
    parser.add_argument("--catalog", help="of WebShop: a folder of official or compiled files")
    parser.add_argument("--out", type=Path, default=Path("runs/real-models"))
    parser.add_argument("--model", action="append", help="a folder within MODELS; may be repeated")
    parser.add_argument("--tasks", action="append", choices=("mini", "official"))
    parser.add_argument("--arm", action="append", choices=tuple(ARMS))
    parser.add_argument("--n", type=int, default=8, help="rollouts of each mini task")
    parser.add_argument("--mini", type=int, help="how many mini tasks; default all")
    parser.add_argument("--official", type=int, default=3, help="how many official tasks")
    parser.add_argument(
        "--max-steps", type=int, default=4, help="replies a turn, in WebShop an episode"
    )
    parser.add_argument("--max-tokens", type=int, default=64, help="tokens a reply")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--progress", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Play what is missing and print the table."""
    from agentenvs.errors import AgentEnvsError
    from agentenvs.harness.policies.base import make_policy

    args = arguments()
    try:
        items = list(plays(args))
        policies: dict[str, Any] = {}
        for item in items:
            if done(item):
                continue
            if item.model not in policies:
                policies = {
                    item.model: make_policy(
                        f"hf:{args.models / item.model}",
                        dtype=args.dtype,
                        threads=args.threads,
                        max_batch=args.batch,
                    )
                }
            print(f"{item.model}: {item.tasks} under {item.arm} ...", file=sys.stderr, flush=True)
            play(item, policies[item.model], args)
    except AgentEnvsError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    except KeyboardInterrupt:
        sys.exit("Stopped; the same command goes on.")
    for cells in ([name for name, _ in COLUMNS], *map(row, items)):
        line = (f"{cell:{form}}" for cell, (_, form) in zip(cells, COLUMNS, strict=True))
        print("  ".join(line).rstrip())


if __name__ == "__main__":
    main()
