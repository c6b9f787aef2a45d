"""What a study's cells say together: signs, sizes, and what the tax goes along with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agentenvs.harness.report.study.cells import CONSISTENCY_K, Cell
from agentenvs.harness.tax.discovery import discoveries, p_value
from agentenvs.harness.tax.rank import Correlation, spearman
from agentenvs.harness.tax.shares import Estimate

__all__ = [
    "AGAINST",
    "Dependence",
    "Line",
    "Relation",
    "Signs",
    "changes",
    "dependence",
    "lines",
    "relations",
    "signs",
]

#: what the tax is correlated with
AGAINST = ("size", "gain", "consistency")
# Fewer cells than this have no interval of a rank correlation.
_LEAST = 4


@dataclass(frozen=True, slots=True)
class Dependence:
    """How the cells of a study hang together.

    Attributes:
        bases: how many cells share their base's run with another one.
        tasks: how many cells were played on tasks that another one was played on too.
        cells: how many there are.
    """

    bases: int
    tasks: int
    cells: int

    @property
    def any(self) -> bool:
        """Whether any two cells hang together."""
        return bool(self.bases or self.tasks)


@dataclass(frozen=True, slots=True)
class Signs:
    """How often a measure is above 0 at a budget.

    Attributes:
        measure: "tax_S", base minus arm; or "pass@k" or "pass^k", arm minus base.
        K: the budget.
        arm: the arm that is counted, None for all.
        cells: how many have the measure; where S is undefined there is no tax.
        above, below: those with an estimate above 0, below 0.
        sure_above, sure_below: those whose interval leaves out 0.
        found_above, found_below: those of them that stay when false discoveries are held at
            `rate` over all cells of the budget.
        found: the places of these in the list of cells, rising.
        rate: the share of false ones among the discoveries that is allowed.
        method: how discoveries were found.
    """

    measure: str
    K: int
    arm: str | None
    cells: int
    above: int
    below: int
    sure_above: int
    sure_below: int
    found_above: int
    found_below: int
    found: tuple[int, ...]
    rate: float
    method: str


@dataclass(frozen=True, slots=True)
class Relation:
    """What the tax at a budget goes along with, over cells.

    Attributes:
        against: one of `AGAINST`: the models' size, the gain of pass@1, the gain of pass^8.
        K: the budget.
        arm, benchmark: of the cells, None for all of them.
        found: Spearman's correlation.
    """

    against: str
    K: int
    arm: str | None
    benchmark: str | None
    found: Correlation


@dataclass(frozen=True, slots=True)
class Line:
    """The taxes of one family of models on one benchmark, by size.

    Attributes:
        family: its name, "" where the file tells none.
        benchmark, arm: of the cells.
        pairs: the models' names, smallest first.
        sizes: in parameters.
        taxes: Tax_S at each budget: a row for each budget, a column for each pair.
    """

    family: str
    benchmark: str
    arm: str
    pairs: tuple[str, ...]
    sizes: tuple[float, ...]
    taxes: tuple[tuple[Estimate, ...], ...]


def dependence(cells: Sequence[Cell]) -> Dependence:
    """Return how many cells share a base's run, or a benchmark's tasks, with another."""
    runs = [cell.base_run for cell in cells]
    owners: dict[tuple[str, str], set[Path]] = {}
    for cell in cells:
        for task in cell.task_ids:
            owners.setdefault((cell.benchmark, task), set()).add(cell.base_run)
    # Cells of one base share its tasks as well; those are told by `bases`.
    shared = {task for task, found in owners.items() if len(found) > 1}
    return Dependence(
        bases=sum(runs.count(run) > 1 for run in runs),
        tasks=sum(
            any((cell.benchmark, task) in shared for task in cell.task_ids) for cell in cells
        ),
        cells=len(cells),
    )


def signs(
    cells: Sequence[Cell], ks: Sequence[int], dependent: bool, rate: float = 0.05
) -> tuple[Signs, ...]:
    """Count taxes above and below 0, over all cells and, where there are several, over each arm.

    Args:
        cells: of the study.
        ks: the budgets.
        dependent: whether cells hang together, so that false discoveries are held down for any
            dependence.
        rate: the share of false ones among the discoveries that is allowed.
    """
    arms = list(dict.fromkeys(cell.arm for cell in cells))
    groups = [None, *(arms if len(arms) > 1 else ())]
    found = []
    for k in ks:
        taxes = [cell.tax(k).tax_S for cell in cells]
        found += _counted("tax_S", k, cells, taxes, groups, dependent, rate)
    return tuple(found)


def changes(
    cells: Sequence[Cell], ks: Sequence[int], dependent: bool, rate: float = 0.05
) -> tuple[Signs, ...]:
    """Count cells in which training raised and lowered pass@1, pass@K and pass^8.

    Args:
        cells: of the study; pass^8 is counted over those that have it.
        ks: the budgets.
        dependent: as in `signs`.
        rate: as in `signs`.
    """
    nothing = Estimate(math.nan, math.nan, math.nan, math.nan)
    kept = [nothing if cell.consistency is None else cell.consistency for cell in cells]
    told = [("pass@k", 1, [cell.gain for cell in cells])]
    told += [("pass@k", k, [cell.tax(k).pass_gap.negated() for cell in cells]) for k in ks]
    told += [("pass^k", CONSISTENCY_K, kept)]
    return tuple(
        one
        for measure, k, values in told
        for one in _counted(measure, k, cells, values, [None], dependent, rate)
    )


def _counted(
    measure: str,
    k: int,
    cells: Sequence[Cell],
    values: Sequence[Estimate],
    groups: Sequence[str | None],
    dependent: bool,
    rate: float,
) -> list[Signs]:
    p = np.array([_chance(cell, value) for cell, value in zip(cells, values, strict=True)])
    stays = discoveries(p, rate, "any" if dependent else "positive").rejected
    found = []
    for arm in groups:
        mine = {
            at: value
            for at, (cell, value) in enumerate(zip(cells, values, strict=True))
            if arm in (None, cell.arm) and not math.isnan(value.value)
        }
        up = {at: value.low > 0 for at, value in mine.items() if value.value > 0}
        down = {at: value.high < 0 for at, value in mine.items() if value.value < 0}
        found.append(
            Signs(
                measure=measure,
                K=k,
                arm=arm,
                cells=len(mine),
                above=len(up),
                below=len(down),
                sure_above=sum(up.values()),
                sure_below=sum(down.values()),
                found_above=sum(bool(stays[at]) for at, sure in up.items() if sure),
                found_below=sum(bool(stays[at]) for at, sure in down.items() if sure),
                found=tuple(at for at in mine if (up | down).get(at) and stays[at]),
                rate=rate,
                method="Benjamini-Yekutieli" if dependent else "Benjamini-Hochberg",
            )
        )
    return found


def relations(
    cells: Sequence[Cell], ks: Sequence[int], confidence: float = 0.95
) -> tuple[Relation, ...]:
    """Correlate Tax_S with the models' size, the gain of pass@1 and the gain of pass^8.

    Over all cells, over those of each arm and over those of each benchmark, where there are
    several and at least four cells are left. Cells without what is asked for (a size, eight
    rollouts, a defined tax) are left out.

    Args:
        cells: of the study.
        ks: the budgets.
        confidence: what the intervals aim at.
    """
    arms = list(dict.fromkeys(cell.arm for cell in cells))
    benchmarks = list(dict.fromkeys(cell.benchmark for cell in cells))
    groups: list[tuple[str | None, str | None]] = [(None, None)]
    groups += [(arm, None) for arm in arms if len(arms) > 1]
    groups += [(None, benchmark) for benchmark in benchmarks if len(benchmarks) > 1]
    found = []
    for against in AGAINST:
        for arm, benchmark in groups:
            mine = [
                cell
                for cell in cells
                if arm in (None, cell.arm) and benchmark in (None, cell.benchmark)
            ]
            for k in ks:
                points = [(_MEASURED[against](cell), cell.tax(k).tax_S.value) for cell in mine]
                told = [point for point in points if not any(map(math.isnan, point))]
                if len(told) >= _LEAST:
                    x, y = zip(*told, strict=True)
                    result = spearman(x, y, confidence)
                    found.append(Relation(against, k, arm, benchmark, result))
    return tuple(found)


def lines(cells: Sequence[Cell], ks: Sequence[int]) -> tuple[Line, ...]:
    """Return the taxes of each family on each benchmark, in the order of the models' sizes."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        if cell.pair.size is not None:
            key = (cell.pair.family or "", cell.benchmark, cell.arm)
            groups.setdefault(key, []).append(cell)
    made = []
    for (family, benchmark, arm), mine in groups.items():
        mine.sort(key=_size)
        made.append(
            Line(
                family=family,
                benchmark=benchmark,
                arm=arm,
                pairs=tuple(cell.pair.name for cell in mine),
                sizes=tuple(_size(cell) for cell in mine),
                taxes=tuple(tuple(cell.tax(k).tax_S for cell in mine) for k in ks),
            )
        )
    return tuple(made)


def _chance(cell: Cell, tax: Estimate) -> float:
    """Return the p-value that goes with the cell's intervals; NaN where there is none."""
    return math.nan if math.isnan(tax.se) else p_value(tax, max(cell.worth, 2.0))


def _size(cell: Cell) -> float:
    return math.nan if cell.pair.size is None else cell.pair.size


def _consistency(cell: Cell) -> float:
    return math.nan if cell.consistency is None else cell.consistency.value


_MEASURED: Mapping[str, Callable[[Cell], float]] = {
    "size": _size,
    "gain": lambda cell: cell.gain.value,
    "consistency": _consistency,
}
