"""The figures of a study; need Matplotlib."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agentenvs.harness.report.study.cells import CONSISTENCY_K, Cell
from agentenvs.harness.report.study.entries import label
from agentenvs.harness.tax.rank import Correlation
from agentenvs.harness.tax.shares import Estimate

if TYPE_CHECKING:
    from agentenvs.harness.report.figures import Picture
    from agentenvs.harness.report.study.report import StudyReport

__all__ = ["pictures"]

# More lines than this cannot be told apart.
_LINES = 12
_MANY = 16
# Characters of a name that go into that of a file.
_LONGEST = 60


def pictures(found: StudyReport) -> list[Picture]:
    """Draw a study: taxes as a grid and by size, and what they go along with, at each budget.

    Names end in the budget. The main one comes first.

    Raises:
        ImportError: Matplotlib is missing.
    """
    ks = [found.main, *(k for k in found.ks if k != found.main)]
    # By size there is a figure for each benchmark: of many, the main budget must do.
    few = ks if len(ks) * len(found.study.benchmarks) <= _MANY else ks[:1]
    return [
        *(_grid(found, k) for k in ks),
        *(one for k in few for one in _sizes(found, k)),
        *(one for k in ks for one in _scatters(found, k)),
        *_foretold(found),
    ]


def _grid(found: StudyReport, k: int) -> Picture:
    from agentenvs.harness.report import figures

    rows = list(dict.fromkeys(label(cell, found.cells) for cell in found.cells))
    columns = list(dict.fromkeys(cell.benchmark for cell in found.cells))
    names = [(label(cell, found.cells), cell.benchmark) for cell in found.cells]
    taxes = dict(zip(names, (cell.tax(k).tax_S for cell in found.cells), strict=True))
    counted = next(one for one in found.signs if k == one.K and one.arm is None)
    stay = {names[at] for at in counted.found}
    return figures.tax_grid(rows, columns, taxes, k, f"tax_grid_{k}", found=stay)


def _sizes(found: StudyReport, k: int) -> list[Picture]:
    from agentenvs.harness.report import figures

    at = found.ks.index(k)
    arms = {line.arm for line in found.lines}
    drawn = []
    for number, benchmark in enumerate(dict.fromkeys(line.benchmark for line in found.lines)):
        mine = [line for line in found.lines if line.benchmark == benchmark]
        groups: dict[str, list[tuple[float, Estimate]]] = {}
        for line in mine:
            parts = [line.family or "no family told"] if len(mine) <= _LINES else []
            parts += [line.arm] if len(arms) > 1 else []
            points = [
                (size, tax)
                for size, tax in zip(line.sizes, line.taxes[at], strict=True)
                if not math.isnan(tax.value)
            ]
            if points:
                groups.setdefault(", ".join(parts) or "all", []).extend(points)
        if len({size for points in groups.values() for size, _ in points}) > 1:
            name = f"tax_by_size_{number}_{_slug(benchmark)}_{k}"
            title = f"{benchmark}, {k} tries"
            drawn.append(figures.tax_by_size(groups, k, name, title))
    return drawn


def _scatters(found: StudyReport, k: int) -> list[Picture]:
    from agentenvs.harness.report import figures

    groups = {
        name: [cell for cell in cells if not math.isnan(cell.tax(k).tax_S.value)]
        for name, cells in _groups(found.cells).items()
    }
    tax = f"Tax_S({k})"

    def over(against: str) -> Correlation | None:
        told = [
            one.found
            for one in found.relations
            if (one.against, one.K, one.arm, one.benchmark) == (against, k, None, None)
        ]
        return told[0] if told else None

    gains = {
        name: [(cell.gain, cell.tax(k).tax_S) for cell in cells] for name, cells in groups.items()
    }
    held = {
        name: [
            (cell.consistency, cell.tax(k).tax_S) for cell in cells if cell.consistency is not None
        ]
        for name, cells in groups.items()
    }
    drawn = []
    for points, what, against, title in (
        (gains, "gain of pass@1", "gain", "The tax and the gain at the first try"),
        (
            held,
            f"gain of pass^{CONSISTENCY_K}",
            "consistency",
            "The tax and what was gained in consistency",
        ),
    ):
        there = {name: some for name, some in points.items() if some}
        if there:
            name = f"tax_over_{against}_{k}"
            drawn.append(figures.scatter(there, (what, tax), over(against), name, title))
    return drawn


def _foretold(found: StudyReport) -> list[Picture]:
    from agentenvs.harness.report import figures

    made = found.prediction
    if made is None:
        return []
    places = {id(cell): at for at, cell in enumerate(found.cells)}

    def bare(value: float) -> Estimate:
        return Estimate(float(value), math.nan, math.nan, math.nan)

    points = {
        name: [
            (bare(made.early[places[id(cell)]]), bare(made.late[places[id(cell)]]))
            for cell in cells
            if not math.isnan(made.early[places[id(cell)]] + made.late[places[id(cell)]])
        ]
        for name, cells in _groups(found.cells).items()
    }
    told = {name: pairs for name, pairs in points.items() if pairs}
    if not told:
        return []
    drawn = figures.scatter(
        told,
        (
            f"Tax_S({made.early_K}), {made.early_rollouts} rollouts, half of the tasks",
            f"Tax_S({made.late_K}), other half",
        ),
        None,
        "prediction",
        "Foretold by a few rollouts",
    )
    caption = (
        "Each mark is a comparison: its early tax, from a few rollouts, and the one to foretell, "
        "both as means over splits, which scatter less than a single split does."
    )
    return [replace(drawn, caption=caption)]


def _groups(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Return the cells by benchmark, or by arm where there is one benchmark."""
    single = len({cell.benchmark for cell in cells}) == 1
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.arm if single else cell.benchmark, []).append(cell)
    return groups


def _slug(name: str) -> str:
    """Return a part of a file's name, which may not be long."""
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:_LONGEST].rstrip("_")
