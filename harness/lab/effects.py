"""What an arm did, seed by seed: its measures, and its difference to the arm beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.lab.results import Results
from agentenvs.harness.tax import (
    Counts,
    crossover,
    curve,
    partition,
    sharpening_tax,
    sharpening_tax_interval,
)
from agentenvs.harness.tax.measures import TIE
from agentenvs.harness.tax.shares import Estimate
from agentenvs.toollab import clusters

__all__ = ["Measure", "difference_within", "measures", "names", "within"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that every model has.

    Attributes:
        key: its name in data.
        title: its name for people.
        share: whether it lies between 0 and 1.
        digits: shown after the point.
    """

    key: str
    title: str
    share: bool = True
    digits: int = 3


def names(n: int, budgets: tuple[int, ...]) -> tuple[Measure, ...]:
    """Return the measures for n rollouts and some budgets, in the order of the tables."""
    first = budgets[0]
    small = (Measure("pass_k", f"pass@{first}"),) if first < n else ()
    return (
        Measure("pass_1", "pass@1"),
        *small,
        Measure("pass_n", f"pass@{n}"),
        Measure("never", "never"),
        Measure("always", "always"),
        *(Measure(f"tax_{k}", f"Tax_S({k})", share=False) for k in budgets),
        Measure("k_star", "k*", share=False, digits=0),
        Measure("heldout_1", "held-out pass@1"),
        Measure("heldout_n", f"held-out pass@{n}"),
        Measure("canonical_1", "canonical pass@1"),
        Measure("canonical_n", f"canonical pass@{n}"),
        Measure("exception_1", "exceptions pass@1"),
        Measure("exception_n", f"exceptions pass@{n}"),
        Measure("rollouts", "rollouts", share=False, digits=0),
        Measure("cpu_s", "CPU s", share=False, digits=0),
    )


def measures(results: Results, arm: str, seed: int) -> dict[str, float]:
    """Return a model's measures by key; NaN where one is undefined.

    Taxes and k* are against the model that the arm started from, on the training tasks at the
    reference temperature; NaN for an arm without start. k* is infinite where the curves do not
    cross within n; `crosses`, 1 or 0, tells that in JSON, which has neither.
    """
    config = results.config
    n, first = config.evaluation.n, config.evaluation.budgets[0]
    own = results.counts(arm, seed)
    split = partition(own.c, own.n, n)
    heldout = results.counts(arm, seed, "heldout")
    odd = results.exception
    told = {
        "pass_1": _at(own, 1),
        "pass_k": _at(own, first),
        "pass_n": _at(own, n),
        "never": split.never,
        "always": split.always,
        "heldout_1": _at(heldout, 1),
        "heldout_n": _at(heldout, n),
        "canonical_1": _at(own, 1, ~odd),
        "canonical_n": _at(own, n, ~odd),
        "exception_1": _at(own, 1, odd),
        "exception_n": _at(own, n, odd),
        "rollouts": float(results.found[arm, seed].job["rollouts"]),
        "cpu_s": math.fsum(results.found[arm, seed].job["cpu_s"].values()),
    }
    start = config.arm(arm).start
    for k in config.evaluation.budgets:
        told[f"tax_{k}"] = math.nan
    told["k_star"] = math.nan
    if start is not None and (start, seed) in results.found:
        before = results.counts(start, seed)
        for k in config.evaluation.budgets:
            told[f"tax_{k}"] = sharpening_tax(before, own, k).tax_S
        told["k_star"] = _k_star(before, own, n)
    told["crosses"] = float(math.isfinite(told["k_star"])) if told["k_star"] > 0 else math.nan
    return told


def _k_star(before: Counts, after: Counts, n: int) -> float:
    found = crossover(before, after, n)
    if float(np.abs(found.gap).max()) <= TIE:
        return math.nan
    return math.inf if found.k is None else float(found.k)


def within(results: Results, arm: str, seed: int) -> dict[str, Estimate]:
    """Return what one seed alone can say: drops from the start, with intervals over tasks.

    Tasks of one errand and item are drawn together. Keys: `tax_K` for each budget, `pass_1` and
    `pass_n`, the last two as arm minus start.
    """
    start = results.config.arm(arm).start
    if start is None or (start, seed) not in results.found:
        return {}
    before, after = results.counts(start, seed), results.counts(arm, seed)
    together = clusters(list(before.task_ids), results.config.world)
    told = {}
    for k in results.config.evaluation.budgets:
        told[f"tax_{k}"] = sharpening_tax_interval(before, after, k, clusters=together).tax_S
    return told | _gaps(results, before, after)


def difference_within(results: Results, arm: str, against: str, seed: int) -> dict[str, Estimate]:
    """Return arm minus the other in one seed, with intervals over tasks, which are pairs."""
    told = _gaps(results, results.counts(against, seed), results.counts(arm, seed))
    before, after = (results.counts(one, seed, "heldout") for one in (against, arm))
    heldout = _gaps(results, before, after)
    return told | {f"heldout{key[4:]}": gap for key, gap in heldout.items()}


def _gaps(results: Results, before: Counts, after: Counts) -> dict[str, Estimate]:
    together = clusters(list(before.task_ids), results.config.world)
    found = {}
    for key, k in (("pass_1", 1), ("pass_n", results.config.evaluation.n)):
        gap = sharpening_tax_interval(before, after, k, clusters=together).pass_gap
        found[key] = Estimate(-gap.value, gap.se, -gap.high, -gap.low)
    return found


def _at(counts: Counts, k: int, which: NDArray[np.bool_] | None = None) -> float:
    c, n = (counts.c, counts.n) if which is None else (counts.c[which], counts.n[which])
    return float(curve(c, n, [k])[0])
