"""Two models by two harnesses: what each does, and whether one hangs on the other.

Four arms over the same tasks. Every effect is a sum of the four cells with fixed weights, so
that a task pulls at it by the same sum of its pulls at the cells: arms are paired by task, and
the error of an interaction is not that of four runs apart. Values are exactly those sums, fsum
of separate estimates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Arm, Tasks, paired, single_k
from agentenvs.harness.tax.clusters import (
    Clusters,
    by_cluster,
    cluster_codes,
    cluster_count,
    effective_count,
    no_spread,
)
from agentenvs.harness.tax.discovery import Discoveries, discoveries, p_value
from agentenvs.harness.tax.estimators import passes_of
from agentenvs.harness.tax.linear import (
    Linear,
    critical_for,
    interval_of,
    mean_of,
    scalability_of,
)
from agentenvs.harness.tax.shares import Estimate, quantile, share_interval

__all__ = ["CELLS", "EFFECTS", "Factorial", "TwoByTwo", "two_by_two"]

#: the four arms, in the order in which they are given everywhere
CELLS = ("base_none", "base_light", "post_none", "post_light")
_WEIGHTS = {
    "model_none": (-1.0, 0.0, 1.0, 0.0),
    "model_light": (0.0, -1.0, 0.0, 1.0),
    "model": (-0.5, -0.5, 0.5, 0.5),
    "harness_base": (-1.0, 1.0, 0.0, 0.0),
    "harness_post": (0.0, 0.0, -1.0, 1.0),
    "harness": (-0.5, 0.5, -0.5, 0.5),
    "interaction": (1.0, -1.0, -1.0, 1.0),
}
#: the three effects that are orthogonal to each other: main effects and interaction
EFFECTS = ("model", "harness", "interaction")


class Factorial(NamedTuple):
    """One measure in the four arms, and its effects.

    Attributes:
        base_none, base_light, post_none, post_light: the measure of each arm.
        model_none, model_light: post minus base, with the harness none and with light.
        model: their mean.
        harness_base, harness_post: light minus none, of the base model and of the post-trained.
        harness: their mean.
        interaction: harness_post minus harness_base, which is model_light minus model_none:
            above 0 the harness does more for the post-trained model.
    """

    base_none: Estimate
    base_light: Estimate
    post_none: Estimate
    post_light: Estimate
    model_none: Estimate
    model_light: Estimate
    model: Estimate
    harness_base: Estimate
    harness_post: Estimate
    harness: Estimate
    interaction: Estimate


class TwoByTwo(NamedTuple):
    """The measures of four arms over the same tasks; made by `two_by_two`.

    Attributes:
        K: the budget.
        confidence: what each interval by itself aims at.
        tasks: how many.
        clusters: groups of tasks that were drawn; `tasks` where each stands for itself.
        smallest_n: rollouts of the task that has fewest, over all arms.
        pass_1, pass_K, S: the measures.
        found: the effects of `EFFECTS` on pass@1, pass@K and S, in this order (nine p-values),
            with the false discovery rate held at 1 - confidence by Benjamini and Hochberg.
            Effects without a standard error are not tested; at K = 1 pass@K is pass@1, tested
            once.
        p: (9,) the p-values, NaN where not tested.
        covers: what would differ if all was done again: never another training of a model.
    """

    K: int
    confidence: float
    tasks: int
    clusters: int
    smallest_n: int
    pass_1: Factorial
    pass_K: Factorial  # noqa: N815
    S: Factorial
    found: Discoveries
    p: NDArray[np.float64]
    covers: tuple[str, ...] = ("tasks", "rollouts")

    @property
    def high_variance(self) -> bool:
        """Whether K is more than half of the rollouts, where estimates scatter most."""
        return self.smallest_n < 2 * self.K

    @property
    def tax_S(self) -> tuple[Estimate, Estimate, Estimate]:  # noqa: N802
        """Tax_S(K), base minus post: with the harness none, with light, and their mean."""
        s = self.S
        return s.model_none.negated(), s.model_light.negated(), s.model.negated()


def two_by_two(
    base_none: Arm,
    base_light: Arm,
    post_none: Arm,
    post_light: Arm,
    K: int,  # noqa: N803
    confidence: float = 0.95,
    clusters: Clusters | None = None,
) -> TwoByTwo:
    """Return the effects of model and harness on pass@1, pass@K and S(K).

    Delta-method intervals over tasks, all four arms paired by task. Where an arm that counts has
    the same value in every task (nothing solved, say), its spread is unknown, not 0: then effects
    on S have no interval, and those on pass@k take the arms' own bounds, added in squares. Each
    interval is for one question; `found` is for all nine at once.

    Args:
        base_none: a pair (c, n) of (T,) arrays, or `Counts`: the base model with the benchmark's
            own prompt. n may differ between tasks and between arms.
        base_light: the base model with the light harness, over the same tasks; `Counts` are
            matched by task id.
        post_none: the post-trained model without.
        post_light: the post-trained model with it.
        K: the budget, at most the smallest n of all four.
        confidence: the share of intervals that should hold the truth, each by itself.
        clusters: tasks that belong together: a label for each task in the order of `base_none`,
            or a mapping from task ids to labels. None where each stands for itself.

    Returns:
        Effects of S are NaN where S of an arm is: at K = 1, or where an arm never failed. Where
        an arm never succeeded its S is 0, and effects that it enters have no interval.

    Raises:
        BadArgument: not the same tasks, K beyond the smallest n, `confidence` outside (0, 1), or
            no label for a task.
    """
    names = ("base-none", "base-light", "post-none", "post-light")
    first = paired(base_none, base_none, (names[0], names[0])).base
    others = zip((base_light, post_none, post_light), names[1:], strict=True)
    arms = (first, *(paired(base_none, arm, (names[0], name)).post for arm, name in others))
    smallest = int(min(arm.n.min() for arm in arms))
    k = single_k("K", K, smallest)
    size = len(first.c)
    codes = cluster_codes(clusters, base_none, size)
    z, t = quantile(confidence), critical_for(confidence, codes, size)
    pass_1, pass_k = (_shares(arms, tries, t, z, codes) for tries in (1, k))
    s = _scalabilities(arms, k, t, codes)
    groups = effective_count(codes, size)
    tested = (pass_1, pass_k if k > 1 else None, s)
    p = np.array(list(chain.from_iterable(_p_values(each, groups) for each in tested)))
    found = discoveries(p, rate=1 - confidence)
    return TwoByTwo(
        k, confidence, size, cluster_count(codes, size), smallest, pass_1, pass_k, s, found, p
    )


def _shares(
    arms: Sequence[Tasks], k: int, t: float, z: float, codes: NDArray[np.intp] | None
) -> Factorial:
    values = [passes_of(arm, k) for arm in arms]
    cells = [share_interval(each, z, codes) for each in values]
    linear = [mean_of(each) for each in values]
    effects = {}
    for name, weights in _WEIGHTS.items():
        effect = _contrast(linear, weights, t, codes)
        most = sum(weight for weight in weights if weight > 0)
        if math.isnan(effect.se):
            effect = _from_bounds(cells, weights)
        low, high = max(effect.low, -most), min(effect.high, most)
        effects[name] = effect._replace(low=low, high=high)
    return Factorial(*cells, **effects)


def _scalabilities(
    arms: Sequence[Tasks], k: int, t: float, codes: NDArray[np.intp] | None
) -> Factorial:
    linear = [scalability_of(arm, k) for arm in arms]
    cells = [interval_of(each, t, codes, 0.0, 1.0) for each in linear]
    effects = {name: _contrast(linear, ws, t, codes) for name, ws in _WEIGHTS.items()}
    return Factorial(*cells, **effects)


def _contrast(
    cells: Sequence[Linear], weights: Sequence[float], t: float, codes: NDArray[np.intp] | None
) -> Estimate:
    """Return a weighted sum; without interval where a cell's spread is unknown, not zero."""
    used = [(weight, cell) for weight, cell in zip(weights, cells, strict=True) if weight]
    value = math.fsum(weight * cell.value for weight, cell in used)
    if any(no_spread(by_cluster(cell.pull, codes)) for _, cell in used):
        return Estimate(value, math.nan, math.nan, math.nan)
    pull = np.sum([weight * cell.pull for weight, cell in used], axis=0)
    return interval_of(Linear(value, pull), t, codes)


def _from_bounds(cells: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Return a weighted sum whose ends are the cells' own, added as those of independent arms."""
    value = math.fsum(w * cell.value for w, cell in zip(weights, cells, strict=True))
    below, above = [], []
    for weight, cell in zip(weights, cells, strict=True):
        down, up = cell.value - cell.low, cell.high - cell.value
        below.append(weight * (down if weight > 0 else up))
        above.append(weight * (up if weight > 0 else down))
    return Estimate(value, math.nan, value - math.hypot(*below), value + math.hypot(*above))


def _p_values(measure: Factorial | None, groups: float) -> list[float]:
    if measure is None or groups < 2:
        return [math.nan] * len(EFFECTS)
    return [p_value(getattr(measure, name), groups) for name in EFFECTS]
