"""The 2 x 2 in a terminal: cells, effects, what they say, and how each arm was read and failed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentenvs.harness.ablation.arms import APART
from agentenvs.harness.ablation.settings import harness_of, model_of
from agentenvs.harness.ablation.words import named_measures, words
from agentenvs.harness.tax.factorial import EFFECTS
from agentenvs.harness.tax.render import SCRIPTED_MARK
from agentenvs.harness.tax.shares import Estimate

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agentenvs.harness.ablation.result import Ablation

__all__ = ["render"]

# How many reasons are named; the rest is summed.
_MOST_REASONS = 12


def render(ablation: Ablation, console: Console) -> None:
    """Print an ablation: heading, warnings, tables, what came out, how to read it."""

    def say(lines: Iterable[str], style: str = "") -> None:
        for line in lines:
            console.print(line, style=style, markup=False, highlight=False)

    if ablation.scripted:
        say([SCRIPTED_MARK], "bold red")
    say(_heading(ablation))
    say((f"warning: {warning}" for warning in ablation.warnings), "yellow")
    gap = f"{ablation.labels[1]} - {ablation.labels[0]}"
    say(["", f"FOUR ARMS. Margins: light - none, {gap}; in the corner the interaction."])
    console.print(_cells(ablation))
    if ablation.measures.K > 1:
        first, second = ablation.labels
        say([f"Tax_S, the other way round: {first} - {second}; above 0 {second} has lost."])
    say(["", "EFFECTS: model and harness each averaged over the other."])
    console.print(_effects(ablation))
    say(["", *words(ablation), "", "HOW REPLIES WERE READ"])
    console.print(_replies(ablation))
    say(["", "WHY ROLLOUTS FAILED (share of the arm's failures)"])
    console.print(_failures(ablation))
    say([""])
    say((*(f"note: {note}" for note in ablation.notes), *_legend(ablation)), "dim")


def _heading(ablation: Ablation) -> list[str]:
    found = ablation.measures
    tasks = f"{found.tasks} task{'' if found.tasks == 1 else 's'}"
    if found.clusters < found.tasks:
        tasks += f" in {found.clusters} cluster{'' if found.clusters == 1 else 's'}"
    spans = {report.n for report in ablation.arms.values()}
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    n = f"n = {low}" if low == high else f"n = {low} to {high}"
    lines = [f"{ablation.env_id or 'environment unknown'}: {tasks}, {n} in each arm"]
    for label, name in zip(ablation.labels, ("base-none", "post-none"), strict=True):
        lines.append(f"{label}: {ablation.arms[name].policy or 'policy unknown'}")
    return lines


def _table(first: str, headers: Iterable[str]) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, show_edge=False, pad_edge=False, padding=0, collapse_padding=True)
    table.add_column(first, overflow="fold")
    for header in headers:
        table.add_column(Text(header), justify="right", overflow="fold")
    return table


def _add(table: Table, *cells: str, style: str = "") -> None:
    from rich.text import Text

    table.add_row(*map(Text, cells), style=style)


def _cells(ablation: Ablation) -> Table:
    """Return the four cells of each measure, with the differences as margins."""
    table = _table("", ("none", "light", "light - none"))
    base, post = ablation.labels
    for name, measure in named_measures(ablation):
        _add(table, name + _mark(name, ablation), style="bold")
        for label, none, light, effect in (
            (base, measure.base_none, measure.base_light, measure.harness_base),
            (post, measure.post_none, measure.post_light, measure.harness_post),
        ):
            _add(table, f" {label}", _number(none), _number(light), _signed(effect))
        margins = measure.model_none, measure.model_light, measure.interaction
        _add(table, f" {post} - {base}", *map(_signed, margins))
        if measure is ablation.measures.S:
            _add(table, " Tax_S", *map(_signed, ablation.measures.tax_S[:2]), "")
        table.add_section()
    return table


def _effects(ablation: Ablation) -> Table:
    """Return the effects that are tested, with their p-values."""
    found = ablation.measures
    percent = f"{100 * found.confidence:g} %"
    table = _table("effect", ("on", "estimate", percent, "p", "adjusted"))
    for row, effect in enumerate(EFFECTS):
        for column, (name, measure) in enumerate(named_measures(ablation)):
            at = len(EFFECTS) * column + row
            value, _, interval = _signed(getattr(measure, effect)).partition(" ")
            tests = _p(float(found.p[at])), _p(float(found.found.adjusted[at]))
            label = name + _mark(name, ablation)
            _add(table, "" if column else effect, label, value, interval, *tests)
        table.add_section()
    return table


def _replies(ablation: Ablation) -> Table:
    """Return how the replies of each arm were read."""
    heads = ("solved", "replies", "words", "malformed", "calls", "rescued", "cut")
    table = _table("arm", heads)
    for name, report in ablation.arms.items():
        read = (report.words, report.malformed, report.calls)
        _add(
            table,
            " ".join(_arm(name, ablation)),
            f"{report.solved}/{report.rollouts}",
            str(report.replies),
            *(_of(count, report.replies) for count in read),
            _of(report.rescued, report.calls),
            "?" if report.truncated is None else _of(report.truncated, report.replies),
        )
    return table


def _failures(ablation: Ablation) -> Table:
    """Return why rollouts failed, arm by arm, and what was cut short or came to no verdict."""
    table = _table("reason", ("\n".join(_arm(name, ablation)) for name in ablation.arms))
    reports = list(ablation.arms.values())
    total: Counter[str] = Counter()
    for report in reports:
        total.update(report.failures)
    named = [reason for reason, _ in sorted(total.items(), key=lambda item: (-item[1], item[0]))]
    shown = named if len(named) <= _MOST_REASONS else named[: _MOST_REASONS - 1]
    for reason in shown:
        _add(table, reason, *(_of(r.failures.get(reason, 0), r.failed) for r in reports))
    if rest := named[len(shown) :]:
        sums = [sum(r.failures.get(reason, 0) for reason in rest) for r in reports]
        counts = (_of(count, r.failed) for count, r in zip(sums, reports, strict=True))
        _add(table, f"{len(rest)} other reasons", *counts)
    table.add_section()
    for reason in APART:
        _add(table, reason, *(_of(r.cut[reason], r.failed) for r in reports))
    _add(table, "all failures", *(str(r.failed) for r in reports))
    table.add_section()
    _add(table, "void: no verdict, not counted", *(str(r.void) for r in reports))
    return table


def _arm(name: str, ablation: Ablation) -> tuple[str, str]:
    """Return what an arm's model and harness are called."""
    return ablation.labels[model_of(name) == "post"], harness_of(name)


def _mark(name: str, ablation: Ablation) -> str:
    return " *" if ablation.measures.high_variance and name != "pass@1" else ""


def _of(count: int, total: int) -> str:
    if not total:
        return "-"
    return f"{count} {100 * count / total:.0f} %" if count else "0"


def _p(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _signed(estimate: Estimate) -> str:
    return _number(estimate, "+")


def _number(estimate: Estimate, sign: str = "") -> str:
    if math.isnan(estimate.value):
        return "undefined"
    # + 0.0 turns a rounded -0 into 0.
    value, low, high = (round(x, 3) + 0.0 for x in (estimate.value, *estimate[2:]))
    shown = f"{value:{sign}.3f}"
    return f"{shown} ?" if math.isnan(low) else f"{shown} {low:.3f}..{high:.3f}"


def _legend(ablation: Ablation) -> list[str]:
    found = ablation.measures
    percent = f"{100 * found.confidence:g} %"
    lines = [
        "none: the benchmark's own prompt and decoding. light: one light prompt, relaxed parser.",
        "interaction: the harness effect of the second model less that of the first.",
    ]
    if found.K > 1:
        lines.append(
            f"S({found.K}): how much of the first try's failures trying again mends. "
            "Tax_S > 0: the second model has lost some of that."
        )
    if found.high_variance:
        lines.append("* high variance: K is more than half of the rollouts; n = 2K is enough.")
    tested = found.found.tested
    judged = (
        f"adjusted: p for all {tested} that are tested (Benjamini and Hochberg); below "
        f"{1 - found.confidence:.2g} is a find. -: no standard error, not tested."
        if tested
        else "-: no standard error, so that no effect is tested."
    )
    return [
        *lines,
        f"low..high: {percent} intervals, each by itself, over tasks and rollouts, the four arms "
        "paired by task; they do not cover other training runs.",
        "?: no spread between tasks (nothing solved in an arm, say), so no interval of S.",
        judged,
        "rescued: of the replies with calls, those that the strict parser would not have read.",
        "cut: replies that ended because their tokens ran out. ?: the run did not count them.",
    ]
