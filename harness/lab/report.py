"""The report of a study: JSON, tables, figures and the page, from what its folder holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agentenvs.harness.lab.config import bundled
from agentenvs.harness.lab.figures import draw
from agentenvs.harness.lab.folder import StudyFolder, write_json
from agentenvs.harness.lab.page import page
from agentenvs.harness.lab.results import read_results
from agentenvs.harness.lab.summary import summarise
from agentenvs.harness.lab.tables import ARMS, PAIRS, Table, tables
from agentenvs.harness.lab.words import FIRST, LAST, Section, words
from agentenvs.harness.store.durable import write_whole
from agentenvs.harness.wide_tables import side_by_side

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Report", "render", "report"]

_GAP = 3


class Report(NamedTuple):
    """What there is to show of a study."""

    summary: dict[str, Any]
    tables: list[Table]
    sections: list[Section]


def report(folder: StudyFolder) -> Report:
    """Write `summary.json`, `figures/` and `index.html` into a study's folder, and return it all.

    Raises:
        RunDamaged: no job is finished, or what one left cannot be read.
    """
    results = read_results(folder)
    summary = summarise(results)
    found = Report(summary, tables(summary), words(summary, bundled()))
    pictures = draw(results, folder.path / "figures")
    text = page(summary, found.sections, found.tables, pictures)
    write_json(folder.path / "summary.json", summary)
    write_whole(folder.path / "index.html", [text.encode()])
    return found


def render(found: Report, console: Console) -> None:
    """Print what matters most; needs rich. Tables that are too wide come in parts.

    The page has the rest: where coverage went, success over temperature, and all in words.
    """
    from rich.box import SIMPLE
    from rich.table import Table as Grid
    from rich.text import Text

    for one in found.tables:
        if not one.title.startswith((ARMS, PAIRS)):
            continue
        console.print(one.title, style="bold", markup=False, highlight=False)
        sizes = _sizes(one)
        for part in side_by_side(sizes, console.width, _GAP):
            grid = Grid(box=SIMPLE, show_edge=False, pad_edge=False)
            for at in part:
                grid.add_column(
                    Text(one.columns[at]), justify="right" if at else "left", width=sizes[at]
                )
            for row in one.rows:
                grid.add_row(*(Text(row[at]) for at in part))
            console.print(grid)
        console.print(one.note, style="dim", markup=False, highlight=False)
        console.print()
    for title, lines in found.sections:
        if title in (*FIRST, LAST):
            _list(console, title, lines)


def _sizes(table: Table) -> list[int]:
    """Return how wide each column is; headers may be broken between words."""
    return [
        max(len(part) for part in (*(row[at] for row in table.rows), *name.split()))
        for at, name in enumerate(table.columns)
    ]


def _list(console: Console, title: str, lines: Sequence[str]) -> None:
    console.print(title, style="bold", markup=False, highlight=False)
    for line in lines:
        console.print(f"- {line}", markup=False, highlight=False)
    console.print()
