"""The figures of a study; need Matplotlib."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agentenvs.harness.report.study_cells import CONSISTENCY_K, Cell
from agentenvs.harness.report.study_tables import label
from agentenvs.harness.tax.rank import Correlation
from agentenvs.harness.tax.shares import Estimate

if TYPE_CHECKING:
    from agentenvs.harness.report.figures import Picture
    from agentenvs.harness.report.study import StudyReport

__all__ = ["pictures"]

# More lines than this cannot be told apart.
_LINES = 12
# Characters of a name that go into that of a file.
_LONGEST = 60


def pictures(found: StudyReport) -> list[Picture]:
    """Draw a study: taxes as a grid and by size, and what they go along with.

    Raises:
        ImportError: Matplotlib is missing.
    """
    return [*_grids(found), *_sizes(found), *_scatters(found), *_foretold(found)]


def _grids(found: StudyReport) -> list[Picture]:
    """Draw the taxes at the first and at the main budget, which may tell different stories."""
    from agentenvs.harness.report import figures

    rows = list(dict.fromkeys(label(cell, found.cells) for cell in found.cells))
    columns = list(dict.fromkeys(cell.benchmark for cell in found.cells))
    return [
        figures.tax_grid(
            rows,
            columns,
            {(label(cell, found.cells), cell.benchmark): cell.tax(k).tax_S for cell in found.cells},
            k,
            f"tax_grid_{k}",
        )
        for k in dict.fromkeys((found.ks[0], found.main))
    ]


def _sizes(found: StudyReport) -> list[Picture]:
    from agentenvs.harness.report import figures

    at = found.ks.index(found.main)
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
            drawn.append(
                figures.tax_by_size(
                    groups,
                    found.main,
                    f"tax_by_size_{number}_{_slug(benchmark)}",
                    f"The tax by size: {benchmark}",
                )
            )
    return drawn


def _scatters(found: StudyReport) -> list[Picture]:
    from agentenvs.harness.report import figures

    groups = _groups(found.cells)
    tax = f"Tax_S({found.main})"

    def over(against: str) -> Correlation | None:
        told = [
            one.found
            for one in found.relations
            if (one.against, one.K, one.arm, one.benchmark) == (against, found.main, None, None)
        ]
        return told[0] if told else None

    kept = {
        name: [cell for cell in cells if not math.isnan(cell.tax(found.main).tax_S.value)]
        for name, cells in groups.items()
    }
    gains = {
        name: [(cell.gain, cell.tax(found.main).tax_S) for cell in cells]
        for name, cells in kept.items()
        if cells
    }
    held = {
        name: [
            (cell.consistency, cell.tax(found.main).tax_S)
            for cell in cells
            if cell.consistency is not None
        ]
        for name, cells in kept.items()
    }
    held = {name: points for name, points in held.items() if points}
    drawn = []
    if gains:
        drawn.append(
            figures.scatter(
                gains,
                ("gain of pass@1", tax),
                over("gain"),
                "tax_over_gain",
                "The tax and the gain at the first try",
            )
        )
    if held:
        drawn.append(
            figures.scatter(
                held,
                (f"gain of pass^{CONSISTENCY_K}", tax),
                over("consistency"),
                "tax_over_consistency",
                "The tax and what was gained in consistency",
            )
        )
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
