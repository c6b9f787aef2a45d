"""A study's numbers as tables of text, for a terminal and for the page alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agentenvs.harness.report.formats import number, percent, signed
from agentenvs.harness.report.markup import Cell as Entry
from agentenvs.harness.report.study.cells import CONSISTENCY_K, Cell
from agentenvs.harness.report.study.entries import (
    STAR,
    STARS,
    Block,
    Row,
    Table,
    blocks,
    correlation,
    crossing,
    difference,
    heading,
    label,
    stars,
)
from agentenvs.harness.report.study.published import Beside
from agentenvs.harness.report.study.stats import AGAINST, Relation, Signs
from agentenvs.harness.tax.shares import Estimate

__all__ = [
    "change_table",
    "gain_table",
    "noisy",
    "published_table",
    "relation_table",
    "sign_table",
    "tax_table",
]

_NAMES = {
    "size": "the models' size",
    "gain": "the gain of pass@1",
    "consistency": f"the gain of pass^{CONSISTENCY_K}",
}
_STARRED = (
    f"{STAR}: the interval leaves out 0; {STARS}: beyond chance, also when all comparisons are "
    "judged together"
)
_SIGNS = (
    "cells",
    "above 0",
    f"above {STAR}",
    f"above {STARS}",
    "below 0",
    f"below {STAR}",
    f"below {STARS}",
)


def gain_table(
    cells: Sequence[Cell], main: int, changes: Sequence[Signs], small: bool = True
) -> Table:
    """Return what training gained at the first try, and what is left of it after many.

    Args:
        cells: of the study.
        main: how many tries are many.
        changes: as `changes` counts them.
        small: whether changes have their intervals beside them, in small print.
    """
    counted = {(one.measure, one.K): one for one in changes}
    many = f"pass@{main}"

    def after(rate: Estimate, change: Estimate, mark: str) -> Entry:
        told = difference(change, 3)
        more = f"{told.text} {told.more}" if small else ""
        return Entry(number(rate.value, 3) + mark, more)

    def rows(at: int, cell: Cell) -> list[Row]:
        found, kept = cell.tax(main), cell.consistency
        gap = found.pass_gap.negated()
        held = Entry("-")
        if kept is not None:
            held = difference(kept, 3, stars(kept, at, counted["pass^k", CONSISTENCY_K]))
        row = (
            Entry(label(cell, cells)),
            Entry(number(cell.pass_1[0].value, 3)),
            after(cell.pass_1[1], cell.gain, stars(cell.gain, at, counted["pass@k", 1])),
            Entry(number(found.pass_base.value, 3)),
            after(found.pass_post, gap, stars(gap, at, counted["pass@k", main])),
            held if small else Entry(held.text),
            Entry(*crossing(cell.crossing)),
        )
        return [row]

    return Table(
        name="gains",
        title="What training gained",
        columns=(
            heading(cells),
            "pass@1 before",
            "after",
            f"{many} before",
            "after",
            f"pass^{CONSISTENCY_K} gained",
            "k*",
        ),
        blocks=blocks(cells, rows),
        note=(
            "pass@k: at least one of k tries succeeds; "
            f"pass^{CONSISTENCY_K}: all {CONSISTENCY_K} do. {_STARRED}. Of "
            "two numbers the second has the stars of their difference"
            f"{', told below it with its interval' if small else ''}. k*: the number of tries from "
            "which the base solves as many tasks as the trained model, and its interval."
        ),
    )


def tax_table(cells: Sequence[Cell], ks: Sequence[int], signs: Sequence[Signs]) -> Table:
    """Return Tax_S of each cell at each budget, and without the tasks that no agent can solve.

    Args:
        cells: of the study.
        ks: the budgets.
        signs: as `signs` counts them.
    """
    counted = {one.K: one for one in signs if one.arm is None}

    def rows(at: int, cell: Cell) -> list[Row]:
        taxes = [(cell.tax(k).tax_S, counted[k]) for k in ks]
        marked = (difference(tax, 3, stars(tax, at, one)) for tax, one in taxes)
        told: list[Row] = [(Entry(label(cell, cells)), *marked)]
        rest = cell.without
        if rest is not None:
            others = (rest.tax(k).tax_S for k in ks)
            told.append(
                (
                    Entry(f"- without {cell.tasks - rest.tasks} of {cell.tasks}"),
                    *(difference(tax, 3, STAR if tax.sure else "") for tax in others),
                )
            )
        return told

    scatter = [f"K = {k}{where}" for k in ks if (where := noisy(cells, k)) is not None]
    told = (
        "Tax_S: how much less trying again mends after training than before it; above 0, "
        f"training cost something. {_STARRED}."
    )
    if scatter:
        told += (
            f" More than half of the rollouts, where estimates scatter most: {'; '.join(scatter)}."
        )
    if any(cell.without is not None for cell in cells):
        told += " Without: unsolvable tasks left out."
    return Table(
        name="taxes",
        title="The tax at each number of tries",
        columns=(heading(cells), *(f"Tax_S({k})" for k in ks)),
        blocks=blocks(cells, rows),
        note=told,
    )


def noisy(cells: Sequence[Cell], k: int) -> str | None:
    """Return in which cells a budget is more than half of the rollouts, None where in none.

    Returns:
        "" where in all, or else words in brackets: the benchmarks, or how many of their cells.
    """
    high = [cell for cell in cells if 2 * k > cell.n]
    if not high:
        return None
    if len(high) == len(cells):
        return ""
    told = []
    for benchmark in dict.fromkeys(cell.benchmark for cell in high):
        many = sum(cell.benchmark == benchmark for cell in high)
        every = sum(cell.benchmark == benchmark for cell in cells)
        told.append(benchmark + ("" if many == every else f": {many} of {every}"))
    return f" ({', '.join(told)})"


def sign_table(signs: Sequence[Signs], without: Sequence[Signs], shared: str) -> Table:
    """Return how many cells have a tax above and below 0, and how many with their interval.

    Args:
        signs: the counts.
        without: those without the tasks that no agent can solve, if there are any.
        shared: how cells hang together, in words.
    """
    arms = list(dict.fromkeys(one.arm for one in signs))
    told: list[Block] = [
        (
            arm or ("all arms" if len(arms) > 1 else "all tasks" if without else ""),
            tuple(_sign_row(f"Tax_S({one.K})", one) for one in signs if one.arm == arm),
        )
        for arm in arms
    ]
    if without:
        rest = tuple(_sign_row(f"Tax_S({one.K})", one) for one in without if one.arm is None)
        told.insert(1, ("without unsolvable tasks", rest))
    return Table(
        name="signs",
        title="How often there is a tax",
        columns=("measure", *_SIGNS),
        blocks=tuple(told),
        note=f"{_starred(signs[0])}{' ' if shared else ''}{shared}",
    )


def change_table(changes: Sequence[Signs]) -> Table:
    """Return in how many cells training raised and lowered success, for every number of tries.

    Args:
        changes: the counts.
    """
    return Table(
        name="changes",
        title="How often success rose and fell",
        columns=(
            "measure",
            "cells",
            *("rose", f"rose {STAR}", f"rose {STARS}", "fell", f"fell {STAR}", f"fell {STARS}"),
        ),
        blocks=(
            ("", tuple(_sign_row(one.measure.replace("k", str(one.K)), one) for one in changes)),
        ),
        note=f"{_STARRED}.",
    )


def relation_table(
    relations: Sequence[Relation], ks: Sequence[int], arms: bool = True
) -> Table | None:
    """Return what the tax goes along with; None where too few cells tell.

    Args:
        relations: the correlations.
        ks: the budgets to tell.
        arms: whether those of single arms are told too.
    """
    told: list[Block] = []
    for against in AGAINST:
        mine = [one for one in relations if one.against == against and (arms or one.arm is None)]
        groups = list(dict.fromkeys((one.arm, one.benchmark) for one in mine))
        rows: list[Row] = []
        for arm, benchmark in groups:
            by_k = {
                one.K: one.found for one in mine if (one.arm, one.benchmark) == (arm, benchmark)
            }
            shown = [correlation(by_k[k]) if k in by_k else Entry("-") for k in ks]
            size = max(found.n for found in by_k.values())
            rows.append((Entry(f"{arm or benchmark or 'all cells'} ({size})"), *shown))
        if rows:
            told.append((f"with {_NAMES[against]}", tuple(rows)))
    if not told:
        return None
    every = dict.fromkeys(one.K for one in relations)
    return Table(
        name="relations",
        title="What the tax goes along with",
        columns=("cells", *(f"Tax_S({k})" for k in ks)),
        blocks=tuple(told),
        note=(
            "Spearman's rank correlation over cells, from \u22121 to 1, with its interval, which "
            "takes cells as independent: where they share tasks or a base it is too narrow. Over "
            "all cells, differences between benchmarks and arms count too. In brackets: how many "
            f"cells. {STAR}: the interval leaves out 0."
            + (" The page and --json tell it at all budgets." if len(ks) < len(every) else "")
        ),
    )


def published_table(found: Beside, cells: Sequence[Cell]) -> Table | None:
    """Return the paper's figures beside those of the same cells; None where there are none."""
    if not found.cells:
        return None
    ks = sorted({k for one in found.cells for k in one.tax_S})
    told = {id(one.cell): one for one in found.cells}

    def rows(at: int, cell: Cell) -> list[Row]:
        one = told[id(cell)]
        rates = zip(cell.pass_1, one.pass_1, strict=True)
        taxes = ((cell.tax(k).tax_S.value, one.tax_S.get(k, math.nan)) for k in ks)
        row = (
            Entry(label(cell, cells)),
            *(Entry(number(mine.value, 3), number(theirs, 3)) for mine, theirs in rates),
            *(Entry(signed(mine, 3), signed(theirs, 3)) for mine, theirs in taxes),
        )
        return [row]

    return Table(
        name="published",
        title="Beside what was published",
        columns=(heading(cells), "pass@1 before", "after", *(f"Tax_S({k})" for k in ks)),
        blocks=blocks([one.cell for one in found.cells], rows),
        note=(
            "Second: published of the same model and benchmark, with as many tasks and rollouts "
            f"({found.source})."
        ),
    )


def _sign_row(name: str, one: Signs) -> Row:
    counts = (
        one.cells,
        one.above,
        one.sure_above,
        one.found_above,
        one.below,
        one.sure_below,
        one.found_below,
    )
    return (Entry(name), *(Entry(str(many)) for many in counts))


def _starred(one: Signs) -> str:
    told = f"at most {percent(one.rate)} of such findings are expected to be false"
    return f"{_STARRED}: {told} ({one.method})."
