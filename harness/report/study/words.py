"""What a study's cells say together, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentenvs.harness.report.formats import count, number, percent, signed
from agentenvs.harness.report.study.cells import CONSISTENCY_K, Cell
from agentenvs.harness.report.study.published import PUBLISHED_K
from agentenvs.harness.report.study.stats import Signs

if TYPE_CHECKING:
    from agentenvs.harness.report.study.report import StudyReport

__all__ = [
    "MEANING",
    "caveats",
    "findings",
    "headline",
    "lead",
    "predictor",
    "rule",
    "shared",
    "warnings",
]

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
    """Return what happened at the first try and with many, both ways, in a sentence for anyone."""
    once, many = _change(found, "pass@k", 1), _change(found, "pass@k", found.main)
    return (
        f"Beyond chance, training raised success at the first try in {_none(once.found_above)} of "
        f"{_many(len(found.cells))} and lowered it in {_none(once.found_below)}; with "
        f"{found.main} tries it raised success in {_none(many.found_above)} and lowered it in "
        f"{_none(many.found_below)}."
    )


def rule(found: StudyReport) -> str:
    """Return what "beyond chance" means, in a sentence."""
    one = found.signs[0]
    return (
        "Beyond chance: when all comparisons are judged together, at most "
        f"{percent(one.rate)} of such findings are expected to be false. In the others there may "
        "be a change or none."
    )


def findings(found: StudyReport) -> tuple[str, ...]:
    """Return what came out, most important first."""
    told = (
        _tax(found),
        _other_budgets(found),
        _beside(found),
        _without(found),
        _turns(found),
        _gained(found),
        _crossings(found.cells),
        _held(found),
    )
    return tuple(text for text in told if text)


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
        "independent trials, and what is beyond chance is judged for any kind of dependence."
    )


def caveats(found: StudyReport) -> tuple[str, ...]:
    """Return what to keep in mind before believing any of it."""
    told = [
        "Intervals are about other tasks and rollouts of these models. They say nothing of "
        "another training run with the same recipe.",
        f"Each interval stands by itself: where nothing differs, {_missed(found)} of 100 leave out "
        "0 by chance. What is told as beyond chance allows for that.",
        "The tax depends on the number of tries: neither its sign nor its order at one budget is "
        "a property of a model.",
    ]
    joined = [cell for cell in found.cells if cell.clusters < cell.tasks]
    if len(joined) < len(found.cells):
        where = f"In {_many(len(found.cells) - len(joined))}" if joined else "Here"
        told.append(
            f"{where} each task counts for itself. Where some are variants of one another, "
            "intervals are too narrow and too much seems beyond chance: name them under [clusters] "
            "in the study's file."
        )
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


def _change(found: StudyReport, measure: str, k: int) -> Signs:
    return next(one for one in found.changes if (one.measure, one.K) == (measure, k))


def _sign(signs: Sequence[Signs], k: int) -> Signs:
    return next(one for one in signs if k == one.K and one.arm is None)


def _tax(found: StudyReport) -> str:
    one = _sign(found.signs, found.main)
    return f"With {found.main} tries the tax is {_both_sides(one)}."


def _both_sides(one: Signs) -> str:
    return (
        f"above 0 in {one.above} of {_many(one.cells)}, beyond chance in "
        f"{_none(one.found_above)}, and below 0 in {_none(one.below)}"
        + (f", beyond chance in {_none(one.found_below)}" if one.below else "")
    )


def _other_budgets(found: StudyReport) -> str:
    others = [_sign(found.signs, k) for k in found.ks if k != found.main]
    if not others:
        return ""
    above, below = (
        [_none(many) for many in both]
        for both in zip(*((one.found_above, one.found_below) for one in others), strict=True)
    )
    return (
        f"With {_listed([str(one.K) for one in others])} tries it is, beyond chance, above 0 in "
        f"{_listed(above)}, and below 0 in {_listed(below)}."
    )


def _beside(found: StudyReport) -> str:
    published = found.published.positive
    if published is None:
        return ""
    one = _sign(found.signs, PUBLISHED_K)
    return (
        f"With {PUBLISHED_K} tries the tax is above 0 in {one.above} of {one.cells}; published "
        f"with the same design: {published[0]} of {published[1]} ({found.published.source})."
    )


def _without(found: StudyReport) -> str:
    if not found.signs_without:
        return ""
    tagged = [cell for cell in found.cells if cell.without is not None]
    one = _sign(found.signs_without, found.main)
    return (
        f"In {_many(len(tagged))} some tasks are told to be unsolvable. Without them the tax "
        f"with {found.main} tries is {_both_sides(one)}."
    )


def _gained(found: StudyReport) -> str:
    gains = sorted(cell.gain.value for cell in found.cells)
    if len(gains) == 1:
        return f"pass@1 changed by {signed(gains[0], 3)}."
    return (
        f"pass@1 changed by {signed(_median(gains), 3)} in the median comparison, by "
        f"{signed(gains[0], 3)} to {signed(gains[-1], 3)} in all."
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
    sure = sum(cell.crossing.high is not None for cell in crossed)
    return (
        f"In {len(crossed)} of {_many(len(cells))} the base was seen to catch up with the "
        f"trained model within the tries that were played; in {_none(sure)} of them the interval "
        "of k* lies wholly within these tries."
    )


def _held(found: StudyReport) -> str:
    one = _change(found, "pass^k", CONSISTENCY_K)
    if not one.cells:
        return ""
    return (
        f"The chance that {CONSISTENCY_K} of {CONSISTENCY_K} tries succeed rose, beyond chance, in "
        f"{_none(one.found_above)} of {_many(one.cells)}, and fell in {_none(one.found_below)}."
    )


def _none(many: int) -> str:
    return str(many) if many else "none"


def _listed(words: Sequence[str]) -> str:
    """Return words in a row; once if they are all "none"."""
    if set(words) == {"none"}:
        return "none"
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


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
