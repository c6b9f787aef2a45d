"""What a study's tables are made of: rows of cells, and differences as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentenvs.harness.report.formats import number, signed, span
from agentenvs.harness.report.markup import Cell as Entry
from agentenvs.harness.report.study.cells import Cell
from agentenvs.harness.report.study.stats import Signs
from agentenvs.harness.tax.crossing import CrossoverSet
from agentenvs.harness.tax.rank import Correlation
from agentenvs.harness.tax.shares import Estimate

__all__ = [
    "PLUS_MINUS",
    "STAR",
    "STARS",
    "Block",
    "Row",
    "Table",
    "blocks",
    "correlation",
    "crossing",
    "difference",
    "heading",
    "label",
    "stars",
]

#: marks a difference whose interval leaves out 0
STAR = "*"
#: marks one that is found among all comparisons
STARS = "**"
#: stands before half of an interval's width
PLUS_MINUS = "\u00b1"

Row = tuple[Entry, ...]
"""An entry for each column."""

Block = tuple[str, tuple[Row, ...]]
"""Rows that belong together, below a heading; "" for none."""


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        name: short, for anchors.
        title: what it shows.
        columns: the headers.
        blocks: its rows, each with an entry for each column; the first says what the row is.
        note: how to read it.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    blocks: tuple[Block, ...]
    note: str


def crossing(found: CrossoverSet) -> tuple[str, str]:
    """Return k* and its interval, as text."""
    if found.same:
        return "same", "the curves are one"
    k = f">{found.K}" if found.k is None else str(found.k)
    if not found.decides:
        return k, "undecided"
    low, high = (f">{found.K}" if end is None else str(end) for end in (found.low, found.high))
    return k, "" if low == high == k else low if low == high else f"{low} to {high}"


def stars(found: Estimate, at: int, counted: Signs) -> str:
    """Return the mark of a difference: two stars where it is found among all, one where sure.

    Args:
        found: the difference.
        at: the place of its cell in the study.
        counted: the same difference counted over all cells.
    """
    return STARS if at in counted.found else STAR if found.sure else ""


def blocks(cells: Sequence[Cell], rows: Callable[[int, Cell], Sequence[Row]]) -> tuple[Block, ...]:
    """Return the rows of cells, a block for each benchmark.

    Args:
        cells: of the study.
        rows: from a cell and its place, its rows.
    """
    made: dict[str, list[Row]] = {}
    for at, cell in enumerate(cells):
        made.setdefault(cell.benchmark, []).extend(rows(at, cell))
    return tuple((name, tuple(of_it)) for name, of_it in made.items())


def _several(cells: Sequence[Cell]) -> tuple[bool, bool]:
    """Return whether there is more than one pair, and more than one arm."""
    return len({cell.pair.name for cell in cells}) > 1, len({cell.arm for cell in cells}) > 1


def heading(cells: Sequence[Cell]) -> str:
    """Return what heads the names of cells."""
    pairs, arms = _several(cells)
    return ("pair, arm" if pairs else "arm") if arms else "pair"


def label(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return what a cell is called among those of its benchmark."""
    pairs, arms = _several(cells)
    parts = [cell.pair.name] if pairs or not arms else []
    return ", ".join([*parts, *([cell.arm] if arms else [])])


def difference(found: Estimate, digits: int, mark: str = "") -> Entry:
    """Return a difference with a mark and half of its interval's width."""
    if math.isnan(found.value):
        return Entry("undefined")
    shown = signed(found.value, digits)
    if math.isnan(found.low):
        return Entry(shown, "no interval")
    half = max(found.high - found.value, found.value - found.low)
    return Entry(shown + mark, f"{PLUS_MINUS}{number(half, digits)}")


def correlation(found: Correlation) -> Entry:
    """Return a correlation with its interval."""
    if math.isnan(found.rho):
        return Entry("undefined")
    rho = Estimate(found.rho, math.nan, found.low, found.high)
    return Entry(signed(rho.value, 2) + (STAR if rho.sure else ""), span(rho, 2, sign=True))
