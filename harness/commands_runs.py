"""What `agentenvs merge` and `agentenvs export` do."""

from __future__ import annotations

import argparse
from typing import Any

from agentenvs.errors import BadArgument
from agentenvs.harness import terminal

__all__ = ["add_to"]


def add_to(verbs: Any) -> None:
    """Add the verbs to the command."""
    _add_merge(verbs)
    _add_export(verbs)


def _add_merge(verbs: Any) -> None:
    sub = verbs.add_parser(
        "merge",
        help="make one run folder of several",
        description="Make one run folder of several that hold different rollouts of one run: "
        "other tasks, or other numbers of the same tasks. The runs stay as they are.",
    )
    sub.add_argument("out", metavar="OUT", help="the folder to be made")
    sub.add_argument("runs", metavar="RUN", nargs="+", help="a run folder")
    sub.add_argument(
        "--renumber",
        action="store_true",
        help="the runs are separate ones of the same tasks, with other seeds: number their "
        "rollouts one run after the other",
    )
    sub.set_defaults(call=_merge)


def _add_export(verbs: Any) -> None:
    sub = verbs.add_parser(
        "export",
        help="write outcomes, void tries or transcripts as a Parquet file",
        description="Write a run's outcomes as a Parquet file, with its settings in the file's "
        "metadata. Needs the extra `parquet`.",
    )
    sub.add_argument("run", metavar="RUN", help="a run folder, or for outcomes JSON lines as well")
    sub.add_argument("-o", "--out", required=True, metavar="FILE", help="such as run.parquet")
    kinds = sub.add_mutually_exclusive_group()
    kinds.add_argument("--voids", action="store_true", help="the void tries instead")
    kinds.add_argument(
        "--transcripts", action="store_true", help="what was said instead, a row for each step"
    )
    sub.set_defaults(call=_export)


def _merge(args: argparse.Namespace) -> int:
    from agentenvs.harness.store.merge import merge_runs

    outcomes = merge_runs(args.out, args.runs, renumber=args.renumber)
    tasks, voids, missing = len(outcomes.task_ids), len(outcomes.voids), len(outcomes.open)
    more = [f"{voids} void tries"] if voids else []
    more += [f"{missing} rollouts still open"] if missing else []
    told = "".join(f", {part}" for part in more)
    runs = len(args.runs)
    terminal.say(
        f"{len(outcomes)} rollouts of {tasks} tasks from {runs} run{'s' * (runs > 1)}{told}"
    )
    terminal.say(f"run folder: {args.out}")
    return 0


def _export(args: argparse.Namespace) -> int:
    from pathlib import Path

    from agentenvs.harness.outcomes import Outcomes
    from agentenvs.harness.store import parquet

    if args.transcripts:
        if not Path(args.run).is_dir():
            raise BadArgument(f"Expected a run folder for its transcripts, got {args.run}.")
        rows, kind = parquet.write_transcripts(args.run, args.out), "steps"
    elif args.voids:
        rows, kind = parquet.write_voids(Outcomes.load(args.run), args.out), "void tries"
    else:
        rows, kind = parquet.write(Outcomes.load(args.run), args.out), "rollouts"
    terminal.say(f"{rows} {kind}: {args.out}")
    return 0
