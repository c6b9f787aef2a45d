"""The comparison of two runs as a table in a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from agentenvs.harness.tax.shares import Estimate

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agentenvs.harness.tax.comparison import Comparison, Row

__all__ = ["SCRIPTED_MARK", "render"]

# How many budgets, n/4 and n/2, stand first where they are not in rising order.
_BEST = 2
SCRIPTED_MARK = "SCRIPTED POLICIES: no model was measured"


def render(comparison: Comparison, console: Console) -> None:
    """Print a comparison: heading, warnings, table, what came out, how to read it."""
    if comparison.scripted:
        console.print(SCRIPTED_MARK, style="bold red", markup=False, highlight=False)
    for line in _heading(comparison):
        console.print(line, markup=False, highlight=False)
    for warning in comparison.warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False, highlight=False)
    console.print()
    console.print(_table(comparison))
    console.print()
    if comparison.without is not None:
        console.print(_without(comparison), markup=False, highlight=False)
        console.print(_headline(comparison.without))
        console.print()
    for line in (_tries(comparison), *_of_max(comparison), *_crossing(comparison)):
        console.print(line, markup=False, highlight=False)
    for line in (*_notes(comparison), *_legend(comparison)):
        console.print(line, style="dim", markup=False, highlight=False)


def _heading(comparison: Comparison) -> list[str]:
    lines = []
    tasks = _count(comparison.tasks, "task")
    if comparison.clusters < comparison.tasks:
        tasks += f" in {_count(comparison.clusters, 'cluster')}"
    arms = zip(comparison.labels, comparison.policies, comparison.rollouts, strict=True)
    for label, policy, (low, high) in arms:
        n = f"n = {low}" if low == high else f"n = {low} to {high}"
        who = "" if policy is None or comparison.scripted else f"{policy}, "
        lines.append(f"{label}: {who}{tasks}, {n}")
    return lines


def _table(comparison: Comparison) -> Table:
    table = _empty_table(comparison)
    _add(table, "pass@1", *comparison.pass_1, comparison.pass_1_gap, 3)
    for at, row in enumerate(comparison.rows):
        table.add_section()
        if not comparison.ordered and at in (0, _BEST):
            table.add_row("told best:" if at == 0 else "also:", style="dim")
        _add_row(table, row)
    table.add_section()
    for name in ("never", "sometimes", "always"):
        one, two = (getattr(share, name) for share in comparison.shares)
        _add(table, f"{name} in {comparison.m}", one, two, None, 3)
    return table


def _headline(comparison: Comparison) -> Table:
    """Return a table of pass@1 and the budget that is told first."""
    table = _empty_table(comparison)
    _add(table, "pass@1", *comparison.pass_1, comparison.pass_1_gap, 3)
    _add_row(table, comparison.headline)
    return table


def _empty_table(comparison: Comparison) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    first, second = comparison.labels
    gap = "base - post" if not comparison.scripted else "first - second"
    table = Table(box=SIMPLE, show_edge=False, pad_edge=False, padding=0, collapse_padding=True)
    table.add_column("measure", no_wrap=True)
    for header in (first, second, gap):
        table.add_column(Text(header), justify="right", overflow="fold")
    return table


def _add_row(table: Table, row: Row) -> None:
    found, mark = row.measures, " *" if row.high_variance else ""
    if row.K > 1:
        _add(table, f"pass@{row.K}{mark}", found.pass_base, found.pass_post, found.pass_gap, 3)
    _add(table, f"A({row.K}), Tax_A{mark}", found.A_base, found.A_post, found.tax_A, 2)
    _add(table, f"S({row.K}), Tax_S{mark}", found.S_base, found.S_post, found.tax_S, 3)


def _add(
    table: Table, name: str, one: Estimate, two: Estimate, drop: Estimate | None, digits: int
) -> None:
    from rich.text import Text

    cells = [_number(one, digits), _number(two, digits)]
    cells.append("" if drop is None else _number(drop, digits, sign=True))
    table.add_row(*(Text(cell) for cell in (name, *cells)))


def _without(comparison: Comparison) -> str:
    left = comparison.tasks - comparison.unsolvable
    tagged = f"{comparison.unsolvable} of {_count(comparison.tasks, 'task')}"
    verb = "is" if comparison.unsolvable == 1 else "are"
    return f"{tagged} {verb} tagged as unsolvable. Without, on the other {left}:"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _tries(comparison: Comparison) -> str:
    """Say what one try solves and what the most tries solve."""

    def shares(one: Estimate, two: Estimate) -> str:
        first, second = (f"{100 * each.value:.0f} %" for each in (one, two))
        return f"{first} of the tasks in {comparison.labels[0]}, {second} in {comparison.labels[1]}"

    text = f"One try solves {shares(*comparison.pass_1)}"
    last = max(comparison.rows, key=lambda row: row.K)
    if last.K > 1:
        text += f"; {last.K} tries {shares(last.measures.pass_base, last.measures.pass_post)}"
    return text + "."


def _of_max(comparison: Comparison) -> list[str]:
    """Say how much of its bound S reaches at the headline's budget; at K = 2 the bound is 1."""
    row = comparison.headline
    told = [
        f"{label} reaches {100 * share:.0f} %"
        for share, label in zip(row.of_max, comparison.labels, strict=True)
        if not math.isnan(share)
    ]
    if row.K < 3 or not told:
        return []
    return [f"Of the most that S({row.K}) can be, {row.s_max:.3f}, {', '.join(told)}."]


def _crossing(comparison: Comparison) -> list[str]:
    first, second = comparison.labels
    found, crossing = comparison.crossing_set, comparison.crossing
    beyond = f"> {found.K}"
    if found.same:
        upto = "at one try" if found.K == 1 else f"at every budget up to {found.K}"
        return [f"k*: the two curves are the same {upto}; neither crosses the other."]
    low, k, high = (beyond if end is None else str(end) for end in (found.low, found.k, found.high))
    percent = f"{100 * found.confidence:g} %"
    span = low if low == high else f"{low} to {high}"
    head = f"k* {k}" if found.k is None else f"k* = {k}"
    if not found.decides:
        text = f"{head}, but its {percent} interval is {span}: the data do not decide."
    elif found.k is None:
        text = f"{head} ({percent}: {span}): {first} stays below {second} at every budget."
    elif found.k == 1:
        text = f"{head} ({percent}: {span}): {first} is not behind {second} at the first try."
    else:
        text = f"{head} ({percent}: {span}): from there {first} solves as many tasks as {second}."
    lines = [text]
    if found.decides and crossing.k is not None and not crossing.stays_above:
        flips = ", ".join(map(str, crossing.sign_changes))
        lines.append(f"The curves change places again: at k = {flips}.")
    return lines


def _notes(comparison: Comparison) -> list[str]:
    lines = [f"K = {row.K}: {row.undefined}." for row in comparison.rows if row.undefined]
    tried = [row for row in comparison.rows if row.K > 1]
    for at, label in enumerate(comparison.labels):
        ks = [
            str(row.K)
            for row in tried
            if math.isnan((row.measures.A_base, row.measures.A_post)[at].se)
        ]
        if ks:
            lines.append(
                f"{label}: no spread of A between tasks (K = {', '.join(ks)}), "
                "so no interval of A, S and Tax: ?."
            )
    if not comparison.ordered:
        lines.append("told best: n/4 and n/2, where n rollouts scatter least.")
    if any(row.high_variance for row in comparison.rows):
        lines.append("* high variance: K is more than half of the rollouts; n = 2K is enough.")
    return lines


def _legend(comparison: Comparison) -> list[str]:
    _, second = comparison.labels
    names = "base minus post" if not comparison.scripted else "first minus second"
    percent = f"{100 * comparison.confidence:g} %"
    together = comparison.clusters < comparison.tasks
    return [
        *(["clusters: tasks that hang together and are drawn together."] if together else []),
        "A(K): failed tries before the first success, if it comes within K tries; a mean.",
        "S(K): how much of the first try's failures trying again mends; 0 is nothing.",
        f"Tax: {names}, of A and of S. Tax > 0: the second run ({second}) lost.",
        "pass@k: the share of tasks that k tries solve; a drop below 0 is a gain.",
        "k*: the budget of tries at which the first run catches up with the second.",
        f"low..high: {percent} intervals over tasks and rollouts, arms paired by task; "
        "they do not cover other training runs.",
    ]


def _number(estimate: Estimate, digits: int, *, sign: bool = False) -> str:
    if math.isnan(estimate.value):
        return "undefined"
    # + 0.0 turns a rounded -0 into 0.
    value, low, high = (round(x, digits) + 0.0 for x in (estimate.value, *estimate[2:]))
    shown = f"{value:{'+' if sign else ''}.{digits}f}"
    return f"{shown} ?" if math.isnan(low) else f"{shown} {low:.{digits}f}..{high:.{digits}f}"
