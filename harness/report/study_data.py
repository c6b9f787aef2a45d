"""A study as plain data, for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentenvs.harness.report.study_cells import CONSISTENCY_K, Cell
from agentenvs.harness.report.study_stats import Line
from agentenvs.harness.report.study_words import warnings
from agentenvs.harness.tax.crossing_set import CrossoverSet
from agentenvs.harness.tax.intervals import TaxInterval
from agentenvs.harness.tax.options import KINDS, Option
from agentenvs.harness.tax.prediction import SplitHalf
from agentenvs.harness.tax.routing import Routing
from agentenvs.harness.tax.shares import Estimate

if TYPE_CHECKING:
    from agentenvs.harness.report.study import StudyReport
    from agentenvs.harness.report.study_published import Beside

__all__ = ["plain"]


def plain(found: StudyReport) -> dict[str, Any]:
    """Return a study as dictionaries, lists, numbers and text; NaN stays NaN.

    In `crossover`, `k` is None where the base does not catch up within `K`; where the curves are
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
        "signs": [
            {name: getattr(one, name) for name in type(one).__slots__} for one in found.signs
        ],
        "relations": [
            {
                "against": one.against,
                "K": one.K,
                "arm": one.arm,
                "benchmark": one.benchmark,
                **one.found._asdict(),
            }
            for one in found.relations
        ],
        "lines": [_line(line, found.ks) for line in found.lines],
        "prediction": None if found.prediction is None else _prediction(found.prediction),
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
            name: _estimate(one) for name, one in zip((first, second), cell.pass_1, strict=True)
        },
        "pass_at_1_gain": _estimate(cell.gain),
        "consistency": (
            None
            if cell.consistency is None
            else {"k": CONSISTENCY_K, "gain": _estimate(cell.consistency)}
        ),
        "rows": [_row(one, first, second) for one in cell.taxes],
        "crossover": _crossing(cell.crossing),
        "choice": None if cell.choice is None else _choice(cell.choice),
        "warnings": list(cell.warnings),
    }


def _row(one: TaxInterval, first: str, second: str) -> dict[str, Any]:
    return {
        "K": one.K,
        "pass_at_K": {first: _estimate(one.pass_base), second: _estimate(one.pass_post)},
        "pass_at_K_gap": _estimate(one.pass_gap),
        "A": {first: _estimate(one.A_base), second: _estimate(one.A_post)},
        "S": {first: _estimate(one.S_base), second: _estimate(one.S_post)},
        "tax_A": _estimate(one.tax_A),
        "tax_S": _estimate(one.tax_S),
        "method": one.method,
        "covers": list(one.covers),
    }


def _crossing(found: CrossoverSet) -> dict[str, Any]:
    return {
        "k": None if found.same else found.k,
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
    def option(one: Option | None) -> dict[str, Any] | None:
        if one is None:
            return None
        return {**one._asdict(), "coverage": _estimate(one.coverage), "cost": _estimate(one.cost)}

    return {
        "price": list(found.price),
        "target": found.target,
        "budget": found.budget,
        "best": option(found.best),
        "runner_up": option(found.runner_up),
        "saving": _estimate(found.saving),
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
        "tax_S": {
            str(k): [_estimate(tax) for tax in taxes]
            for k, taxes in zip(ks, line.taxes, strict=True)
        },
    }


def _prediction(found: SplitHalf) -> dict[str, Any]:
    return {
        **found._asdict(),
        "rho": found.rho._asdict(),
        "over_cells": found.over_cells._asdict(),
        "early": found.early.tolist(),
        "late": found.late.tolist(),
        "rhos": found.rhos.tolist(),
        "tasks": list(found.tasks),
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


def _estimate(one: Estimate) -> dict[str, float]:
    return one._asdict()
