"""What `agentenvs view` does."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from agentenvs.errors import BadArgument, UnknownName, did_you_mean
from agentenvs.harness import terminal
from agentenvs.harness.plain_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from agentenvs.harness.view.entries import Entry, Run
    from agentenvs.harness.view.grid import Grid
    from agentenvs.harness.view.wanted import Wanted

__all__ = ["add_to"]

_KINDS = ("success", "failure", "context_overflow", "void")
_EPILOG = """\
examples:
  agentenvs view runs/post                                look through it, ? shows the keys
  agentenvs view runs/post --outcome failure --list       what failed, a line a rollout
  agentenvs view runs/post --repair fence                 replies that were mended so
  agentenvs view runs/post --task mini_home_0 --rollout 3 that episode, step by step
  agentenvs view runs/base runs/post                      where they differ
"""


def add_to(verbs: Any) -> None:
    """Add the verb to the command."""
    sub = verbs.add_parser(
        "view",
        help="look at the rollouts of a run, or of two side by side",
        description="Look at a run: in a terminal rollouts and their episodes step by step, "
        "elsewhere a table. Of two runs it shows the tasks side by side.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.add_argument("run", metavar="RUN", help="run folder, or JSON lines of outcomes")
    sub.add_argument("post", metavar="POST", nargs="?", help="another run to compare with")
    sub.add_argument("--list", action="store_true", help="print the table, in a terminal too")
    sub.add_argument("--task", metavar="PATTERN", help="these tasks, such as 'mini_*'")
    sub.add_argument("--rollout", metavar="N", type=_natural, help="this rollout of each task")
    sub.add_argument("--outcome", choices=_KINDS, help="these outcomes")
    sub.add_argument("--reason", metavar="PATTERN", help="these reasons, such as '*timeout*'")
    sub.add_argument(
        "--repair", metavar="NAME", help="a reply was mended by this repair, such as fence or prose"
    )
    sub.add_argument(
        "--rescued", action="store_true", help="a reply was read by the relaxed parser alone"
    )
    sub.add_argument("--malformed", action="store_true", help="a reply did not read")
    sub.add_argument("--text", help="this text occurs in what was said, in whatever case")
    sub.add_argument("--sort", metavar="COLUMN", help="numbers from the largest, all else upwards")
    sub.add_argument("--reverse", action="store_true", help="turn the order around")
    sub.add_argument(
        "--step",
        metavar="K",
        type=_natural,
        help="print this step of the episode; 0 is its opening",
    )
    sub.set_defaults(call=_view)


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, got {text!r}")
    return int(text)


def _view(args: argparse.Namespace) -> int:
    from agentenvs.harness.view.entries import Run
    from agentenvs.harness.view.live import can_show, show
    from agentenvs.harness.view.wanted import SORTS, Wanted

    if args.sort is not None and args.sort not in SORTS:
        hint = did_you_mean(args.sort, SORTS)
        raise UnknownName(f"No order {args.sort!r}.{hint} There are {', '.join(SORTS)}.")
    wanted = Wanted(
        args.task,
        args.rollout,
        args.outcome,
        args.reason,
        args.repair,
        args.text,
        args.rescued,
        args.malformed,
    )
    one = args.task is not None and args.rollout is not None
    if args.step is not None and not one:
        raise BadArgument("`--step` needs `--task` and `--rollout`, which say of what episode.")
    runs = [Run(path) for path in (args.run, args.post) if path is not None]
    if args.step is None and not args.list and can_show():
        from agentenvs.harness.view.app import App

        show(App(runs, wanted, args.sort, args.reverse))
        return 0
    if args.step is not None or (one and not args.list):
        return _print_episodes(runs, wanted, args.step)
    if len(runs) == 2:
        if args.sort is not None or args.reverse:
            raise BadArgument("`--sort` and `--reverse` order rollouts; two runs list tasks.")
        return _print_pair(runs, wanted)
    return _print_list(runs[0], wanted, args.sort, args.reverse)


def _chosen(
    run: Run, wanted: Wanted, sort: str | None = None, reverse: bool = False
) -> list[Entry]:
    from agentenvs.harness.view.wanted import choose

    found = choose(run, wanted, sort, reverse)
    if not found:
        _explain(run, wanted)
    return found


def _explain(run: Run, wanted: Wanted) -> None:
    """Say why nothing was found where a name is at fault.

    Raises:
        UnknownName: no task is called so, or no reply was mended so.
        BadArgument: what is asked for stands in transcripts, and there are none.
    """
    from agentenvs.harness.view.wanted import Wanted, choose

    if wanted.task is not None and not choose(run, Wanted(task=wanted.task)):
        tasks = run.tasks()
        raise UnknownName(
            f"{run.path}: no rollout of a task like {wanted.task!r}."
            f"{did_you_mean(wanted.task, tasks)}"
        )
    if wanted.needs_transcripts and not run.transcripts:
        raise BadArgument(f"{run.path} has no transcripts, which alone tell of texts and repairs.")
    if wanted.repair is not None:
        counted = run.repairs(run.entries)
        if wanted.repair not in counted:
            raise UnknownName(
                f"{run.path}: no reply was mended by {wanted.repair!r}."
                f"{did_you_mean(wanted.repair, counted)}"
            )


def _print_list(run: Run, wanted: Wanted, sort: str | None, reverse: bool) -> int:
    from agentenvs.harness.view.tables import rollout_grid, summary

    entries = _chosen(run, wanted, sort, reverse)
    console = terminal.console()
    if run.entries:
        _print_grid(console, rollout_grid(entries, short=_width(console) is not None))
    tries = [
        f"{entry.task} #{entry.rollout} try {row.get('attempt')}: "
        f"{row.get('reason')}: {row.get('error')}"
        for entry in entries
        for row in run.voids.get(entry.key, ())
    ]
    if tries:
        _out(console, ["", "void tries", *tries])
    _out(console, [*([""] if run.entries else []), *summary(run, entries), *_problems(run)])
    return 0


def _print_pair(runs: Sequence[Run], wanted: Wanted) -> int:
    from agentenvs.harness.view.tables import pair_grid, pair_rows, summary

    tasks = {entry.task for run in runs for entry in _chosen(run, wanted)}
    base, post = ([e for e in run.entries if e.task in tasks] for run in runs)
    console = terminal.console()
    _print_grid(console, pair_grid(pair_rows(base, post)))
    _out(console, [""])
    for name, run, entries in zip(("base", "post"), runs, (base, post), strict=True):
        first = next(summary(run, entries, repairs=False))
        _out(console, [f"{name}: {run.name}: {first}"])
    return 0


def _print_grid(console: Console, grid: Grid) -> None:
    """Print rows: as wide as a terminal, in colours, or in full."""
    layout = grid.layout(_width(console))
    lines = [grid.heading(layout), *(grid.line(at, layout) for at in range(len(grid.rows)))]
    if console.is_terminal:
        for line in lines:
            console.print(line, soft_wrap=True, end="\n")
    else:
        _out(console, (line.plain for line in lines))


def _width(console: Console) -> int | None:
    """Return a terminal's width, or that of `COLUMNS`; None where rows are printed in full."""
    asked = os.environ.get("COLUMNS", "").isdecimal()
    return console.width if console.is_terminal or asked else None


def _print_episodes(runs: Sequence[Run], wanted: Wanted, step: int | None) -> int:
    from agentenvs.harness.view.pages import facts, lines_of, pages_of

    console = terminal.console()
    for run in runs:
        for entry in _chosen(run, wanted):
            pages = pages_of(run, entry, run.transcripts.read(entry.key))
            if step is not None:
                if step >= len(pages):
                    last = len(pages) - 1
                    raise BadArgument(
                        f"{entry.task} #{entry.rollout} has steps 1 to {last} (0 is the opening), "
                        f"got --step {step}."
                    )
                pages = [pages[step]]
            which = f"{run.path}: " if len(runs) == 2 else ""
            first = f"{which}{entry.task} #{entry.rollout}: {facts(run, entry)}"
            _out(console, [first, ""])
            for page in pages:
                notes = "; ".join(note for note, _ in page.notes)
                _out(console, [f"{page.title}{': ' if notes else ''}{notes}"])
                _out(console, [*(line.plain for line in lines_of(page)), ""])
        _out(console, _problems(run))
    return 0


def _out(console: Console, lines: Iterable[str]) -> None:
    """Print lines as they are, whatever their width."""
    told = [printable(line) for line in lines]
    if told:
        console.out("\n".join(told), highlight=False)


def _problems(run: Run) -> Iterator[str]:
    yield from (f"cannot be read: {problem}" for problem in run.transcripts.problems)
    # Nothing is said before the first rollout ends, nor in void tries.
    if not run.transcripts and run.path.is_dir() and len(run.outcomes):
        yield "the run kept no transcripts"
