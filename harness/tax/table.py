"""Two runs side by side: the measures at several budgets, and what may spoil the comparison."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentenvs.errors import BadArgument
from agentenvs.harness.tax._checks import Tasks, paired
from agentenvs.harness.tax.intervals import TaxInterval, sharpening_tax_interval
from agentenvs.harness.tax.measures import Crossover, Partition, crossover, partition, s_max
from agentenvs.harness.tax.shares import Estimate

if TYPE_CHECKING:
    from rich.console import Console

    from agentenvs.harness.outcomes import Outcomes

__all__ = ["Comparison", "Row", "compare", "default_budgets"]

# Settings that may differ between two arms without making the comparison unfair: who acts, and
# the bookkeeping of the run. Task ids and n are compared through the outcomes themselves.
_FREE = frozenset(
    {"policy", "seed", "n", "task_ids", "history", "concurrency", "transcripts", "format", "out"}
)
# What a policy tells of itself differs with its weights by design; these should not.
_POLICY_COMPARED = frozenset(
    {
        "context",
        "dtype",
        "form",
        "frequency_penalty",
        "max_new_tokens",
        "max_tokens",
        "min_p",
        "presence_penalty",
        "quantization",
        "repetition_penalty",
        "stop",
        "temperature",
        "top_k",
        "top_p",
    }
)
# Sampling defaults of a checkpoint that were not used.
_POLICY_UNUSED = "ignored_defaults"


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
        m: the number of rollouts to which the shares are standardised.
        shares: tasks never, sometimes and always solved in m rollouts, for each arm.
        warnings: what may spoil the comparison, in sentences.
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
    m: int
    shares: tuple[Partition, Partition]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; the arms' numbers are keyed by `labels`.

        NaN stays NaN; `undefined` says why.
        """

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
                "k": self.crossing.k,
                "K": self.crossing.K,
                "stays_above": self.crossing.stays_above,
                "sign_changes": list(self.crossing.sign_changes),
            },
            "partition": {"m": self.m, **arms(*(share._asdict() for share in self.shares))},
            "warnings": list(self.warnings),
        }

    def render(self, console: Console) -> None:
        """Print the comparison as a table; needs rich."""
        from agentenvs.harness.tax.render import render

        render(self, console)


def default_budgets(n: int) -> tuple[int, ...]:
    """Return the budgets shown for n rollouts: 2, 8, n/4, n/2 and n, as far as n allows."""
    if n < 2:
        return (1,)
    return tuple(sorted({k for k in (2, 8, n // 4, n // 2, n) if 2 <= k <= n}))


def compare(
    base: Outcomes, post: Outcomes, ks: Sequence[int] | None = None, confidence: float = 0.95
) -> Comparison:
    """Compare two runs over the same tasks.

    Args:
        base: outcomes before post-training, or of the first of two policies.
        post: outcomes after it, or of the second.
        ks: the budgets; default `default_budgets` of the smallest n.
        confidence: what the intervals aim at.

    Raises:
        BadArgument: no outcomes, different tasks (names them; `Outcomes.filter` helps), a
            budget beyond the smallest n, or `confidence` outside (0, 1).
    """
    for name, outcomes in (("base", base), ("post", post)):
        if not len(outcomes):
            raise BadArgument(f"Expected outcomes in `{name}`, got none.")
    counts = base.counts(), post.counts()
    first, second = arms = paired(*counts)
    smallest = int(min(arm.n.min() for arm in arms))
    budgets = tuple(default_budgets(smallest) if ks is None else ks)
    if not budgets:
        raise BadArgument("Expected `ks` to name at least one budget, got none.")
    measures = [sharpening_tax_interval(first, second, k, confidence) for k in budgets]
    once = sharpening_tax_interval(first, second, 1, confidence)
    labels = _labels(base, post)
    return Comparison(
        labels=labels,
        policies=(base.policy, post.policy),
        scripted=base.scripted or post.scripted,
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
        m=smallest,
        shares=(partition(*first, smallest), partition(*second, smallest)),
        warnings=(
            *_data_warnings(labels[0], base, first),
            *_data_warnings(labels[1], post, second),
            *_setting_warnings(labels, base.settings, post.settings),
        ),
    )


def _labels(base: Outcomes, post: Outcomes) -> tuple[str, str]:
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


def _data_warnings(label: str, outcomes: Outcomes, arm: Tasks) -> Iterator[str]:
    low, high = _span(arm)
    if low != high:
        yield f"{label}: tasks have {low} to {high} rollouts; budgets end at the fewest."
    planned, wanted = outcomes.settings.get("task_ids"), outcomes.settings.get("n")
    if isinstance(planned, list) and len(planned) > len(arm.c):
        missing = len(planned) - len(arm.c)
        yield f"{label}: {missing} of {len(planned)} tasks have no outcome yet."
    if isinstance(wanted, int) and low < wanted:
        short = int((arm.n < wanted).sum())
        of = f"in {short} of {len(arm.c)} tasks"
        yield f"{label}: the run is not finished: fewer than {wanted} rollouts {of}."
    if outcomes.torn:
        yield f"{label}: the last line of the outcomes broke off and was left out."


def _setting_warnings(
    labels: tuple[str, str], base: Mapping[str, Any], post: Mapping[str, Any]
) -> Iterator[str]:
    told = [
        bool(settings.keys() - {"policy", "scripted"})
        or isinstance(settings.get("policy"), Mapping)
        for settings in (base, post)
    ]
    for label, known in zip(labels, told, strict=True):
        if not known:
            yield f"{label}: nothing is known of how its outcomes were made."
    if not all(told):
        return
    first, second = (dict(_flat(settings)) for settings in (base, post))
    for key in dict.fromkeys((*first, *second)):
        if first.get(key) != second.get(key):
            one, two = (_show(known, key) for known in (first, second))
            yield f"settings differ: {key} is {one} in {labels[0]}, {two} in {labels[1]}."


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings that should agree, nested ones under dotted names."""
    for key, value in settings.items():
        if prefix.startswith("policy.") or key == "policy":
            if isinstance(value, Mapping):
                if key != _POLICY_UNUSED:
                    yield from _flat(value, f"{prefix}{key}.")
            elif key in _POLICY_COMPARED:
                yield prefix + key, value
        elif (not prefix and key in _FREE) or key == "scripted":
            continue
        elif isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _show(known: Mapping[str, Any], key: str) -> str:
    if key not in known:
        return "not set"
    text = json.dumps(known[key], default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(estimate: Estimate) -> dict[str, float]:
    return estimate._asdict()
