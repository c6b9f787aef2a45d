"""The sections about the tax: over the budgets, where it comes from, how sure it is."""

from __future__ import annotations

import math

from agentenvs.harness.report.cells import estimate_cell, points_cell, share_cell
from agentenvs.harness.report.formats import count, percent, signed, span
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.markup import Cell, folded, paragraph, section, table
from agentenvs.harness.report.voice import names, voice
from agentenvs.harness.report.words import moved
from agentenvs.harness.tax import Estimate
from agentenvs.harness.tax.decomposition import BINS

__all__ = ["bins_section", "consistency_section", "origin_section", "tax_section"]


def tax_section(found: Findings, figure: str) -> str:
    """Return the tax over the budgets."""
    if found.K is None:
        return ""
    first, second = names(found)
    rows: list[list[str | Cell]] = []
    for row in found.comparison.rows:
        if row.K == 1:
            continue
        told = row.measures
        mark = " *" if row.high_variance else ""
        rows.append(
            [
                f"{row.K}{mark}",
                estimate_cell(told.tax_S, 3, sign=True),
                share_cell(told.pass_base),
                share_cell(told.pass_post),
                estimate_cell(told.S_base, 3),
                estimate_cell(told.S_post, 3),
                estimate_cell(told.tax_A, 2, sign=True),
                estimate_cell(told.A_base, 2),
                estimate_cell(told.A_post, 2),
            ]
        )
    heads = [
        "tries, K",
        "Tax_S",
        f"pass@K, {first}",
        f"pass@K, {second}",
        f"S, {first}",
        f"S, {second}",
        "Tax_A",
        f"A, {first}",
        f"A, {second}",
    ]
    body = [
        "<div class='pair'>",
        figure,
        "<div>",
        paragraph(
            "The Sharpening Tax asks how much less it helps to try again. S(K) is the share of the "
            "first try's failures that up to K tries mend, early ones counting more; Tax_S is S "
            f"({first}) minus S ({second}). Above 0, {voice(found).second} has less to gain from "
            f"trying again than {voice(found).first}."
        ),
        paragraph(
            "A(K) says the same in tries: how many failed tries go by before the first success, "
            "if it comes within K tries. Tax_A is the same difference of A. It also rises when the "
            "same tasks are solved sooner, so look at pass@K, the share of tasks solved within K "
            "tries, beside it."
        ),
        paragraph(
            "The size of the tax, and even its sign, can change with K. One K alone says little."
        ),
        "</div></div>",
        table(heads, rows, groups=_groups(found)),
    ]
    notes = [f"K = {row.K}: {row.undefined}." for row in found.comparison.rows if row.undefined]
    if any(row.high_variance for row in found.comparison.rows):
        notes.append(
            "* K is more than half of the rollouts, where these numbers scatter most; "
            "twice as many rollouts as K are enough."
        )
    fixed = found.these_tasks
    if fixed is not None and not math.isnan(fixed.tax_S.low):
        notes.append(
            f"If these very tasks are all that matters, the interval of Tax_S({fixed.K}) is "
            f"{span(fixed.tax_S, 3, sign=True)}: it then covers chance in the tries alone."
        )
    body.append(paragraph(" ".join(notes), "note"))
    return section("The tax at several numbers of tries", ["".join(body)], "tax")


def _groups(found: Findings) -> dict[int, str]:
    """Return headings of the tax's rows, none where no budget is put first for a reason."""
    if found.comparison.ordered:
        return {}
    budgets = [row.K for row in found.comparison.rows if row.K > 1]
    best = {found.n // 4, found.n // 2}
    first = next((at for at, k in enumerate(budgets) if k not in best), len(budgets))
    if not 0 < first < len(budgets):
        return {}
    return {0: "what these tries tell best", first: "other budgets"}


def origin_section(found: Findings, figure: str) -> str:
    """Return where the tax comes from: which tasks, and lost coverage or solving sooner."""
    split, parts = found.decomposition, found.parts
    if split is None or parts is None:
        return ""
    k = split.K
    never, some = BINS[:2]
    there, back = split.cells[1][0], split.cells[0][1]
    both = float(split.tax_A[1, 0] + split.tax_A[0, 1])
    words = [
        f"Each task is put into a bin by its rollouts: never, sometimes or always solved. At "
        f"{k} tries Tax_A is {signed(parts.tax_A.value, 2)} tries; it is exactly the sum of what "
        "the nine kinds of tasks bring.",
        _largest(found),
        f"Tasks that are rarely solved move between {never} and {some} by chance alone. Two runs "
        f"of one and the same model fill both cells too, with about as much plus ({some}, then "
        f"{never}) as minus ({never}, then {some}). So read the two together: "
        f"{signed(there.value, 2)} and {signed(back.value, 2)} make {signed(both, 2)}."
        if split.tasks[1, 0] or split.tasks[0, 1]
        else "",
        f"Told another way, {signed(parts.coverage.value, 2)} tries come from solving "
        f"{'fewer' if parts.coverage.value > 0 else 'more'} tasks within {k} tries (coverage"
        f"{_in(parts.coverage)}), and {signed(parts.earliness.value, 2)} from being "
        f"{'ahead' if parts.earliness.value > 0 else 'behind'} on the way there (earliness"
        f"{_in(parts.earliness)}). A tax without a coverage part is no net loss of tasks: "
        "tasks are solved sooner.",
    ]
    rows: list[list[str | Cell]] = []
    for at, name in enumerate(BINS):
        cells: list[str | Cell] = [name]
        for to in range(3):
            tasks = int(split.tasks[at, to])
            if not tasks:
                cells.append(Cell("\u2013", "no task", "quiet"))
                continue
            cell = split.cells[at][to]
            more = "" if math.isnan(cell.low) else f"{span(cell, 2, sign=True)}; "
            cells.append(Cell(signed(cell.value, 2), f"{more}{count(tasks, 'task')}"))
        rows.append(cells)
    heads = [" \u2193 / ".join(names(found)) + " \u2192", *BINS]
    body = [
        "<div class='pair'><div>",
        *(paragraph(line) for line in words),
        "</div>",
        figure,
        "</div>",
        folded(
            "The same as a table, with intervals",
            table(heads, rows, f"What each kind of task brings to Tax_A({k}), in tries"),
        ),
    ]
    return section("Where the tax comes from", ["".join(body)], "origin")


def _largest(found: Findings) -> str:
    split = found.decomposition
    if split is None or not split.tax_A.any():
        return ""
    at, to = divmod(int(abs(split.tax_A).argmax()), 3)
    means = {
        (1, 0): "tasks that were solved now and then and are never solved now",
        (1, 1): "tasks that were, and still are, solved now and then",
        (1, 2): "tasks that were solved now and then and are always solved now",
        (0, 1): "tasks that were never solved and now are, now and then",
        (2, 1): "tasks that were always solved and now fail now and then",
    }
    if (at, to) not in means:
        return ""
    return (
        f"The largest part, {signed(float(split.tax_A[at, to]), 2)}, comes from {means[at, to]} "
        f"({count(int(split.tasks[at, to]), 'task')}{_in(split.cells[at][to])})."
    )


def _in(estimate: Estimate) -> str:
    """Return an interval, and that it holds 0 where it does."""
    if math.isnan(estimate.low):
        return ""
    doubt = "" if estimate.sure else ", which may be chance"
    return f", {span(estimate, 2, sign=True)}{doubt}"


def bins_section(found: Findings, histograms: str, flow: str) -> str:
    """Return how often tasks are solved in both arms, and how tasks move between the bins."""
    first, second = names(found)
    told = found.comparison
    rows: list[list[str | Cell]] = []
    for name in BINS:
        one, two = (getattr(share, name) for share in told.shares)
        rows.append([f"{name} solved in {told.m}", share_cell(one), share_cell(two)])
    moves, tries = [], count(told.m, "try", "tries")
    for at, name in enumerate(BINS):
        moves.append([f"{name} {first}", *(percent(float(share)) for share in found.flow[at])])
    body = [
        "<div class='pair'>",
        histograms,
        flow,
        "</div>",
        folded(
            "The same as tables, with intervals",
            table(["bin", first, second], rows, "Shares of tasks")
            + table(
                ["from", *(f"to {name} {second}" for name in BINS)],
                moves,
                f"Where tasks go, in shares of all tasks, with {tries} of each model",
            ),
        ),
        paragraph(
            "These shares move with the number of rollouts, for one and the same model. Both "
            f"are therefore told for {tries}.",
            "note",
        ),
    ]
    return section("How often tasks are solved", ["".join(body)], "bins")


def consistency_section(found: Findings, figure: str) -> str:
    """Return how often all of k tries succeed."""
    first, second = names(found)
    rows: list[list[str | Cell]] = []
    for one in found.consistency:
        way = {"gain": "more reliable", "loss": "less reliable", "open": "not decided"}
        rows.append(
            [
                f"{one.k}",
                share_cell(one.base),
                share_cell(one.post),
                points_cell(one.gain),
                Cell(way[moved(one.gain.negated())], "", "quiet"),
            ]
        )
    body = [
        "<div class='pair'>",
        figure,
        "<div>",
        paragraph(
            "pass^k is the chance that k tries at a task all succeed: what a user feels who needs "
            "it to work every time. Training often raises it while it lowers the share of tasks "
            "that many tries can solve."
        ),
        table(["k", f"pass^k, {first}", f"pass^k, {second}", "gained", ""], rows),
        "</div></div>",
    ]
    return section("Does it work every time?", ["".join(body)], "consistency")
