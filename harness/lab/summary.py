"""Everything that a study found, as plain data: what the table, the figures and the page show."""

from __future__ import annotations

import math
from typing import Any

from agentenvs.harness.lab.effects import Measure, difference_within, measures, names, within
from agentenvs.harness.lab.heat import heat_bins
from agentenvs.harness.lab.matched import matched
from agentenvs.harness.lab.results import Results
from agentenvs.harness.lab.student import over_seeds

__all__ = ["PAIRED", "summarise"]

#: measures of which differences to the arm beside are told, besides every tax
PAIRED = ("pass_1", "pass_n", "never", "always", "heldout_1", "heldout_n", "exception_n")


def summarise(results: Results) -> dict[str, Any]:
    """Return the study's numbers.

    `arms` has for each arm its values by seed (`by_seed`), their means with t intervals over
    seeds (`spread`), what changed from its start (`change`), and of the first seed what it says
    alone, with intervals over tasks (`within`). `pairs` has, for each arm that stands beside
    another, the differences seed by seed with their t intervals, and those at equal pass@1.
    `not_run` names what was not run. NaN stays NaN; k* is infinite where curves do not cross
    within n.
    """
    config = results.config
    shown = names(config.evaluation.n, config.evaluation.budgets)
    arms = {name: _arm(results, name, shown) for name in results.arms()}
    return {
        "name": config.name,
        "digest": config.digest,
        "world": config.world,
        "n": config.evaluation.n,
        "budgets": list(config.evaluation.budgets),
        "reference": config.reference,
        "temperatures": list(config.evaluation.temperatures),
        "probe_temperatures": list(config.probe.temperatures),
        "probe_n": config.probe.n,
        "hot": config.probe.hot,
        "tasks": {
            "train": len(results.exception),
            "exceptions": int(results.exception.sum()),
            "heldout": len(results.counts(*next(iter(results.found)), "heldout").c),
        },
        "measures": {one.key: one.title for one in shown},
        "seeds": results.seeds(),
        "arms": arms,
        "pairs": [
            _pair(results, arm.name, arm.against, shown, arms)
            for arm in config.arms
            if arm.against is not None and results.seeds(arm.name, arm.against)
        ],
        "not_run": _not_run(results),
    }


def _arm(results: Results, name: str, shown: tuple[Measure, ...]) -> dict[str, Any]:
    arm, seeds = results.config.arm(name), results.seeds(name)
    by_seed = {seed: measures(results, name, seed) for seed in seeds}
    return {
        "label": arm.label,
        "family": arm.family,
        "how": arm.how,
        "data": arm.data,
        "start": arm.start,
        "teacher": arm.teacher,
        "against": arm.against,
        "tempered": arm.sampler is not None,
        "seeds": seeds,
        "by_seed": {str(seed): values for seed, values in by_seed.items()},
        "change": _changes(results, name, shown),
        "spread": {
            one.key: over_seeds(_finite([by_seed[seed][one.key] for seed in seeds]))._asdict()
            for one in shown
        },
        "within": {
            "seed": seeds[0],
            **{key: found._asdict() for key, found in within(results, name, seeds[0]).items()},
        },
        "heat": {
            str(seed): [one._asdict() for one in heat_bins(results, name, seed)] for seed in seeds
        },
        "sampler": {
            str(seed): told["stats"]
            for seed in seeds
            if (told := results.found[name, seed].job.get("sampler"))
        },
        "weights": results.found[name, seeds[0]].job.get("weights"),
    }


def _pair(
    results: Results,
    name: str,
    against: str,
    shown: tuple[Measure, ...],
    arms: dict[str, Any],
) -> dict[str, Any]:
    seeds = results.seeds(name, against)
    found_by = arms[name]["by_seed"], arms[against]["by_seed"]
    differences = {}
    for one in shown:
        if one.key in PAIRED or one.key.startswith("tax_"):
            pairs = [[by[str(seed)][one.key] for by in found_by] for seed in seeds]
            differences[one.key] = _spread([own - other for own, other in pairs])
    found = {seed: matched(results, name, against, seed) for seed in seeds}
    same = {seed: one for seed, one in found.items() if one is not None}
    at_equal = None
    if same:
        coverage = [one.arm.pass_k - one.against.pass_k for one in same.values()]
        tax = [one.arm.tax - one.against.tax for one in same.values()]
        at_equal = {
            "k": next(iter(same.values())).k,
            "seeds": list(same),
            "pass_1": [one.pass_1 for one in same.values()],
            "pass_k": _spread(coverage),
            "tax": _spread(tax),
        }
    first = seeds[0]
    return {
        "arm": name,
        "against": against,
        "seeds": seeds,
        "differences": differences,
        "within": {
            "seed": first,
            **{
                key: gap._asdict()
                for key, gap in difference_within(results, name, against, first).items()
            },
        },
        "at_equal_pass_1": at_equal,
    }


def _changes(results: Results, name: str, shown: tuple[Measure, ...]) -> dict[str, Any]:
    """Return the arm minus its start, seed by seed; empty without a start."""
    start = results.config.arm(name).start
    if start is None or not results.seeds(name, start):
        return {}
    pairs = [
        (measures(results, name, seed), measures(results, start, seed))
        for seed in results.seeds(name, start)
    ]
    return {
        one.key: _spread([after[one.key] - before[one.key] for after, before in pairs])
        for one in shown
        if one.share
    }


def _spread(values: list[float]) -> dict[str, Any]:
    return {"values": values, **over_seeds(values)._asdict()}


def _not_run(results: Results) -> dict[str, Any]:
    """Return the arms of the settings without any result, and (arm, seed) asked for and missing."""
    have = set(results.found)
    asked_arms, asked_seeds = results.asked
    return {
        "arms": [arm.name for arm in results.config.arms if arm.name not in results.arms()],
        "missing": [
            [arm, seed] for seed in asked_seeds for arm in asked_arms if (arm, seed) not in have
        ],
    }


def _finite(values: list[float]) -> list[float]:
    """Leave out curves that never cross: their k* has no place in a mean."""
    return [value if math.isfinite(value) else math.nan for value in values]
