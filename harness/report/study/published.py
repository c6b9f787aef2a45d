"""What the paper reports of the same cells, beside what a study found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentenvs.harness.report.study.cells import Cell
from agentenvs.harness.tax.reference import published

__all__ = ["PUBLISHED_K", "Beside", "PublishedCell", "beside"]

#: the budget of the published count of signs
PUBLISHED_K = 128


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """A cell that the paper has too: the same model, benchmark, tasks in number, and rollouts.

    Attributes:
        cell: of the study.
        pass_1: published, of base and post.
        tax_S: published, by budget: those that the study has too.
        se: published standard error of Tax_S(128).
        crossover: published k*; None for beyond 128.
    """

    cell: Cell
    pass_1: tuple[float, float]
    tax_S: dict[int, float]  # noqa: N815
    se: float
    crossover: int | None


@dataclass(frozen=True, slots=True)
class Beside:
    """Published figures that stand for the same design as the study's.

    Attributes:
        source: where they were published.
        cells: those that both have.
        positive: published (cells with Tax_S(128) > 0, of all), None where the design differs.
        predictor: published correlation of the split-half experiment, likewise.
    """

    source: str
    cells: tuple[PublishedCell, ...]
    positive: tuple[int, int] | None
    predictor: float | None


def beside(
    cells: Sequence[Cell], ks: Sequence[int], predict: tuple[int, int, int] | None
) -> Beside:
    """Return what was published of the same cells and with the same design.

    Figures over all cells stand beside a study of as many pairs on the paper's benchmarks, with
    one trained arm and as many rollouts; the predictor's also asks for the same budgets.

    Args:
        cells: of the study.
        ks: its budgets.
        predict: rollouts and budget of the early tax and budget of the late one, None where
            nothing was foretold.
    """
    data = published()
    figures = {one["name"]: one["value"] for one in data["figures"]}
    whole = _whole(cells, data, figures)
    n = int(figures["rollouts"])
    return Beside(
        source=f"arXiv {data['paper']['arxiv']}, {data['paper']['version']}",
        cells=tuple(_shared(cells, ks, data["cells"]["rows"], n)),
        positive=tuple(figures["positive_tax_S_128"]) if whole and PUBLISHED_K in ks else None,
        predictor=float(figures["half_split_spearman"])
        if whole and predict == (8, 8, 32)
        else None,
    )


def _whole(cells: Sequence[Cell], data: dict[str, Any], figures: dict[str, Any]) -> bool:
    pairs, benchmarks = figures["cells"]
    return (
        len({cell.pair.name for cell in cells}) == pairs
        and len({cell.arm for cell in cells}) == 1
        and {_key(cell.benchmark) for cell in cells}
        == {_key(row["benchmark"]) for row in data["cells"]["rows"]}
        and len(cells) == pairs * benchmarks
        and all(_rollouts(cell) == figures["rollouts"] for cell in cells)
    )


def _shared(
    cells: Sequence[Cell], ks: Sequence[int], rows: list[dict[str, Any]], n: int
) -> list[PublishedCell]:
    known = {(_key(row["model"]), _key(row["benchmark"]), row["tasks"]): row for row in rows}
    found = []
    for cell in cells:
        row = known.get((_key(cell.pair.name), _key(cell.benchmark), cell.tasks))
        if row is None or _rollouts(cell) != n:
            continue
        taxes = {k: row["tax_S"][str(k)] for k in ks if str(k) in row["tax_S"]}
        first, second = row["pass_1"]
        found.append(PublishedCell(cell, (first, second), taxes, row["se"], row["crossover"]))
    return found


def _rollouts(cell: Cell) -> int | None:
    """Return n where it is one for all tasks and both arms."""
    every = {n for span in cell.rollouts for n in span}
    return every.pop() if len(every) == 1 else None


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
