"""The comparison of two runs as a table in a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from agentenvs.harness.tax.shares import Estimate

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agentenvs.harness.tax.table import Comparison

__all__ = ["SCRIPTED_MARK", "render"]

SCRIPTED_MARK = "SCRIPTED POLICIES: no model was measured"


def render(comparison: Comparison, console: Console) -> None:
    """Print a comparison: heading, table, how to read it, warnings."""
    if comparison.scripted:
        console.print(SCRIPTED_MARK, style="bold red", markup=False, highlight=False)
    for line in _heading(comparison):
        console.print(line, markup=False, highlight=False)
    console.print(_table(comparison))
    for line in _reading(comparison):
        console.print(line, style="dim", markup=False, highlight=False)
    for warning in comparison.warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False, highlight=False)


def _heading(comparison: Comparison) -> list[str]:
    lines = []
    arms = zip(comparison.labels, comparison.policies, comparison.rollouts, strict=True)
    for label, policy, (low, high) in arms:
        n = f"n = {low}" if low == high else f"n = {low} to {high}"
        who = "" if policy is None or comparison.scripted else f"{policy}, "
        lines.append(f"{label}: {who}{comparison.tasks} tasks, {n}")
    return lines


def _table(comparison: Comparison) -> Table:
    from rich.table import Table
    from rich.text import Text

    first, second = comparison.labels
    gap = "base - post" if not comparison.scripted else "first - second"
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("measure", no_wrap=True)
    for header in (first, second, gap):
        table.add_column(Text(header), justify="right", overflow="fold")

    def add(name: str, one: str, two: str, difference: str = "") -> None:
        table.add_row(*(Text(cell) for cell in (name, one, two, difference)))

    one, two = comparison.pass_1
    add("pass@1", _number(one), _number(two), _number(comparison.pass_1_gap, sign=True))
    for row in comparison.rows:
        table.add_section()
        found, mark = row.measures, " *" if row.high_variance else ""
        if row.K > 1:
            add(
                f"pass@{row.K}{mark}",
                _number(found.pass_base),
                _number(found.pass_post),
                _number(found.pass_gap, sign=True),
            )
        add(
            f"A({row.K}){mark}",
            _number(found.A_base, 2),
            _number(found.A_post, 2),
            f"Tax_A {_number(found.tax_A, 2, sign=True)}",
        )
        add(
            f"S({row.K}){mark}",
            _number(found.S_base),
            _number(found.S_post),
            f"Tax_S {_number(found.tax_S, sign=True)}",
        )
    table.add_section()
    crossing = comparison.crossing
    add("k*", "", "", f"> {crossing.K}" if crossing.k is None else str(crossing.k))
    table.add_section()
    for name in ("never", "sometimes", "always"):
        shares = [getattr(share, name) for share in comparison.shares]
        add(f"{name} in {comparison.m}", *(f"{100 * share:.1f} %" for share in shares))
    return table


def _reading(comparison: Comparison) -> list[str]:
    first, second = comparison.labels
    crossing = comparison.crossing
    if crossing.k is None:
        lines = [f"k* > {crossing.K}: {first} stays below {second} at every budget."]
    elif crossing.k == 1:
        lines = [f"k* = 1: {first} is not behind {second} at the first try."]
    else:
        lines = [f"k* = {crossing.k}: from there {first} solves as many tasks as {second}."]
    if crossing.k is not None and not crossing.stays_above:
        flips = ", ".join(map(str, crossing.sign_changes))
        lines.append(f"The curves change places again: at k = {flips}.")
    lines += [f"K = {row.K}: {row.undefined}." for row in comparison.rows if row.undefined]
    if any(row.high_variance for row in comparison.rows):
        lines.append("* high variance: K is more than half of the rollouts; n = 2K is enough.")
    percent = f"{100 * comparison.confidence:g} %"
    lines.append(
        f"± {percent} intervals over tasks and rollouts, arms paired by task; "
        "they do not cover other training runs. ± ? where no spread can be estimated."
    )
    return lines


def _number(estimate: Estimate, digits: int = 3, *, sign: bool = False) -> str:
    if math.isnan(estimate.value):
        return "undefined"
    spread = (
        "?"
        if math.isnan(estimate.se)
        else f"{max(estimate.high - estimate.value, estimate.value - estimate.low):.{digits}f}"
    )
    # + 0.0 turns a rounded -0 into 0.
    value = round(estimate.value, digits) + 0.0
    return f"{value:{'+' if sign else ''}.{digits}f} ± {spread}"
