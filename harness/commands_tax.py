"""What `agentenvs tax` does, and what it shares with `report`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentenvs.harness import terminal
from agentenvs.harness.task_facts import AUTO, task_facts

if TYPE_CHECKING:
    from rich.console import Console

    from agentenvs.harness.outcomes import Outcomes
    from agentenvs.harness.replay.standing import Standing
    from agentenvs.harness.tax.comparison import Comparison

__all__ = ["add_shared", "add_to", "load", "say_standing", "warned"]


def add_to(verbs: Any, positive: Callable[[str], int], fraction: Callable[[str], float]) -> None:
    """Add the verb to the command."""
    sub = verbs.add_parser(
        "tax",
        help="what post-training cost: two runs side by side",
        description="Compare two runs over the same tasks: pass@k, A, S, the Sharpening Tax at "
        "several K with intervals, the crossover k*, and the three bins of tasks.",
    )
    sub.add_argument("base", metavar="BASE", help="run folder, or JSON lines {task_id, pass_flags}")
    sub.add_argument("post", metavar="POST", help="the same for the post-trained model")
    add_shared(sub, positive, fraction)
    sub.set_defaults(call=_tax)


def add_shared(
    sub: argparse.ArgumentParser, positive: Callable[[str], int], fraction: Callable[[str], float]
) -> None:
    """Add the arguments that `tax` and `report` share."""
    sub.add_argument(
        "-K",
        dest="ks",
        type=positive,
        action="append",
        help="a budget, tries for each task; repeat for several (default: n/4, n/2, 2, 4, 8 and n)",
    )
    sub.add_argument(
        "--confidence", type=fraction, default=0.95, help="of the intervals (default: %(default)s)"
    )
    sub.add_argument("--json", action="store_true", help="print JSON instead of text")
    sub.add_argument(
        "--common", action="store_true", help="compare on the tasks that both have; says how many"
    )
    sub.add_argument(
        "--clusters",
        default=AUTO,
        metavar="auto|none|FILE",
        help="tasks that hang together, which widens intervals: as the environment knows them "
        "(auto, the default), or a file of lines TASK<tab>LABEL",
    )
    sub.add_argument(
        "--unsolvable",
        default=AUTO,
        metavar="auto|none|FILE",
        help="tasks out of reach, without which everything is told as well: those that the "
        "environment knows (auto, the default), or a file with a task id a line",
    )


def _tax(args: argparse.Namespace) -> int:
    """Print two runs side by side."""
    from agentenvs.harness.replay.standing import standings
    from agentenvs.harness.tax import compare

    base, post = load(args.base), load(args.post)
    known = task_facts(base, post, args.clusters, args.unsolvable)
    comparison = compare(
        base,
        post,
        args.ks,
        args.confidence,
        common=args.common,
        clusters=known.clusters,
        unsolvable=known.unsolvable,
    )
    comparison = warned(comparison, args.base, args.post)
    certified = standings(args.base, args.post)
    if args.json:
        notes = [*known.notes, *(one.text for one in certified)]
        terminal.say_json({**comparison.to_dict(), "notes": notes})
        return 0
    console = terminal.console()
    comparison.render(console)
    for one in certified:
        say_standing(console, one)
    for note in known.notes:
        console.print(f"note: {note}", style="dim", markup=False, highlight=False)
    return 0


def say_standing(console: Console, found: Standing) -> None:
    """Print how a run stands to its certificate."""
    head, style = ("note", "dim") if found.holds else ("warning", "yellow")
    console.print(f"{head}: {found.text}", style=style, markup=False, highlight=False)


def warned(comparison: Comparison, base: str, post: str) -> Comparison:
    """Return a comparison that warns first where both runs are one and the same."""
    if not _outcomes_of(base).samefile(_outcomes_of(post)):
        return comparison
    told = "both runs are one and the same, so that nothing can differ; name two."
    return replace(comparison, warnings=(told, *comparison.warnings))


def _outcomes_of(path: str) -> Path:
    from agentenvs.harness.store.durable import OUTCOMES

    file = Path(path) / OUTCOMES
    # A run that has only begun has no outcomes.
    return file if file.exists() else Path(path)


def load(path: str) -> Outcomes:
    """Return the outcomes at a path, a run folder or a file of JSON lines."""
    from agentenvs.harness.outcomes import Outcomes

    return Outcomes.load(path)
