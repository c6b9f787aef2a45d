"""Two runs side by side: the measures at several budgets, and what may spoil the comparison."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm, Paired, Tasks, listed
from agentenvs.harness.tax.clusters import Clusters
from agentenvs.harness.tax.comparison import Comparison, Row
from agentenvs.harness.tax.crossing import crossover_set
from agentenvs.harness.tax.intervals import TaxInterval, sharpening_tax_interval
from agentenvs.harness.tax.measures import crossover, s_max
from agentenvs.harness.tax.shares import partition_interval
from agentenvs.harness.tax.sides import (
    Side,
    compared_codes,
    compared_ids,
    match,
    setting_warnings,
    side,
    side_warnings,
)

if TYPE_CHECKING:
    from agentenvs.harness.outcomes import Outcomes

__all__ = ["Comparison", "Row", "compare", "default_budgets"]


def default_budgets(n: int) -> tuple[int, ...]:
    """Return the budgets shown for n rollouts: n/4 and n/2, then 2, 4, 8 and n.

    The first are where n rollouts say most; K = n is the worst of all. As far as n allows, each
    once. 2, 4 and 8 are left out where they lie within half as much again of n/4 or n/2.
    """
    if n < 2:
        return (1,)
    parts = [k for k in (n // 4, n // 2) if k > 1]
    fixed = [k for k in (2, 4, 8) if k < n and all(max(k, p) >= 1.5 * min(k, p) for p in parts)]
    return (*parts, *fixed, n)


def compare(
    base: Outcomes | Arm,
    post: Outcomes | Arm,
    ks: Sequence[int] | None = None,
    confidence: float = 0.95,
    common: bool = False,
    clusters: Clusters | None = None,
    unsolvable: Collection[str] = (),
) -> Comparison:
    """Compare two policies over the same tasks.

    Args:
        base: `Outcomes` before post-training, or of the first of two policies; or its `Counts`,
            or a pair (c, n) in the order of the tasks. Of the last two no settings are known.
        post: the same after it, or of the second.
        ks: the budgets, the one to show first in front; default `default_budgets` of the
            smallest n.
        confidence: what the intervals aim at.
        common: compare on the tasks that both have, where one lacks some; budgets then end at
            the smallest n of those. Says so in the warnings.
        clusters: tasks that belong together, such as repeated instructions: a label for each
            task of base, or a mapping from task ids to labels.
        unsolvable: ids of tasks that nobody can solve, whatever the reason; ids of other tasks
            are ignored. All numbers are then given without them too, as `without`.

    Raises:
        BadArgument: no outcomes, different tasks (names them, and says if a run is unfinished),
            with `common` no task that both have, a budget beyond the smallest n, `confidence`
            outside (0, 1), `clusters` that do not fit the tasks, or `unsolvable` without task
            ids or with nothing left.
    """
    sides = side(base), side(post)
    labels = _labels(*sides)
    arms = match(sides, labels, common)
    ids = compared_ids(sides)
    smallest = arms.smallest_n
    budgets = default_budgets(smallest) if ks is None else tuple(listed("ks", ks))
    codes = compared_codes(clusters, sides, len(arms.base.c))
    hopeless = _tagged(unsolvable, ids, len(arms.base.c))
    whole = _measured(sides, labels, arms, codes, budgets, smallest, confidence)
    whole = replace(
        whole,
        warnings=(
            *side_warnings(sides[0], labels[0], arms.base, labels[1]),
            *side_warnings(sides[1], labels[1], arms.post, labels[0]),
            *setting_warnings(sides, labels),
        ),
    )
    if not hopeless.any():
        return whole
    kept = Paired(*(Tasks(arm.c[~hopeless], arm.n[~hopeless]) for arm in arms))
    some = None if codes is None else codes[~hopeless]
    without = _measured(sides, labels, kept, some, budgets, smallest, confidence)
    return replace(whole, unsolvable=int(hopeless.sum()), without=without)


def _measured(
    sides: tuple[Side, Side],
    labels: tuple[str, str],
    arms: Paired,
    codes: NDArray[np.intp] | None,
    budgets: Sequence[int],
    most: int,
    confidence: float,
) -> Comparison:
    """Return the numbers of a comparison.

    Args:
        sides: where the arms come from.
        labels: what they are called.
        arms: their tasks.
        codes: the cluster of each task, or None.
        budgets: for the rows.
        most: the largest budget, for k* and the shares.
        confidence: what the intervals aim at.
    """
    first, second = arms
    groups = None if codes is None else codes.tolist()
    once, *measures = (
        sharpening_tax_interval(first, second, k, confidence, groups) for k in (1, *budgets)
    )
    return Comparison(
        labels=labels,
        policies=(sides[0].policy, sides[1].policy),
        scripted=sides[0].scripted or sides[1].scripted,
        tasks=len(first.c),
        clusters=once.clusters,
        rollouts=(_span(first), _span(second)),
        confidence=confidence,
        pass_1=(once.pass_base, once.pass_post),
        pass_1_gap=once.pass_gap,
        rows=tuple(
            Row(found.K, most < 2 * found.K, s_max(found.K), found, _undefined(found, labels))
            for found in measures
        ),
        crossing=crossover(first, second, most),
        crossing_set=crossover_set(first, second, most, confidence, groups),
        m=most,
        shares=(
            partition_interval(*first, most, confidence, groups),
            partition_interval(*second, most, confidence, groups),
        ),
        warnings=(),
    )


def _tagged(unsolvable: Collection[str], ids: list[str] | None, size: int) -> NDArray[np.bool_]:
    """Return which of the compared tasks are among those that nobody can solve."""
    if isinstance(unsolvable, str):
        raise BadArgument(f"Expected `unsolvable` to list task ids, got the text {unsolvable!r}.")
    tags = set(unsolvable)
    if not tags:
        return np.zeros(size, dtype=np.bool_)
    if ids is None:
        raise BadArgument("Expected task ids for `unsolvable`, got pairs (c, n).")
    found = np.array([task in tags for task in ids])
    if found.all():
        raise BadArgument(f"Expected a task that is not in `unsolvable`: all {size} are.")
    return found


def _labels(base: Side, post: Side) -> tuple[str, str]:
    if not (base.scripted or post.scripted):
        return "base", "post"
    first, second = base.policy or "first", post.policy or "second"
    return (first, second) if first != second else (f"{first} (1)", f"{second} (2)")


def _span(arm: Tasks) -> tuple[int, int]:
    return int(arm.n.min()), int(arm.n.max())


def _undefined(found: TaxInterval, labels: tuple[str, str]) -> str:
    if found.K == 1:
        return "S needs a second try: undefined at K = 1"
    names = [
        label
        for label, s in zip(labels, (found.S_base, found.S_post), strict=True)
        if math.isnan(s.value)
    ]
    return f"{' and '.join(names)} never failed: S is undefined" if names else ""
