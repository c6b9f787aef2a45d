"""Which model to ask in each cell of a study, as a table of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agentenvs.harness.report.formats import number, percent
from agentenvs.harness.report.markup import Cell as Entry
from agentenvs.harness.report.study.cells import Cell
from agentenvs.harness.report.study.entries import PLUS_MINUS, Row, Table, blocks, heading, label
from agentenvs.harness.report.study.file import StudyFile
from agentenvs.harness.tax.routing.options import KINDS
from agentenvs.harness.tax.routing.route import ArmChoice, Routing
from agentenvs.harness.tax.shares import Estimate

__all__ = ["choice_table"]


def choice_table(cells: Sequence[Cell], study: StudyFile) -> Table | None:
    """Return which arm to ask and how often; None where the study does not ask."""
    if study.target is None and study.budget is None:
        return None
    cheapest = study.target is not None

    def rows(at: int, cell: Cell) -> list[Row]:
        made = cell.choice
        if made is None or made.best is None:
            return [(Entry(label(cell, cells)), Entry("none"), *(Entry("-"),) * 5)]
        best, rival, names = made.best, made.runner_up, {"base": cell.base, "post": cell.arm}
        second = Entry("-"), Entry("-")
        if rival is not None:
            other = _cost(rival.cost.value) if cheapest else percent(rival.coverage.value)
            second = Entry(f"{names[rival.arm]}@{rival.k}"), Entry(other)
        sure = percent(made.shares[KINDS.index(best.kind)])
        row = (
            Entry(label(cell, cells)),
            Entry(f"{names[best.arm]}@{best.k}"),
            Entry(percent(best.coverage.value), _shares(best.coverage)),
            Entry(_cost(best.cost.value), _costs(made)),
            *second,
            Entry(sure + ("" if made.decided else " ?")),
        )
        return [row]

    asked = (
        f"the cheapest way to solve {percent(study.target)} of the tasks"
        if study.target is not None
        else f"the most tasks for {study.budget:g} a task"
    )
    first, second = study.price
    return Table(
        name="choices",
        title="Which model to ask, and how often",
        columns=(
            heading(cells),
            "ask",
            "solves",
            "costs",
            "next best",
            "which costs" if cheapest else "which solves",
            "kind best in",
        ),
        blocks=blocks(cells, rows),
        note=(
            f"Asked for: {asked}. A rollout of {study.arms[0]} costs {first:g}, of another arm "
            f"{second:g}; all k tries are paid for. name@k: that arm, k tries. Behind "
            f"{PLUS_MINUS}, in brackets or in small print: intervals; that of the cost comes from "
            "how many tries it may take. Next "
            "best: what the other arm has to offer. Kind best in: the share of samples of such "
            "tasks in which this kind of way is the best, which is to ask the base, the trained "
            "model once, or the trained model several times, whatever the k; ?: the data do not "
            "decide. None: no number of tries that were played will do."
        ),
    )


def _shares(found: Estimate) -> str:
    if math.isnan(found.low):
        return ""
    half = max(found.high - found.value, found.value - found.low)
    return f"{PLUS_MINUS}{number(100 * half, 0)}"


def _costs(made: Routing) -> str:
    """Return what the tries may cost that a target takes; with a budget they are known."""
    best = made.best
    if made.target is None or best is None:
        return ""
    choice: ArmChoice = made.base if best.arm == "base" else made.post
    price = made.price[best.arm == "post"]
    low, high, most = choice.k_low, choice.k_high, choice.furthest.k
    ends = tuple(f">{_cost(most * price)}" if k is None else _cost(k * price) for k in (low, high))
    return " to ".join(dict.fromkeys(ends))


def _cost(value: float) -> str:
    return f"{value:.3g}"
