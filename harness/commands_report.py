"""What `agentenvs report` does: two runs, or a study of many, on a page."""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentenvs.errors import BadArgument
from agentenvs.harness import terminal
from agentenvs.harness.commands_tax import add_shared, load, say_standing, warned
from agentenvs.harness.task_facts import AUTO, NONE, clusters_of, task_facts, unsolvable_of

if TYPE_CHECKING:
    from rich.console import Console

    from agentenvs.harness.report.figures import Picture

__all__ = ["add_to"]

_EPILOG = """\
examples:
  agentenvs report runs/base runs/post -o report.html
  agentenvs report runs/base runs/post -o report.html --price 1 3 --target 0.8 --figures figures
  agentenvs report study.toml -o study.html

docs/report.md tells how to read the page, docs/study.md what study.toml holds.
"""


def add_to(verbs: Any, positive: Callable[[str], int], fraction: Callable[[str], float]) -> None:
    """Add the verb to the command."""
    sub = verbs.add_parser(
        "report",
        help="what post-training cost, on one page; or a study of many pairs",
        usage="agentenvs report BASE POST [options]\n       agentenvs report STUDY.toml [options]",
        description="Tell what post-training cost on one self-contained HTML page, from two runs\n"
        "over the same tasks or from a study of many pairs. Pages and figures need the\n"
        "extra report.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.add_argument(
        "paths",
        metavar="RUN",
        nargs="+",
        help="two run folders, or files of JSON lines; or the file of a study",
    )
    sub.add_argument("-o", "--out", metavar="FILE", help="write the page there")
    sub.add_argument("--figures", metavar="DIR", help="write the figures there, as SVG and PNG")
    sub.add_argument("--title", help="of the page")
    add_shared(sub, positive, fraction)
    sub.add_argument(
        "--price",
        nargs=2,
        type=float,
        metavar=("BASE", "POST"),
        help="what a rollout of each costs, in any unit (default: 1 1)",
    )
    sub.add_argument(
        "--target",
        type=_target,
        help="the share of tasks to solve, up to 1, for which the cheapest way is looked for",
    )
    sub.add_argument(
        "--missing",
        choices=("error", "skip"),
        help="what becomes of a study's runs that are not there (default: as its file says)",
    )
    sub.add_argument("--no-transcripts", action="store_true", help="leave out what was said")
    sub.set_defaults(call=_report)


def _report(args: argparse.Namespace) -> int:
    """Write a page about two runs or a study, and print what matters most."""
    study = len(args.paths) == 1 and Path(args.paths[0]).suffix == ".toml"
    if not study and len(args.paths) != 2:
        raise BadArgument(
            "Expected two runs, or one study file that ends in .toml: "
            f"agentenvs report BASE POST, got {len(args.paths)} paths."
        )
    _check_places(args)
    return _study(args) if study else _pair(args)


def _check_places(args: argparse.Namespace) -> None:
    """Refuse what cannot be drawn or written, before anything is worked out."""
    if args.out is not None or args.figures is not None:
        try:
            import matplotlib  # noqa: F401
        except ImportError as error:
            raise BadArgument(
                "Pages and figures need Matplotlib, which cannot be loaded "
                f'({error}): pip install "agentenvs[report]".'
            ) from None
    for name, place in (("-o", args.out), ("--figures", args.figures)):
        if place is not None and not place.strip():
            raise BadArgument(f"Expected {name} to name a place, got {place!r}.")
    if args.out is not None:
        out = Path(args.out)
        if out.is_dir():
            raise BadArgument(f"Expected -o to name a file, but {args.out} is a folder.")
        for path in args.paths:
            # A folder's files are not looked at: no page is called like one of them.
            if out.exists() and Path(path).exists() and out.samefile(path):
                raise BadArgument(f"Expected -o to name a new file, but {args.out} is to be read.")
    if args.figures is not None and Path(args.figures).exists() and not Path(args.figures).is_dir():
        raise BadArgument(f"Expected --figures to name a folder, but {args.figures} is none.")


def _pair(args: argparse.Namespace) -> int:
    from agentenvs.harness.replay.standing import standings
    from agentenvs.harness.report import find, page, pictures, title_of
    from agentenvs.harness.report.pair_page import cautions
    from agentenvs.harness.report.words import headline, ranges, verdict
    from agentenvs.harness.tax.render import SCRIPTED_MARK

    first, second = args.paths
    base, post = load(first), load(second)
    known = task_facts(base, post, args.clusters, args.unsolvable)
    said = not args.no_transcripts and args.out is not None
    findings = find(
        base,
        post,
        ks=args.ks,
        confidence=args.confidence,
        common=args.common,
        clusters=known.clusters,
        unsolvable=known.unsolvable,
        price=tuple(args.price or (1.0, 1.0)),
        target=args.target,
        names=_tails(first, second),
        certified=standings(first, second),
        transcripts=(_transcripts(first), _transcripts(second)) if said else (None, None),
    )
    findings = replace(findings, comparison=warned(findings.comparison, first, second))
    drawn = pictures(findings) if args.out or args.figures else []
    if args.out:
        _write(args.out, page(findings, drawn, args.title or title_of(findings)))
    written = _save(drawn, args.figures)
    if args.json:
        terminal.say_json({**findings.to_dict(), "notes": known.notes})
        return 0
    console = terminal.console()
    if findings.comparison.scripted:
        console.print(SCRIPTED_MARK, style="bold red", markup=False)
    asked = args.price is not None or args.target is not None
    cheaper = [found.words for found in findings.routes] if asked else []
    for line in (headline(findings), ranges(findings), verdict(findings).text, *cheaper):
        console.print(line, markup=False, highlight=False)
    for warning in (*cautions(findings), *known.notes):
        console.print(f"warning: {warning}", style="yellow", markup=False, highlight=False)
    for one in findings.certified:
        if one.holds:
            say_standing(console, one)
    _say_where(console, args.out, written)
    return 0


def _study(args: argparse.Namespace) -> int:
    from agentenvs.harness.report.study import study_report
    from agentenvs.harness.report.study.cells import filed_clusters, filed_unsolvable

    notes: dict[str, None] = {}

    def clusters(
        settings: Mapping[str, Any], ids: Sequence[str], path: Path | None
    ) -> Sequence[Hashable] | None:
        if path is not None:
            return filed_clusters(settings, ids, path)
        labels, note = clusters_of(settings, ids)
        notes.update({note: None} if note else {})
        return None if labels is None else [labels[name] for name in ids]

    def unsolvable(
        settings: Mapping[str, Any], ids: Sequence[str], path: Path | None
    ) -> Collection[str]:
        if path is not None:
            return filed_unsolvable(settings, ids, path)
        tagged, note = unsolvable_of(settings, ids)
        notes.update({note: None} if note else {})
        return tagged

    _refuse_pair_options(args)
    found = study_report(
        args.paths[0],
        confidence=args.confidence,
        missing=args.missing,
        clusters=None if args.clusters == NONE else clusters,
        unsolvable=None if args.unsolvable == NONE else unsolvable,
    )
    if args.out:
        _write(args.out, found.page())
    written = _save(found.pictures() if args.figures else [], args.figures)
    if args.json:
        terminal.say_json(found.to_dict())
        return 0
    console = terminal.console()
    found.render(console)
    for note in notes:
        console.print(f"note: {note}", style="dim", markup=False, highlight=False)
    _say_where(console, args.out, written)
    return 0


def _target(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 1.0:
        raise argparse.ArgumentTypeError(
            f"expected a number above 0 and of at most 1, got {text!r}"
        )
    return value


def _refuse_pair_options(args: argparse.Namespace) -> None:
    """Refuse what a study says in its file, and what a study does not look at."""
    written = {"--title": args.title, "-K": args.ks, "--price": args.price, "--target": args.target}
    for name, value in {**written, "--common": args.common or None}.items():
        if value is not None:
            raise BadArgument(f"Expected {name} in the study's file, not on the command line.")
    if args.clusters not in (AUTO, NONE) or args.unsolvable not in (AUTO, NONE):
        raise BadArgument(
            "Expected files of clusters or unsolvable tasks in the study's file, for each "
            "benchmark under [clusters] and [unsolvable], not on the command line."
        )


def _transcripts(path: str) -> Any:
    from agentenvs.harness.store.transcripts import read_transcripts

    return read_transcripts(path) if Path(path).is_dir() else None


def _tails(first: str, second: str) -> tuple[str, str]:
    """Return the last parts of two paths, as many as tell them apart."""
    one, two = Path(first).parts, Path(second).parts
    size = 1
    while one[-size:] == two[-size:] and size < max(len(one), len(two)):
        size += 1
    return "/".join(one[-size:]), "/".join(two[-size:])


def _write(path: str, text: str) -> None:
    from agentenvs.harness.store.durable import write_whole

    where, data = Path(path), text.encode("utf-8")
    where.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(where) and not stat.S_ISREG(where.lstat().st_mode):
        # A device, a pipe or a link is written to; a file in its place would destroy it.
        where.write_bytes(data)
    else:
        write_whole(where, [data])


def _save(drawn: Sequence[Picture], folder: str | None) -> list[Path]:
    if folder is None:
        return []
    from agentenvs.harness.report.figures import save

    return save(drawn, Path(folder))


def _say_where(console: Console, out: str | None, figures: Sequence[Path]) -> None:
    if out:
        console.print(f"page: {out}", soft_wrap=True, markup=False)
    if figures:
        console.print(
            f"figures: {len(figures)} files in {figures[0].parent}", soft_wrap=True, markup=False
        )
    if not out and not figures:
        console.print("Add -o FILE for the whole page.", style="dim", markup=False)
