"""A study in a terminal: what came out, then every cell; needs rich."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentenvs.harness.report.markup import Cell as Entry
from agentenvs.harness.report.markup import plain
from agentenvs.harness.report.study import words
from agentenvs.harness.report.study.choices import choice_table
from agentenvs.harness.report.study.entries import PLUS_MINUS, Table
from agentenvs.harness.report.study.tables import (
    change_table,
    gain_table,
    published_table,
    relation_table,
    sign_table,
    tax_table,
)
from agentenvs.harness.tax.render import SCRIPTED_MARK
from agentenvs.harness.wide_tables import side_by_side

if TYPE_CHECKING:
    from rich.console import Console

    from agentenvs.harness.report.study.report import StudyReport

__all__ = ["render"]

# Padding, and the column that a box keeps between two.
_GAP = 2
_LISTED = 3
_BUDGETS = 2
# Not every terminal has a minus of its own.
_PLAIN = str.maketrans({"\u2212": "-", "\u00a0": " "})


def render(found: StudyReport, console: Console) -> None:
    """Print a study: heading, answer, warnings, findings, tables. Wide tables come in parts."""
    if found.scripted:
        _line(console, SCRIPTED_MARK, "bold red")
    _line(console, found.study.title, "bold")
    _line(console, words.lead(found))
    console.print()
    _line(console, words.headline(found), "bold")
    _line(console, words.rule(found))
    _line(console, words.MEANING)
    console.print()
    for text, names in words.warnings(found.cells):
        _line(console, f"warning: {text} ({_some(names)})", "yellow")
    console.print()
    _list(console, "What came out", words.findings(found))
    # More columns than these would not fit beside each other.
    few = found.ks if len(found.ks) <= _BUDGETS else tuple(sorted({found.ks[0], found.main}))
    relations = relation_table(found.relations, few, arms=False)
    _table(console, sign_table(found.signs, found.signs_without, words.shared(found)))
    _table(console, change_table(found.changes))
    if relations is not None:
        _table(console, relations)
    _list(console, "Whether a few rollouts foretell the tax", words.predictor(found))
    beside = published_table(found.published, found.cells)
    if beside is not None:
        _table(console, beside)
    _table(console, gain_table(found.cells, found.main, found.changes, small=False))
    _table(console, tax_table(found.cells, found.ks, found.signs))
    choices = choice_table(found.cells, found.study)
    if choices is not None:
        _table(console, choices)
    _list(console, "Before believing it", words.caveats(found))


def _some(names: Sequence[str]) -> str:
    shown = "; ".join(names[:_LISTED])
    more = f"; and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{len(names)} cell{'' if len(names) == 1 else 's'}: {shown}{more}"


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(_shown(text), style=style, markup=False, highlight=False)


def _list(console: Console, title: str, lines: Sequence[str]) -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    _line(console, title, "bold")
    grid = Grid.grid(padding=(0, 1, 0, 0))
    for line in lines:
        grid.add_row("-", Text(_shown(line)))
    console.print(grid)
    console.print()


def _table(console: Console, table: Table) -> None:
    from rich.box import SIMPLE
    from rich.table import Table as Grid
    from rich.text import Text

    _line(console, table.title, "bold")
    cells = [[_entry(one) for one in row] for _, rows in table.blocks for row in rows]
    sizes = [
        max(len(word) for word in (*(row[at] for row in cells), *name.split()))
        for at, name in enumerate(table.columns)
    ]
    sizes[0] = max(sizes[0], *(len(name) for name, _ in table.blocks))
    parts = side_by_side(sizes, console.width, _GAP)
    # What belongs to a row should not stand screens below it.
    groups = [table.blocks] if len(parts) == 1 else [(block,) for block in table.blocks]
    for blocks in groups:
        for part in parts:
            grid = Grid(box=SIMPLE, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
            for at in part:
                heading = Text(_shown(table.columns[at]))
                grid.add_column(heading, justify="right" if at else "left", width=sizes[at])
            for number, (name, rows) in enumerate(blocks):
                if number:
                    grid.add_section()
                if name:
                    grid.add_row(Text(_shown(name), style="italic"))
                for row in rows:
                    grid.add_row(*(Text(_entry(row[at])) for at in part))
            console.print(grid)
    _line(console, table.note, "dim")
    console.print()


def _entry(one: Entry) -> str:
    if not one.more:
        return _shown(one.text)
    more = f"({one.more.replace(' to ', '..')})"
    if one.more.startswith(PLUS_MINUS):
        # Four budgets side by side leave no room for the 0.
        more = one.more.replace(f"{PLUS_MINUS}0.", f"{PLUS_MINUS}.")
    return _shown(f"{one.text} {more}")


def _shown(text: str) -> str:
    return plain(text).translate(_PLAIN)
