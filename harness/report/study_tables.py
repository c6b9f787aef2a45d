"""A study's numbers as tables of text, for a terminal and for the page alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentenvs.harness.report.formats import number, percent, signed, span
from agentenvs.harness.report.markup import Cell as Entry
from agentenvs.harness.report.study_cells import CONSISTENCY_K, Cell
from agentenvs.harness.report.study_file import StudyFile
from agentenvs.harness.report.study_published import Beside
from agentenvs.harness.report.study_stats import AGAINST, Relation, Signs
from agentenvs.harness.tax.crossing_set import CrossoverSet
from agentenvs.harness.tax.options import KINDS
from agentenvs.harness.tax.rank import Correlation
from agentenvs.harness.tax.shares import Estimate

__all__ = [
    "PLUS_MINUS",
    "STAR",
    "Block",
    "Table",
    "choice_table",
    "crossing",
    "gain_table",
    "label",
    "published_table",
    "relation_table",
    "sign_table",
    "tax_table",
]

#: marks a difference whose interval leaves out 0
STAR = "*"
#: stands before half of an interval's width
PLUS_MINUS = "\u00b1"
_NAMES = {
    "size": "the models' size",
    "gain": "the gain of pass@1",
    "consistency": f"the gain of pass^{CONSISTENCY_K}",
}

Block = tuple[str, tuple[tuple[Entry, ...], ...]]
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


def gain_table(cells: Sequence[Cell], ks: Sequence[int]) -> Table:
    """Return what training gained at the first try, and what is left of it after many."""
    last = ks[-1]
    many = f"pass@{last}"

    def row(cell: Cell) -> tuple[Entry, ...]:
        found = cell.tax(last)
        kept = cell.consistency
        return (
            Entry(label(cell, cells)),
            *(Entry(number(one.value, 3)) for one in cell.pass_1),
            *(Entry(number(one.value, 3)) for one in (found.pass_base, found.pass_post)),
            Entry("-") if kept is None else _difference(kept, 3),
            Entry(*crossing(cell.crossing)),
        )

    return Table(
        name="gains",
        title="What training gained",
        columns=(
            _heading(cells),
            "pass@1 before",
            "after",
            f"{many} before",
            "after",
            f"pass^{CONSISTENCY_K} gained",
            "k*",
        ),
        blocks=_blocks(cells, row),
        note=(
            "pass@k: at least one of k tries succeeds; "
            f"pass^{CONSISTENCY_K}: all {CONSISTENCY_K} do. k*: the number of tries from which "
            "the base solves as many tasks as the trained model, and all that it may be; "
            f"{STAR}: the interval leaves out 0."
        ),
    )


def tax_table(cells: Sequence[Cell], ks: Sequence[int]) -> Table:
    """Return Tax_S of each cell at each budget."""
    smallest = min(n for cell in cells for n, _ in cell.rollouts)

    def row(cell: Cell) -> tuple[Entry, ...]:
        return (Entry(label(cell, cells)), *(_difference(cell.tax(k).tax_S, 3) for k in ks))

    noisy = [k for k in ks if 2 * k > smallest]
    listed = ", ".join(map(str, noisy))
    return Table(
        name="taxes",
        title="The tax at each number of tries",
        columns=(_heading(cells), *(f"Tax_S({k})" for k in ks)),
        blocks=_blocks(cells, row),
        note=(
            "Tax_S: how much less trying again mends after training than before it; above 0, "
            f"training cost something. {STAR}: the interval leaves out 0."
            + (f" K = {listed} is more than half of the rollouts: high variance." if noisy else "")
        ),
    )


def sign_table(signs: Sequence[Signs], shared: str) -> Table:
    """Return how many cells have a tax above and below 0, and how many with their interval.

    Args:
        signs: the counts.
        shared: how cells hang together, in words.
    """
    blocks = []
    for arm in dict.fromkeys(one.arm for one in signs):
        rows = tuple(
            (
                Entry(f"Tax_S({one.K})"),
                *(
                    Entry(str(many))
                    for many in (
                        one.cells,
                        one.above,
                        one.sure_above,
                        one.found_above,
                        one.below,
                        one.sure_below,
                        one.found_below,
                    )
                ),
            )
            for one in signs
            if one.arm == arm
        )
        blocks.append((arm or ("all arms" if len(signs) > len(rows) else ""), rows))
    first = signs[0]
    return Table(
        name="signs",
        title="How often there is a tax",
        columns=(
            "measure",
            "cells",
            "above 0",
            "interval above 0",
            "found above 0",
            "below 0",
            "interval below 0",
            "found below 0",
        ),
        blocks=tuple(blocks),
        note=(
            f"Found: stays when the share of false discoveries among all cells of a budget is held "
            f"at {100 * first.rate:g} % ({first.method}).{' ' if shared else ''}{shared}"
        ),
    )


def relation_table(
    relations: Sequence[Relation], ks: Sequence[int], arms: bool = True
) -> Table | None:
    """Return what the tax goes along with; None where too few cells tell.

    Args:
        relations: the correlations.
        ks: the budgets.
        arms: whether those of single arms are told too.
    """
    blocks = []
    for against in AGAINST:
        mine = [one for one in relations if one.against == against and (arms or one.arm is None)]
        groups = list(dict.fromkeys((one.arm, one.benchmark) for one in mine))
        rows = []
        for arm, benchmark in groups:
            by_k = {
                one.K: one.found for one in mine if (one.arm, one.benchmark) == (arm, benchmark)
            }
            shown = [_correlation(by_k[k]) if k in by_k else Entry("-") for k in ks]
            size = max(found.n for found in by_k.values())
            rows.append((Entry(f"{arm or benchmark or 'all cells'} ({size})"), *shown))
        if rows:
            blocks.append((f"with {_NAMES[against]}", tuple(rows)))
    if not blocks:
        return None
    return Table(
        name="relations",
        title="What the tax goes along with",
        columns=("cells", *(f"Tax_S({k})" for k in ks)),
        blocks=tuple(blocks),
        note=(
            "Spearman's rank correlation over cells, from \u22121 to 1, with its interval, which "
            "takes cells as independent: where they share tasks or a base it is too narrow. Over "
            "all cells, differences between benchmarks and arms count too. In brackets: how many "
            f"cells. {STAR}: the interval leaves out 0."
        ),
    )


def choice_table(cells: Sequence[Cell], study: StudyFile) -> Table | None:
    """Return which arm to ask and how often; None where the study does not ask."""
    if study.target is None and study.budget is None:
        return None

    def row(cell: Cell) -> tuple[Entry, ...]:
        made = cell.choice
        if made is None or made.best is None:
            return (Entry(label(cell, cells)), Entry("none will do"), *(Entry("-"),) * 4)
        best, names = made.best, {"base": cell.base, "post": cell.arm}
        rival = made.runner_up
        sure = made.shares[KINDS.index(best.kind)]
        return (
            Entry(label(cell, cells)),
            Entry(f"{names[best.arm]}@{best.k}"),
            Entry(percent(best.coverage.value, 1)),
            Entry(number(best.cost.value, 1)),
            Entry("-" if rival is None else f"{names[rival.arm]}@{rival.k}"),
            Entry(percent(sure) + ("" if made.decided else " ?")),
        )

    asked = (
        f"the cheapest way to solve {percent(study.target)} of the tasks"
        if study.target is not None
        else f"the most tasks for {study.budget:g} a task"
    )
    first, second = study.price
    return Table(
        name="choices",
        title="Which model to ask, and how often",
        columns=(_heading(cells), "ask", "solves", "costs", "next best", "best in"),
        blocks=_blocks(cells, row),
        note=(
            f"Asked for: {asked}. A rollout of {study.arms[0]} costs {first:g}, of another arm "
            f"{second:g}; all k tries are paid for. name@k: that arm, k tries. Best in: the share "
            "of samples of such tasks in which that kind of choice (the base, the trained model "
            "once, or several times) is best; ?: the data do not decide."
        ),
    )


def published_table(found: Beside, cells: Sequence[Cell]) -> Table | None:
    """Return the paper's figures beside those of the same cells; None where there are none."""
    if not found.cells:
        return None
    ks = sorted({k for one in found.cells for k in one.tax_S})
    told = {id(one.cell): one for one in found.cells}

    def row(cell: Cell) -> tuple[Entry, ...]:
        one = told[id(cell)]
        rates = zip(cell.pass_1, one.pass_1, strict=True)
        taxes = ((cell.tax(k).tax_S.value, one.tax_S.get(k, math.nan)) for k in ks)
        return (
            Entry(label(cell, cells)),
            *(Entry(number(mine.value, 3), number(theirs, 3)) for mine, theirs in rates),
            *(Entry(signed(mine, 3), signed(theirs, 3)) for mine, theirs in taxes),
        )

    return Table(
        name="published",
        title="Beside what was published",
        columns=(_heading(cells), "pass@1 before", "after", *(f"Tax_S({k})" for k in ks)),
        blocks=_blocks([one.cell for one in found.cells], row),
        note=(
            "Second: published of the same model and benchmark, with as many tasks and rollouts "
            f"({found.source})."
        ),
    )


def crossing(found: CrossoverSet) -> tuple[str, str]:
    """Return k* and the budgets that it may be, as text."""
    if found.same:
        return "same", "the curves are one"
    k = f">{found.K}" if found.k is None else str(found.k)
    if not found.decides:
        return k, "undecided"
    low = str(found.ks[0]) if found.ks else f">{found.K}"
    high = f">{found.K}" if found.censored else str(found.ks[-1])
    return k, "" if low == high == k else low if low == high else f"{low} to {high}"


def _blocks(cells: Sequence[Cell], row: Callable[[Cell], tuple[Entry, ...]]) -> tuple[Block, ...]:
    names = list(dict.fromkeys(cell.benchmark for cell in cells))
    return tuple(
        (name, tuple(row(cell) for cell in cells if cell.benchmark == name)) for name in names
    )


def _several(cells: Sequence[Cell]) -> tuple[bool, bool]:
    """Return whether there is more than one pair, and more than one arm."""
    return len({cell.pair.name for cell in cells}) > 1, len({cell.arm for cell in cells}) > 1


def _heading(cells: Sequence[Cell]) -> str:
    pairs, arms = _several(cells)
    return ("pair, arm" if pairs else "arm") if arms else "pair"


def label(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return what a cell is called among those of its benchmark."""
    pairs, arms = _several(cells)
    parts = [cell.pair.name] if pairs or not arms else []
    return ", ".join([*parts, *([cell.arm] if arms else [])])


def _difference(found: Estimate, digits: int) -> Entry:
    """Return a difference with half of its interval's width."""
    if math.isnan(found.value):
        return Entry("undefined")
    shown = signed(found.value, digits)
    if math.isnan(found.low):
        return Entry(shown, "no interval")
    half = max(found.high - found.value, found.value - found.low)
    return Entry(shown + (STAR if found.sure else ""), f"{PLUS_MINUS}{number(half, digits)}")


def _correlation(found: Correlation) -> Entry:
    if math.isnan(found.rho):
        return Entry("undefined")
    rho = Estimate(found.rho, math.nan, found.low, found.high)
    return Entry(signed(rho.value, 2) + (STAR if rho.sure else ""), span(rho, 2, sign=True))
