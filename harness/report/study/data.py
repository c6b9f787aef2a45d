"""A study as plain data, for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentenvs.harness.plain_data import as_data
from agentenvs.harness.report.study.cells import CONSISTENCY_K, Cell
from agentenvs.harness.report.study.stats import Line
from agentenvs.harness.report.study.words import warnings
from agentenvs.harness.tax.crossing import CrossoverSet
from agentenvs.harness.tax.intervals import TaxInterval
from agentenvs.harness.tax.routing.options import KINDS
from agentenvs.harness.tax.routing.route import Routing

if TYPE_CHECKING:
    from agentenvs.harness.report.study.published import Beside
    from agentenvs.harness.report.study.report import StudyReport

__all__ = ["plain"]


def plain(found: StudyReport) -> dict[str, Any]:
    """Return a study as dictionaries, lists, numbers and text; NaN stays NaN.

    In `crossover`, `k`, `low` and `high` are None where they lie beyond `K`; where the curves are
    one, `same` says so and `k` is None too.
    """
    study = found.study
    return {
        "title": study.title,
        "confidence": found.confidence,
        "benchmarks": list(study.benchmarks),
        "arms": list(study.arms),
        "pairs": [
            {"name": pair.name, "size": pair.size, "family": pair.family} for pair in study.pairs
        ],
        "K": list(found.ks),
        "scripted": found.scripted,
        "skipped": list(found.skipped),
        "cells": [_cell(cell) for cell in found.cells],
        "dependence": {
            "shared_bases": found.dependence.bases,
            "shared_tasks": found.dependence.tasks,
            "cells": found.dependence.cells,
        },
        "signs": as_data(found.signs),
        "signs_without_unsolvable": as_data(found.signs_without),
        "changes": as_data(found.changes),
        "relations": [
            {
                "against": one.against,
                "K": one.K,
                "arm": one.arm,
                "benchmark": one.benchmark,
                **as_data(one.found),
            }
            for one in found.relations
        ],
        "lines": [_line(line, found.ks) for line in found.lines],
        "prediction": as_data(found.prediction),
        "unpredicted": found.unpredicted,
        "published": _published(found.published),
        "warnings": [
            {"warning": text, "cells": list(names)} for text, names in warnings(found.cells)
        ],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    first, second = cell.base, cell.arm
    return {
        "pair": cell.pair.name,
        "benchmark": cell.benchmark,
        "base": first,
        "arm": second,
        "tasks": cell.tasks,
        "clusters": cell.clusters,
        "rollouts": {
            name: list(span) for name, span in zip((first, second), cell.rollouts, strict=True)
        },
        "scripted": cell.scripted,
        "pass_at_1": {
            name: as_data(one) for name, one in zip((first, second), cell.pass_1, strict=True)
        },
        "pass_at_1_gain": as_data(cell.gain),
        "consistency": (
            None
            if cell.consistency is None
            else {"k": CONSISTENCY_K, "gain": as_data(cell.consistency)}
        ),
        "rows": [_row(one, first, second) for one in cell.taxes],
        "crossover": _crossing(cell.crossing),
        "choice": None if cell.choice is None else _choice(cell.choice),
        "warnings": list(cell.warnings),
        "without_unsolvable": None if cell.without is None else _cell(cell.without),
    }


def _row(one: TaxInterval, first: str, second: str) -> dict[str, Any]:
    return {
        "K": one.K,
        "pass_at_K": {first: as_data(one.pass_base), second: as_data(one.pass_post)},
        "pass_at_K_gap": as_data(one.pass_gap),
        "A": {first: as_data(one.A_base), second: as_data(one.A_post)},
        "S": {first: as_data(one.S_base), second: as_data(one.S_post)},
        "tax_A": as_data(one.tax_A),
        "tax_S": as_data(one.tax_S),
        "method": one.method,
        "covers": list(one.covers),
    }


def _crossing(found: CrossoverSet) -> dict[str, Any]:
    return {
        "k": None if found.same else found.k,
        "low": found.low,
        "high": found.high,
        "ks": list(found.ks),
        "censored": found.censored,
        "share_censored": found.share_censored,
        "stays_above": found.stays_above,
        "K": found.K,
        "same": found.same,
        "decides": found.decides,
        "method": found.method,
        "covers": list(found.covers),
    }


def _choice(found: Routing) -> dict[str, Any]:
    return {
        "price": list(found.price),
        "target": found.target,
        "budget": found.budget,
        "best": as_data(found.best),
        "runner_up": as_data(found.runner_up),
        "saving": as_data(found.saving),
        "shares": dict(zip(KINDS, found.shares, strict=True)),
        "share_none": found.share_none,
        "decided": found.decided,
        "method": found.method,
        "covers": list(found.covers),
    }


def _line(line: Line, ks: tuple[int, ...]) -> dict[str, Any]:
    return {
        "family": line.family,
        "benchmark": line.benchmark,
        "arm": line.arm,
        "pairs": list(line.pairs),
        "sizes": list(line.sizes),
        "tax_S": {str(k): as_data(taxes) for k, taxes in zip(ks, line.taxes, strict=True)},
    }


def _published(found: Beside) -> dict[str, Any]:
    return {
        "source": found.source,
        "positive_tax_S_128": None if found.positive is None else list(found.positive),
        "predictor": found.predictor,
        "cells": [
            {
                "pair": one.cell.pair.name,
                "benchmark": one.cell.benchmark,
                "arm": one.cell.arm,
                "pass_at_1": list(one.pass_1),
                "tax_S": {str(k): value for k, value in one.tax_S.items()},
                "se_of_tax_S_128": one.se,
                "crossover": one.crossover,
            }
            for one in found.cells
        ],
    }
