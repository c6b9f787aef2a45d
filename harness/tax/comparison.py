"""What `compare` returns: two runs side by side, as numbers, plain data or a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentenvs.harness.tax.crossing import CrossoverSet
from agentenvs.harness.tax.intervals import TaxInterval
from agentenvs.harness.tax.measures import Crossover
from agentenvs.harness.tax.shares import Estimate, PartitionInterval

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Comparison", "Row"]


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

    @property
    def of_max(self) -> tuple[float, float]:
        """S(K) of each arm as a share of the most that it can be; NaN where S is undefined."""
        return self.measures.S_base.value / self.s_max, self.measures.S_post.value / self.s_max


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over the same tasks; made by `compare`.

    Attributes:
        labels: what the two arms are called: "base" and "post", or, where a policy is scripted,
            the names of the policies.
        policies: the names of the policies, None where unknown.
        scripted: whether a policy is scripted, so that no model was measured.
        tasks: how many tasks.
        clusters: how many of them stand for themselves: clusters that were drawn together count
            once.
        rollouts: smallest and largest n, for each arm.
        confidence: what the intervals aim at.
        pass_1: mean pass@1, for each arm.
        pass_1_gap: first minus second.
        rows: the measures at each budget, in the order asked for.
        crossing: where the first arm's curve reaches the second's.
        crossing_set: every budget at which that may be.
        m: the number of rollouts to which the shares are standardised.
        shares: tasks never, sometimes and always solved in m rollouts, for each arm.
        warnings: what may spoil the comparison, in sentences, each with its remedy.
        unsolvable: how many of the tasks are tagged as ones that nobody can solve.
        without: the same comparison without those; None where there are none.
    """

    labels: tuple[str, str]
    policies: tuple[str | None, str | None]
    scripted: bool
    tasks: int
    clusters: int
    rollouts: tuple[tuple[int, int], tuple[int, int]]
    confidence: float
    pass_1: tuple[Estimate, Estimate]
    pass_1_gap: Estimate
    rows: tuple[Row, ...]
    crossing: Crossover
    crossing_set: CrossoverSet
    m: int
    shares: tuple[PartitionInterval, PartitionInterval]
    warnings: tuple[str, ...]
    unsolvable: int = 0
    without: Comparison | None = None

    @property
    def headline(self) -> Row:
        """The row to be told first: the largest budget that is not of high variance."""
        well = [row for row in self.rows if row.K > 1 and not row.high_variance]
        return max(well, key=lambda row: row.K) if well else self.rows[0]

    @property
    def ordered(self) -> bool:
        """Whether the budgets rise, so that none of them is put first for a reason."""
        ks = [row.K for row in self.rows]
        return ks == sorted(ks)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; the arms' numbers are keyed by `labels`.

        NaN stays NaN; `undefined` says why. In `crossover`, `k`, `low` and `high` are None where
        they lie beyond K; where both curves are the same, `same` says so and `k` is None too.
        """
        at = self.crossing_set

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
                "S_of_max": arms(*row.of_max),
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
            "clusters": self.clusters,
            "rollouts": arms(*(list(span) for span in self.rollouts)),
            "confidence": self.confidence,
            "covers": ["tasks", "rollouts"],
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
                "budgets": list(at.ks),
                "share_censored": at.share_censored,
                "share_at_1": float(at.share[0]),
                "share_stays_above": at.stays_above,
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
            "unsolvable": self.unsolvable,
            "without_unsolvable": None if self.without is None else self.without.to_dict(),
        }

    def render(self, console: Console) -> None:
        """Print the comparison as a table; needs rich."""
        from agentenvs.harness.tax.render import render

        render(self, console)


def _plain(estimate: Estimate) -> dict[str, float]:
    return estimate._asdict()
