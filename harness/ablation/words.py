"""What an ablation says, in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from agentenvs.harness.tax.shares import Estimate

if TYPE_CHECKING:
    from agentenvs.harness.ablation.result import Ablation
    from agentenvs.harness.tax.factorial import Factorial

__all__ = ["named_measures", "words"]


def named_measures(ablation: Ablation) -> list[tuple[str, Factorial]]:
    """Return the measures with their names, in the order in which they are tested."""
    found = ablation.measures
    named = [
        ("pass@1", found.pass_1),
        (f"pass@{found.K}", found.pass_K),
        (f"S({found.K})", found.S),
    ]
    return named if found.K > 1 else named[:1]


def words(ablation: Ablation) -> list[str]:
    """Return what came out as sentences: of which model the harness does more, and the tax."""
    if not any(report.solved for report in ablation.arms.values()):
        most = max(report.rollouts for report in ablation.arms.values())
        return [
            f"No arm solved anything in up to {most} rollouts: beyond the bounds of pass@k nothing "
            "can be said of model, harness or interaction."
        ]
    lines = [_interaction(name, measure, ablation) for name, measure in named_measures(ablation)]
    if ablation.measures.K > 1:
        lines.append(_tax(ablation))
    return lines


def _interaction(name: str, measure: Factorial, ablation: Ablation) -> str:
    base, post = ablation.labels
    effect = measure.interaction
    if math.isnan(effect.value):
        return f"{name}: undefined in an arm, so that nothing can be said of the harness."
    if math.isnan(effect.low):
        return f"{name}: no interval: {_why(measure, ablation)}."
    percent = f"{100 * ablation.measures.confidence:g} %"
    on_base = f"{base} ({_change(measure.harness_base)})"
    on_post = f"{post} ({_change(measure.harness_post)})"
    if not effect.sure:
        return (
            f"{name}: which model the harness helps more is not decided: {on_base}, {on_post}; "
            f"interaction {_change(effect)} ({percent}: {_span(effect)})."
        )
    more, less, size = on_post, on_base, effect
    if effect.value < 0:
        more, less, size = on_base, on_post, effect.negated()
    told = f"helps {more} more than {less}"
    if max(measure.harness_base.value, measure.harness_post.value) < 0:
        told = f"holds {less} back more than {more}"
    return f"{name}: the harness {told} by {size.value:.3f} ({percent}: {_span(size)})."


def _tax(ablation: Ablation) -> str:
    none, light, _ = ablation.measures.tax_S
    told = " and ".join(
        f"{_signed(tax)} with {name}" for name, tax in (("none", none), ("light", light))
    )
    return f"Tax_S({ablation.measures.K}), {' minus '.join(ablation.labels)}: {told}."


def _signed(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return "undefined"
    value = _change(estimate)
    return f"{value} (no interval)" if math.isnan(estimate.low) else f"{value} ({_span(estimate)})"


def _change(estimate: Estimate) -> str:
    return f"{round(estimate.value, 3) + 0.0:+.3f}"


def _why(measure: Factorial, ablation: Ablation) -> str:
    """Say which arms have no spread between tasks."""
    cells = dict(zip(ablation.arms, measure, strict=False))
    same = [name for name, cell in cells.items() if math.isnan(cell.se)]
    if not same:
        return "the arms differ by as much in every task"
    nothing = [name for name in same if ablation.arms[name].solved == 0]
    told = [f"nothing was solved in {_listed(nothing)}"] if nothing else []
    others = [name for name in same if name not in nothing]
    told += [f"no task of {_listed(others)} differs from another"] if others else []
    return "; ".join(told)


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _span(estimate: Estimate) -> str:
    low, high = (round(end, 3) + 0.0 for end in (estimate.low, estimate.high))
    return f"{low:.3f} to {high:.3f}"
