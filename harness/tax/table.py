"""Two runs side by side: the measures at several budgets, and what may spoil the comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Arm, Tasks
from agentenvs.harness.tax.crossing import CrossoverInterval, crossover_interval
from agentenvs.harness.tax.intervals import TaxInterval, sharpening_tax_interval
from agentenvs.harness.tax.measures import Crossover, crossover, s_max
from agentenvs.harness.tax.shares import Estimate, PartitionInterval, partition_interval
from agentenvs.harness.tax.sides import Side, match, setting_warnings, side, side_warnings

if TYPE_CHECKING:
    from rich.console import Console

    from agentenvs.harness.outcomes import Outcomes

__all__ = ["Comparison", "Row", "compare", "default_budgets"]


@dataclass(frozen=True, slots=True)
class Row:
    """The measures at one budget.

    Attributes:
        K: the budget.
        high_variance: K is more than half of the rollouts, where estimates scatter most.
        s_max: the largest S(K) that tasks can have; NaN at K = 1.
        measures: pass@K, A, S and the tax, with intervals.
        undefined: why S is NaN, "" where it is not.
    """

    K: int
    high_variance: bool
    s_max: float
    measures: TaxInterval
    undefined: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over the same tasks; made by `compare`.

    Attributes:
        labels: what the two arms are called: "base" and "post", or, where a policy is scripted,
            the names of the policies.
        policies: the names of the policies, None where unknown.
        scripted: whether a policy is scripted, so that no model was measured.
        tasks: how many tasks.
        rollouts: smallest and largest n, for each arm.
        confidence: what the intervals aim at.
        pass_1: mean pass@1, for each arm.
        pass_1_gap: first minus second.
        rows: the measures at each budget.
        crossing: where the first arm's curve reaches the second's.
        crossing_interval: how sure that is.
        m: the number of rollouts to which the shares are standardised.
        shares: tasks never, sometimes and always solved in m rollouts, for each arm.
        warnings: what may spoil the comparison, in sentences, each with its remedy.
    """

    labels: tuple[str, str]
    policies: tuple[str | None, str | None]
    scripted: bool
    tasks: int
    rollouts: tuple[tuple[int, int], tuple[int, int]]
    confidence: float
    pass_1: tuple[Estimate, Estimate]
    pass_1_gap: Estimate
    rows: tuple[Row, ...]
    crossing: Crossover
    crossing_interval: CrossoverInterval
    m: int
    shares: tuple[PartitionInterval, PartitionInterval]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; the arms' numbers are keyed by `labels`.

        NaN stays NaN; `undefined` says why. In `crossover`, `k`, `low` and `high` are None where
        they lie beyond K; where both curves are the same, `same` says so and `k` is None too.
        """
        at = self.crossing_interval

        def arms(first: Any, second: Any) -> dict[str, Any]:
            return {self.labels[0]: first, self.labels[1]: second}

        rows = [
            {
                "K": row.K,
                "high_variance": row.high_variance,
                "s_max": row.s_max,
                "undefined": row.undefined,
                "pass_at_K": arms(_plain(row.measures.pass_base), _plain(row.measures.pass_post)),
                "pass_at_K_gap": _plain(row.measures.pass_gap),
                "A": arms(_plain(row.measures.A_base), _plain(row.measures.A_post)),
                "S": arms(_plain(row.measures.S_base), _plain(row.measures.S_post)),
                "tax_A": _plain(row.measures.tax_A),
                "tax_S": _plain(row.measures.tax_S),
            }
            for row in self.rows
        ]
        return {
            "labels": list(self.labels),
            "policies": arms(*self.policies),
            "scripted": self.scripted,
            "tasks": self.tasks,
            "rollouts": arms(*(list(span) for span in self.rollouts)),
            "confidence": self.confidence,
            "pass_at_1": arms(*(_plain(estimate) for estimate in self.pass_1)),
            "pass_at_1_gap": _plain(self.pass_1_gap),
            "rows": rows,
            "crossover": {
                "k": None if at.same else at.k,
                "low": at.low,
                "high": at.high,
                "K": at.K,
                "confidence": at.confidence,
                "draws": at.draws,
                "share_censored": at.censored,
                "share_at_1": at.at_one,
                "same": at.same,
                "decides": at.decides,
                "stays_above": self.crossing.stays_above,
                "sign_changes": list(self.crossing.sign_changes),
            },
            "partition": {
                "m": self.m,
                **arms(*({k: _plain(v) for k, v in s._asdict().items()} for s in self.shares)),
            },
            "warnings": list(self.warnings),
        }

    def render(self, console: Console) -> None:
        """Print the comparison as a table; needs rich."""
        from agentenvs.harness.tax.render import render

        render(self, console)


def default_budgets(n: int) -> tuple[int, ...]:
    """Return the budgets shown for n rollouts: 2, 4, 8, n/4, n/2 and n, as far as n allows.

    n/4 and n/2 are left out where they lie within half as much again of 2, 4 or 8.
    """
    if n < 2:
        return (1,)
    fixed = [k for k in (2, 4, 8) if k <= n]
    parts = [k for k in (n // 4, n // 2) if all(max(k, f) >= 1.5 * min(k, f) for f in fixed)]
    return tuple(sorted({*fixed, n, *(k for k in parts if k > 1)}))


def compare(
    base: Outcomes | Arm,
    post: Outcomes | Arm,
    ks: Sequence[int] | None = None,
    confidence: float = 0.95,
    common: bool = False,
) -> Comparison:
    """Compare two policies over the same tasks.

    Args:
        base: `Outcomes` before post-training, or of the first of two policies; or its `Counts`,
            or a pair (c, n) in the order of the tasks. Of the last two no settings are known.
        post: the same after it, or of the second.
        ks: the budgets; default `default_budgets` of the smallest n.
        confidence: what the intervals aim at.
        common: compare on the tasks that both have, where one lacks some; budgets then end at
            the smallest n of those. Says so in the warnings.

    Raises:
        BadArgument: no outcomes, different tasks (names them, and says if a run is unfinished),
            with `common` no task that both have, a budget beyond the smallest n, or
            `confidence` outside (0, 1).
    """
    sides = side(base), side(post)
    labels = _labels(*sides)
    first, second = arms = match(sides, labels, common)
    smallest = int(min(arm.n.min() for arm in arms))
    budgets = tuple(default_budgets(smallest) if ks is None else ks)
    if not budgets:
        raise BadArgument("Expected `ks` to name at least one budget, got none.")
    measures = [sharpening_tax_interval(first, second, k, confidence) for k in budgets]
    once = sharpening_tax_interval(first, second, 1, confidence)
    return Comparison(
        labels=labels,
        policies=(sides[0].policy, sides[1].policy),
        scripted=sides[0].scripted or sides[1].scripted,
        tasks=len(first.c),
        rollouts=(_span(first), _span(second)),
        confidence=confidence,
        pass_1=(once.pass_base, once.pass_post),
        pass_1_gap=once.pass_gap,
        rows=tuple(
            Row(found.K, smallest < 2 * found.K, s_max(found.K), found, _undefined(found, labels))
            for found in measures
        ),
        crossing=crossover(first, second, smallest),
        crossing_interval=crossover_interval(first, second, smallest, confidence),
        m=smallest,
        shares=(
            partition_interval(*first, smallest, confidence),
            partition_interval(*second, smallest, confidence),
        ),
        warnings=(
            *side_warnings(sides[0], labels[0], first),
            *side_warnings(sides[1], labels[1], second),
            *setting_warnings(sides, labels),
        ),
    )


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


def _plain(estimate: Estimate) -> dict[str, float]:
    return estimate._asdict()
