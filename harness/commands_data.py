"""The verb `data`: official data, and the catalogs that are made from it."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from agentenvs import sources
from agentenvs.harness import terminal

if TYPE_CHECKING:
    from pathlib import Path

    from agentenvs.webshop import Catalog

__all__ = ["add_to"]

_IMPORT_EPILOG = """\
examples:
  agentenvs data import bfcl bfcl_eval-2026.3.23-py3-none-any.whl
  agentenvs data import webshop ~/webshop/data       (says which of the two it is)
  agentenvs data import webshop-full ~/webshop/data/items_shuffle.json
  agentenvs data import acebench ~/ACEBench          (a checkout, or its archive)
"""


def add_to(verbs: Any) -> None:
    """Add the verb to the parser of the command."""
    sub = verbs.add_parser(
        "data",
        help="official data: list, pull, import, verify; catalogs: compile, audit",
        description="Official data stays with its owners; it is fetched once, checked against a "
        "pinned hash, and kept in the cache folder (AGENTENVS_CACHE).",
    )
    acts = sub.add_subparsers(dest="act", metavar="ACTION", required=True)
    act = acts.add_parser("list", help="what there is and where it was found")
    act.set_defaults(call=lambda a: _list())
    act = acts.add_parser("pull", help="fetch a source into the cache")
    act.add_argument("name", help="a source, such as bfcl; webshop stands for webshop-1k")
    act.set_defaults(call=lambda a: _pull(a.name))
    act = acts.add_parser(
        "import",
        help="take a source from a file or folder you have",
        epilog=_IMPORT_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    act.add_argument("name", help="a source, such as bfcl; webshop stands for both of its own")
    act.add_argument("path", help="the file, or the folder that holds it")
    act.set_defaults(call=lambda a: _import(a.name, a.path))
    act = acts.add_parser("verify", help="check what is there against the pinned hashes")
    act.add_argument("name", nargs="?", help="a source; default all that are there")
    act.set_defaults(call=lambda a: _verify(a.name))
    _add_compile(acts)
    _add_audit(acts)


def _add_compile(acts: Any) -> None:
    act = acts.add_parser(
        "compile",
        help="compile official files into a catalog folder",
        description="Compile official WebShop files into a folder that opens at once, for "
        "`catalog=DST`. Environments do the same in the cache on first use.",
    )
    act.add_argument("world", choices=("webshop",), help="which benchmark")
    act.add_argument("src", help="a folder with official files, or the products file")
    act.add_argument("dst", help="the folder to write")
    act.add_argument("--name", help="what task ids begin with; default made from the files")
    act.add_argument(
        "--seed", type=int, default=0, help="of prices and price caps (default: %(default)s)"
    )
    act.add_argument(
        "--nouns",
        choices=("auto", "spacy", "heuristic"),
        default="auto",
        help="auto: a nouns.json beside the files, else spaCy's tagger where the extra `nouns` is "
        "installed, else the heuristic (default: %(default)s)",
    )
    act.add_argument("--limit", type=int, metavar="N", help="take the first N records alone")
    act.set_defaults(call=_compile)


def _add_audit(acts: Any) -> None:
    act = acts.add_parser(
        "audit",
        help="list goals that score below 1 when bought exactly right",
        description="List the synthetic goals that score below 1.0 when exactly the right item "
        "is bought with exactly the right options, and why.",
    )
    act.add_argument("world", choices=("webshop",), help="which benchmark")
    act.add_argument("catalog", help="mini, 1k, full, or a folder")
    act.add_argument(
        "--rules",
        choices=("official", "fixed"),
        default="official",
        help="the rules to score by (default: %(default)s)",
    )
    act.add_argument(
        "--unclickable",
        action="store_true",
        help="also list goals worth 1.0 of which an option value cannot be clicked",
    )
    act.add_argument("--json", action="store_true", help="print a JSON object a line")
    act.set_defaults(call=_audit)


def _list() -> int:
    """Print the sources: version, licence, size, and where each was found."""
    from rich.table import Table

    table = Table(box=None)
    for column in ("source", "version", "licence", "MB", "found", "where"):
        table.add_column(column, justify="right" if column == "MB" else "left", overflow="fold")
    with sources.console_progress() as progress:
        rows = sources.status(progress=progress)
    for row in rows:
        size = f"{row.size / 1e6:,.1f}"
        where = str(row.path or f"agentenvs data pull {row.name}")
        table.add_row(row.name, row.version, row.licence, size, row.found, where)
    console = terminal.console()
    console.print(table)
    for row in rows:
        said = [_variant(row.name, row.version, row.title), *row.notes]
        for note in filter(None, said):
            console.print(f"{row.name}: {note}", soft_wrap=True, markup=False)
    return 0


def _variant(name: str, version: str, title: str) -> str:
    """Return a note where a version is not the official one."""
    if version == sources.source(name).version:
        return ""
    return f"a stated variant, not the official bytes: {title}"


def _pull(name: str) -> int:
    """Fetch a source into the cache."""
    with sources.console_progress() as progress:
        tree = sources.pull(name, progress)
    terminal.say(_what(tree))
    others = [entry for entry in sources.members(name) if entry.name != tree.source.name]
    for entry in others:
        terminal.say(
            f"{entry.title} ({entry.size / 1e6:,.0f} MB): agentenvs data pull {entry.name}"
        )
    return 0


def _import(name: str, path: str) -> int:
    """Take a source from a file or folder, once its content has been verified."""
    with sources.console_progress() as progress:
        tree = sources.import_(name, path, progress)
    terminal.say(_what(tree))
    return 0


def _what(tree: sources.Tree) -> str:
    note = _variant(tree.source.name, tree.version, tree.source.title)
    return f"{tree.source.name} {tree.version}: {tree.path}" + (f"\n{note}" if note else "")


def _verify(name: str | None) -> int:
    """Check what is there; the exit code is 1 where it is wrong, or what was named is missing."""
    wrong = checked = 0
    names = sources.names() if name is None else [entry.name for entry in sources.members(name)]
    for item in names:
        with sources.console_progress() as progress:
            (state,) = sources.status(item, progress)
            if state.found == "missing" and not state.notes and item != name:
                terminal.say(f"{item}: not here")
                continue
            problems = sources.verify(item, progress)
        checked += 1
        wrong += bool(problems)
        note = _variant(item, state.version, state.title)
        good = f"as pinned, version {state.version}" + (f"; {note}" if note else "")
        terminal.say(f"{item}: {'; '.join(problems) if problems else good}")
    return 1 if wrong or (name is not None and not checked) else 0


def _compile(args: argparse.Namespace) -> int:
    """Compile a catalog and say what it holds."""
    from agentenvs.webshop import Catalog, compile_catalog

    begun = time.monotonic()
    with sources.console_progress("share") as progress:
        folder = compile_catalog(
            args.src,
            args.dst,
            name=args.name,
            seed=args.seed,
            nouns=args.nouns,
            limit=args.limit,
            progress=progress,
        )
    _summarise(Catalog.open(folder), folder, time.monotonic() - begun)
    return 0


def _summarise(catalog: Catalog, folder: Path, seconds: float) -> None:
    meta = catalog.meta
    counts = meta["counts"]
    terminal.say(f"catalog {catalog.name} ({catalog.digest}): {folder}")
    terminal.say(f"{counts['products']:,} products of {counts['records']:,} records")
    for part, text in (("rejected", "rejected"), ("unusable", "left out of a product")):
        for reason, entry in meta[part].items():
            examples = ", ".join(entry["asins"])
            terminal.say(f"  {entry['count']:,} {text}: {reason} ({examples})")
    terminal.say(
        f"{counts['synthetic_goals']:,} synthetic goals of {counts['synthetic_products']:,} "
        f"products, {counts['human_goals']:,} human goals"
    )
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    terminal.say(f"nouns: {meta['nouns']['tagger']}; {size / 1e6:,.1f} MB, {seconds:,.1f} s")


def _audit(args: argparse.Namespace) -> int:
    """Print the goals that cannot be met in full by the purchase they were made from."""
    from agentenvs.webshop import open_catalog
    from agentenvs.webshop.audit import findings, unreachable

    look = findings if args.unclickable else unreachable
    catalog = open_catalog(args.catalog)
    found = 0
    with sources.console_progress("share") as progress:
        for finding in look(catalog, args.rules, progress):
            found += finding.total < 1.0
            if args.json:
                row = {
                    "task": finding.task,
                    "score": finding.total,
                    "reasons": finding.missed,
                    "unclickable": finding.unclickable,
                }
                terminal.say(json.dumps(row, ensure_ascii=False))
            else:
                why = "; ".join((*finding.missed, *finding.unclickable))
                terminal.say(f"{finding.task}\t{finding.total:.4f}\t{why}")
    if not args.json:
        goals = len(catalog.goals("synthetic"))
        terminal.say(
            f"{found:,} of {goals:,} synthetic goals of {catalog.name} score below 1.0 under "
            f"{args.rules!r} rules when exactly the right item and options are bought"
        )
    return 0
