"""What a study's cells say together, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentenvs.harness.report.formats import count, number, signed
from agentenvs.harness.report.study_cells import CONSISTENCY_K, Cell
from agentenvs.harness.report.study_published import PUBLISHED_K
from agentenvs.harness.report.study_stats import Signs

if TYPE_CHECKING:
    from agentenvs.harness.report.study import StudyReport

__all__ = ["MEANING", "caveats", "findings", "headline", "lead", "predictor", "shared", "warnings"]

#: what the tax is, for readers who never heard of it
MEANING = (
    "The Sharpening Tax is how much of the first try's failure trying again mends before training, "
    "minus the same after it: above 0, more tries buy less than they did."
)


def lead(found: StudyReport) -> str:
    """Return what was compared, in a sentence."""
    study = found.study
    arms = list(dict.fromkeys(cell.arm for cell in found.cells))
    pairs = len({cell.pair.name for cell in found.cells})
    benchmarks = len({cell.benchmark for cell in found.cells})
    trained = f"{len(arms)} trained arms against {study.arms[0]!r}" if len(arms) > 1 else ""
    parts = [count(pairs, "pair of models", "pairs of models"), count(benchmarks, "benchmark")]
    low = min(n for cell in found.cells for n, _ in cell.rollouts)
    high = max(n for cell in found.cells for _, n in cell.rollouts)
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    told = ", ".join([*parts, *([trained] if trained else [])])
    return f"{_many(len(found.cells))}: {told}; {each} rollouts of each task and arm."


def headline(found: StudyReport) -> str:
    """Return what happened at the first try and with many, in a sentence for anyone."""
    cells, last = found.cells, found.ks[-1]
    gained = sum(cell.gain.low > 0 for cell in cells)
    fell = sum(cell.tax(last).pass_gap.low > 0 for cell in cells)
    what = "of the 1 comparison" if len(cells) == 1 else f"of {len(cells)} comparisons"
    return (
        f"Training raised success at the first try in {gained} {what}, and lowered what {last} "
        f"tries solve in {fell}, counting those whose {_percent(found)} interval leaves out 0."
    )


def findings(found: StudyReport) -> tuple[str, ...]:
    """Return what came out, most important first."""
    cells, last = found.cells, found.ks[-1]
    told = [_gained(found), *(_signs(found, k) for k in dict.fromkeys((found.main, last)))]
    told += [text for text in (_turns(found), _crossings(cells), _lost(cells, last)) if text]
    return tuple(told)


def predictor(found: StudyReport) -> tuple[str, ...]:
    """Return how well a few rollouts foretell the tax."""
    made = found.prediction
    if made is None:
        return (f"Not asked: {found.unpredicted}.",)
    ends = made.over_cells
    text = (
        f"Tax_S({made.early_K}) from {made.early_rollouts} rollouts on half of the tasks against "
        f"Tax_S({made.late_K}) on the other half: over {made.splits} splits Spearman's correlation "
        f"over {_many(made.cells)} is {_rho(made.rho.mean)} on average "
        f"(standard deviation {number(made.rho.sd, 2)}; {_percent(found)} over independently "
        f"drawn cells: {_rho(ends.low)} to {_rho(ends.high)})."
    )
    if math.isnan(made.rho.mean):
        text = "The split-half correlation is undefined: the taxes have no spread."
    reliability = (
        "Two noisy measures agree no better than each agrees with itself. From one half to the "
        f"other, the early tax agrees with itself at {_rho(made.reliability_early)}, the late one "
        f"at {_rho(made.reliability_late)}"
        + (
            f": about {_rho(made.ceiling)} is the most to expect."
            if not math.isnan(made.ceiling)
            else "."
        )
    )
    told = [text, reliability]
    if found.published.predictor is not None:
        told.append(
            f"Published with the same design: {_rho(found.published.predictor)} "
            f"({found.published.source})."
        )
    return tuple(told)


def shared(found: StudyReport) -> str:
    """Return how cells hang together, "" where they do not."""
    hang = found.dependence
    parts = []
    if hang.bases:
        parts.append(f"{hang.bases} of {hang.cells} share their base's rollouts with another cell")
    if hang.tasks:
        parts.append(f"{hang.tasks} of {hang.cells} were played on tasks that another base played")
    if not parts:
        return ""
    return (
        f"The cells are not independent: {', '.join(parts)}. A count of signs is no count of "
        "independent trials, and false discoveries are held down for any kind of dependence."
    )


def caveats(found: StudyReport) -> tuple[str, ...]:
    """Return what to keep in mind before believing any of it."""
    told = [
        "Intervals are about other tasks and rollouts of these models. They say nothing of "
        "another training run with the same recipe.",
        f"Each interval stands by itself: where nothing differs, {_missed(found)} of 100 "
        "comparisons leave out 0 by chance. Only the counts that stay at a share of false "
        "discoveries allow for that.",
        "The tax depends on the number of tries: neither its sign nor its order at one budget is "
        "a property of a model.",
    ]
    joined = [cell for cell in found.cells if cell.clusters < cell.tasks]
    if joined:
        sizes = dict.fromkeys((cell.tasks, cell.clusters) for cell in joined)
        shown = ", ".join(f"{tasks} tasks as {groups} groups" for tasks, groups in sizes)
        told.append(
            f"In {_many(len(joined))} tasks hang together, so that intervals count groups of them: "
            f"{shown}. The split-half experiment takes each task by itself."
        )
    if found.skipped:
        told.append(
            f"Left out, since runs are not there: {_many(len(found.skipped))} "
            f"({'; '.join(found.skipped)})."
        )
    return tuple(told)


def warnings(cells: Sequence[Cell]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each warning once, with the names of the cells that have it."""
    found: dict[str, list[str]] = {}
    for cell in cells:
        for text in cell.warnings:
            found.setdefault(text, []).append(cell.name)
    return tuple((text, tuple(names)) for text, names in found.items())


def _gained(found: StudyReport) -> str:
    cells = found.cells
    gains = sorted(cell.gain.value for cell in cells)
    sure = sum(cell.gain.low > 0 for cell in cells)
    lost = sum(cell.gain.high < 0 for cell in cells)
    middle = _median(gains)
    text = (
        f"At the first try training gained in {sum(gain > 0 for gain in gains)} of "
        f"{_many(len(cells))} (with its whole {_percent(found)} interval in {sure}); the "
        "median gain of pass@1 is "
        f"{signed(middle, 3)}"
    )
    return text + (f", and {lost} lost, by the same measure." if lost else ".")


def _signs(found: StudyReport, k: int) -> str:
    one = next(sign for sign in found.signs if k == sign.K and sign.arm is None)
    text = (
        f"With {k} tries the tax is above 0 in {one.above} of {_many(one.cells)}. Its "
        f"interval leaves out 0 in {one.sure_above} of those, and {one.found_above} stay when the "
        f"share of false discoveries is held at {100 * one.rate:g} % ({one.method})."
    )
    text += _below(one)
    published = found.published.positive if k == PUBLISHED_K else None
    if published is not None:
        text += (
            f" Published with the same design: {published[0]} of {published[1]} above 0 "
            f"({found.published.source})."
        )
    return text


def _below(one: Signs) -> str:
    if not one.below:
        return ""
    if not one.sure_below:
        return f" It is below 0 in {one.below}, with its interval in none."
    return (
        f" It is below 0 in {one.below}, with its interval in {one.sure_below}; "
        f"{one.found_below} stay."
    )


def _turns(found: StudyReport) -> str:
    """Say in how many cells the tax changes its sign from one budget to another."""
    turned = 0
    for cell in found.cells:
        taxes = [cell.tax(k).tax_S for k in found.ks]
        turned += any(tax.low > 0 for tax in taxes) and any(tax.high < 0 for tax in taxes)
    if not turned:
        return ""
    return (
        f"In {_many(turned)} the interval of the tax lies above 0 at one of the budgets shown and "
        "below 0 at another."
    )


def _crossings(cells: Sequence[Cell]) -> str:
    crossed = [cell for cell in cells if cell.crossing.k is not None and not cell.crossing.same]
    if not crossed:
        return "Nowhere was the base seen to catch up within the tries that were played."
    sure = sum(not cell.crossing.censored for cell in crossed)
    ks = sorted(cell.crossing.k for cell in crossed if cell.crossing.k is not None)
    middle = _median([float(k) for k in ks])
    return (
        f"In {len(crossed)} of {_many(len(cells))} the base was seen to catch up with the "
        f"trained model within the tries that were played (in {sure} its band rules out that it "
        f"never does); the median k* of those is {middle:g}."
    )


def _lost(cells: Sequence[Cell], k: int) -> str:
    fell = sum(cell.tax(k).pass_gap.low > 0 for cell in cells)
    rose = sum(cell.tax(k).pass_gap.high < 0 for cell in cells)
    kept = [cell.consistency for cell in cells if cell.consistency is not None]
    text = (
        f"{k} tries solve fewer tasks after training in {_many(fell)}, more in {rose}, counting "
        "whole intervals."
    )
    if kept:
        text += (
            f" All of {CONSISTENCY_K} tries succeed more often in "
            f"{sum(gap.low > 0 for gap in kept)} of {len(kept)}."
        )
    return text


def _median(values: Sequence[float]) -> float:
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def _rho(value: float) -> str:
    return signed(value, 2)


def _percent(found: StudyReport) -> str:
    return f"{100 * found.confidence:g} %"


def _missed(found: StudyReport) -> str:
    return f"{100 * (1 - found.confidence):g}"


def _many(cells: int) -> str:
    return count(cells, "comparison")
