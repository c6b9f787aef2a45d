"""The 2 x 2 in a terminal: cells, effects, what they say, and how each arm was read and failed."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from agentenvs.harness.ablation_words import named_measures, words
from agentenvs.harness.tax.factorial import EFFECTS
from agentenvs.harness.tax.render import SCRIPTED_MARK
from agentenvs.harness.tax.shares import Estimate

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agentenvs.harness.ablation import Ablation
    from agentenvs.harness.ablation_arms import ArmReport

__all__ = ["render"]

# How many reasons are named; the rest is summed.
_MOST_REASONS = 12


def render(ablation: Ablation, console: Console) -> None:
    """Print an ablation: heading, warnings, tables, what came out, how to read it."""
    if ablation.scripted:
        console.print(SCRIPTED_MARK, style="bold red", markup=False, highlight=False)
    for line in _heading(ablation):
        console.print(line, markup=False, highlight=False)
    for warning in ablation.warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False, highlight=False)
    console.print()
    console.print(_cells(ablation))
    console.print()
    console.print(_effects(ablation))
    console.print()
    for line in words(ablation):
        console.print(line, markup=False, highlight=False)
    console.print()
    console.print(_replies(ablation))
    console.print()
    console.print(_failures(ablation))
    console.print()
    notes = [f"note: {note}" for note in ablation.notes]
    for line in (*notes, *_legend(ablation)):
        console.print(line, style="dim", markup=False, highlight=False)


def _heading(ablation: Ablation) -> list[str]:
    found = ablation.measures
    tasks = f"{found.tasks} task{'' if found.tasks == 1 else 's'}"
    if found.clusters < found.tasks:
        tasks += f" in {found.clusters} cluster{'' if found.clusters == 1 else 's'}"
    spans = {report.n for report in ablation.arms.values()}
    low, high = min(span[0] for span in spans), max(span[1] for span in spans)
    n = f"n = {low}" if low == high else f"n = {low} to {high}"
    lines = [f"{ablation.env_id or 'environment unknown'}: {tasks}, {n} in each arm"]
    if not ablation.scripted:
        for label, name in zip(ablation.labels, ("base-none", "post-none"), strict=True):
            lines.append(f"{label}: {ablation.arms[name].policy or 'policy unknown'}")
    return lines


def _table() -> Table:
    from rich.box import SIMPLE
    from rich.table import Table

    return Table(box=SIMPLE, show_edge=False, pad_edge=False, padding=0, collapse_padding=True)


def _cells(ablation: Ablation) -> Table:
    """Return the four cells of each measure, with the differences as margins."""
    from rich.text import Text

    table = _table()
    table.add_column("measure", no_wrap=True)
    for header in ("none", "light", "light - none"):
        table.add_column(header, justify="right", overflow="fold")
    base, post = ablation.labels
    gap = "second - first" if ablation.scripted else "post - base"
    mark = " *" if ablation.measures.high_variance else ""
    for name, measure in named_measures(ablation):
        table.add_row(Text(name + ("" if name == "pass@1" else mark), style="bold"))
        rows = (
            (base, measure.base_none, measure.base_light, measure.harness_base),
            (post, measure.post_none, measure.post_light, measure.harness_post),
        )
        for label, none, light, effect in rows:
            cells = _number(none), _number(light), _number(effect, sign=True)
            table.add_row(*map(Text, (f"  {label}", *cells)))
        margins = measure.model_none, measure.model_light, measure.interaction
        shown = [_number(one, sign=True) for one in margins]
        table.add_row(*map(Text, (f"  {gap}", *shown)))
        if measure is ablation.measures.S:
            taxes = [_number(tax, sign=True) for tax in ablation.measures.tax_S[:2]]
            table.add_row(*map(Text, ("  Tax_S", *taxes, "")))
        table.add_section()
    return table


def _effects(ablation: Ablation) -> Table:
    """Return the nine effects with their p-values."""
    from rich.text import Text

    found = ablation.measures
    gap = "second - first" if ablation.scripted else "post - base"
    titles = {
        "model": f"model: {gap}, mean of both harnesses",
        "harness": "harness: light - none, mean of both models",
        "interaction": f"interaction: harness effect, {gap}",
    }
    table = _table()
    table.add_column("effect", no_wrap=True)
    for header in ("estimate", "p", "adjusted"):
        table.add_column(header, justify="right")
    at = {
        (measure, name): 3 * column + row
        for column, (measure, _) in enumerate(named_measures(ablation))
        for row, name in enumerate(EFFECTS)
    }
    # At K = 1 pass@K is pass@1, tested once.
    for name in EFFECTS:
        table.add_row(Text(titles[name], style="bold"))
        for label, measure in named_measures(ablation):
            place = at[label, name]
            tests = (float(found.p[place]), float(found.found.adjusted[place]))
            estimate = _number(getattr(measure, name), sign=True)
            table.add_row(*map(Text, (f"  {label}", estimate, *map(_p, tests))))
        table.add_section()
    return table


def _replies(ablation: Ablation) -> Table:
    """Return how the replies of each arm were read."""
    table = _table()
    table.add_column("replies", no_wrap=True)
    for header in ("rollouts", "solved", "replies", "calls", "rescued", "words", "malformed"):
        table.add_column(header, justify="right")
    for name, report in ablation.arms.items():
        rescued = f"{report.rescued} ({_percent(report.rescue_rate)})" if report.calls else "-"
        table.add_row(
            _arm_label(name, ablation),
            str(report.rollouts),
            str(report.solved),
            str(report.replies),
            f"{report.calls} ({_percent(report.share(report.calls))})",
            rescued,
            f"{report.words} ({_percent(report.share(report.words))})",
            f"{report.malformed} ({_percent(report.share(report.malformed))})",
        )
    return table


def _failures(ablation: Ablation) -> Table:
    """Return why rollouts failed, arm by arm, and what was cut short or came to no verdict."""
    from rich.text import Text

    table = _table()
    table.add_column("failed because", overflow="fold")
    reports = list(ablation.arms.values())
    for name in ablation.arms:
        table.add_column(Text(_arm_label(name, ablation)), justify="right", overflow="fold")
    total: Counter[str] = Counter()
    for report in reports:
        total.update(report.failures)
    named = [reason for reason, _ in sorted(total.items(), key=lambda item: (-item[1], item[0]))]
    shown = named if len(named) <= _MOST_REASONS else named[: _MOST_REASONS - 1]
    for reason in shown:
        table.add_row(*map(Text, (reason, *(_of(r, r.failures.get(reason, 0)) for r in reports))))
    if rest := named[len(shown) :]:
        sums = [sum(r.failures.get(reason, 0) for reason in rest) for r in reports]
        cells = [_of(report, count) for report, count in zip(reports, sums, strict=True)]
        table.add_row(*map(Text, (f"{len(rest)} other reasons", *cells)))
    table.add_section()
    for reason, label in (
        ("context_overflow", "cut: context overflow"),
        ("max_requests", "cut: max_requests"),
    ):
        table.add_row(*map(Text, (label, *(_of(r, r.cut.get(reason, 0)) for r in reports))))
    table.add_section()
    table.add_row(*map(Text, ("void: no verdict", *(str(r.void) for r in reports))))
    return table


def _arm_label(name: str, ablation: Ablation) -> str:
    """Return "base none", or with the script's name where no model acted."""
    model, harness = name.split("-")
    return f"{ablation.labels[model == 'post']} {harness}"


def _of(report: ArmReport, count: int) -> str:
    return f"{count} ({_percent(count / report.failed)})" if count else "0"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.0f} %"


def _p(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _number(estimate: Estimate, *, sign: bool = False) -> str:
    if math.isnan(estimate.value):
        return "undefined"
    # + 0.0 turns a rounded -0 into 0.
    value, low, high = (round(x, 3) + 0.0 for x in (estimate.value, *estimate[2:]))
    shown = f"{value:{'+' if sign else ''}.3f}"
    return f"{shown} ?" if math.isnan(low) else f"{shown} {low:.3f}..{high:.3f}"


def _legend(ablation: Ablation) -> list[str]:
    found = ablation.measures
    percent = f"{100 * found.confidence:g} %"
    lines = [
        "none: the benchmark's own prompt and decoding; light: one light prompt, relaxed parser.",
        "corner of each block (last row, last column): the interaction.",
    ]
    if found.K > 1:
        lines += [
            f"S({found.K}): how much of the first try's failures trying again mends. "
            "Tax_S > 0: the second model lost some of that.",
        ]
    if found.high_variance:
        lines.append("* high variance: K is more than half of the rollouts; n = 2K is enough.")
    return [
        *lines,
        f"low..high: {percent} intervals over tasks and rollouts, all four arms paired by task, "
        "each for itself; they do not cover other training runs. ?: no spread between tasks, "
        "so no interval.",
        f"p: of each effect for itself; adjusted: for all {found.found.tested} that are tested, by "
        f"Benjamini and Hochberg: a find below {1 - found.confidence:.2g}. -: no standard error.",
        "rescued: calls that the strict parser would not have read, of all replies with calls.",
    ]
