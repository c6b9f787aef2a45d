"""Two trainings at the same pass@1, by interpolating between checkpoints.

An arm that learns more slowly loses less by the same step. At the pass@1 that both reach, what
differs is no longer how far they got.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from agentenvs.harness.lab.results import Results
from agentenvs.harness.tax import Counts, curve, sharpening_tax

__all__ = ["Matched", "Point", "at_pass_1", "matched", "path"]


class Point(NamedTuple):
    """A model along a training.

    Attributes:
        step: of the training; between two checkpoints where it was interpolated.
        pass_1: mean pass@1.
        pass_k: mean pass@k, k the rollouts that checkpoints have.
        tax: Tax_S at the first budget, against the start.
    """

    step: float
    pass_1: float
    pass_k: float
    tax: float


class Matched(NamedTuple):
    """An arm and the one beside it where both have the same pass@1, in one seed."""

    pass_1: float
    k: int
    arm: Point
    against: Point


def path(results: Results, arm: str, seed: int) -> list[Point]:
    """Return the points of a training from its start to its end.

    Start and end come from their full evaluations, the points between from checkpoints with
    fewer rollouts; the estimates are unbiased either way. Empty without a start.
    """
    found, config = results.found[arm, seed], results.config
    start = config.arm(arm).start
    if start is None or (start, seed) not in results.found:
        return []
    before = results.counts(start, seed)
    last = max((int(found.job["steps"]), *found.along, 1))
    steps = {0: before, **found.along, last: results.counts(arm, seed)}
    k, budget = _tries(results), config.evaluation.budgets[0]
    return [_point(step, counts, before, k, budget) for step, counts in sorted(steps.items())]


def _tries(results: Results) -> int:
    return min(results.config.evaluation.checkpoint_n, results.config.evaluation.n)


def _point(step: int, counts: Counts, before: Counts, k: int, budget: int) -> Point:
    first, many = curve(counts.c, counts.n, [1, k]).tolist()
    tax = sharpening_tax(before, counts, budget).tax_S
    return Point(float(step), first, many, tax)


def at_pass_1(points: list[Point], target: float) -> Point | None:
    """Return where a training first reaches a pass@1, linear between its points; None if never."""
    for one, two in itertools.pairwise(points):
        if one.pass_1 <= target <= two.pass_1:
            width = two.pass_1 - one.pass_1
            share = (target - one.pass_1) / width if width else 0.0
            return Point(*(a + share * (b - a) for a, b in zip(one, two, strict=True)))
    return None


def matched(results: Results, arm: str, against: str, seed: int) -> Matched | None:
    """Return both arms at the lower of the two highest pass@1 that they reach.

    None where one of them has no start, or never rises above it.
    """
    paths = [path(results, name, seed) for name in (arm, against)]
    if not all(paths):
        return None
    target = min(max(point.pass_1 for point in points) for points in paths)
    found = [at_pass_1(points, target) for points in paths]
    if found[0] is None or found[1] is None or math.isnan(target):
        return None
    if target <= max(points[0].pass_1 for points in paths):
        return None
    return Matched(target, _tries(results), found[0], found[1])
