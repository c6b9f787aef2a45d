"""The sections that ask whether to believe the numbers: grader, hopeless tasks, theory."""

from __future__ import annotations

import math

from agentenvs.harness.report.cells import estimate_cell, points_cell, share_cell
from agentenvs.harness.report.formats import count, number, percent, percents, signed, span
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.markup import Cell, folded, paragraph, section, table
from agentenvs.harness.report.voice import names, voice
from agentenvs.harness.tax import Comparison
from agentenvs.harness.tax.theory import TheoremCheck

__all__ = ["audit_section", "theory_section", "unsolvable_section"]

# Up to so many successes a task counts among those solved rarely.
_FEW = 8


def audit_section(found: Findings) -> str:
    """Return what would be left if the rarest successes were mistakes of the grader."""
    audit = found.audit
    if audit is None or not any(arm.c.any() for arm in found.arms):
        return ""
    first, second = names(found)
    once = "once" if audit.most == 1 else f"at most {audit.most} times"
    words = (
        "A grader that lets a wrong try pass now and then makes tasks look rarely solved that are "
        "never solved, and rare successes weigh most in the tax. Below, every task that was "
        f"solved {once} is taken as never solved. If the tax keeps its size, it does not hang on "
        "these. This is a bound: many of these successes are real."
    )
    why = (
        "The last row says nothing of errors. A counts failed tries before a success, and those "
        "come from tasks that are solved, but rarely, so it is large for most models, with the "
        "best of graders too. It is why a grader's rate of errors matters: if one wrong try in "
        f"{10 * found.n:,} passed, about every tenth task that cannot be solved would look like "
        "one of these. State a bound for yours, from reading tries that were passed."
    )
    before, after = audit.before, audit.after
    shares = [percents(*pair) for pair in zip(audit.pass_before, audit.pass_after, strict=True)]
    rows: list[list[str | Cell]] = [
        [f"tasks solved {once}", *(f"{many:,}" for many in audit.tasks), ""],
        [f"solved within {audit.K} tries", *(f"{a} \u2192 {b}" for a, b in shares), ""],
        [
            f"S({audit.K}), Tax_S({audit.K})",
            _pair(before.S_base, after.S_base),
            _pair(before.S_post, after.S_post),
            _pair(before.tax_S, after.tax_S, sign=True),
        ],
        [
            f"share of A({audit.K}) from these tasks",
            *(_or_dash(share) for share in audit.share_most),
            "",
        ],
    ]
    few = found.n > _FEW
    if few:
        name = f"share of A({audit.K}) from tasks solved 1 to {_FEW} times"
        rows.append([name, *(_or_dash(share) for share in audit.share_few), ""])
    body = [
        paragraph(words),
        table(["as counted \u2192 without them", first, second, "tax"], rows),
        paragraph(why if few else "", "note"),
    ]
    return section("Could the grader be wrong?", body, "grader")


def _pair(one: float, two: float, *, sign: bool = False) -> str:
    show = signed if sign else number
    return f"{show(one, 3)} \u2192 {show(two, 3)}"


def _or_dash(share: float) -> str:
    return "\u2013" if math.isnan(share) else percent(share)


def unsolvable_section(found: Findings) -> str:
    """Return the numbers with and without tasks that nobody can solve."""
    whole, some = found.comparison, found.comparison.without
    if some is None:
        return ""
    first, second = names(found)
    tasks = count(whole.unsolvable, "task")
    rows: list[list[str | Cell]] = []
    for name, told in ((f"all {whole.tasks:,} tasks", whole), (f"{some.tasks:,} tasks", some)):
        rows.extend(_both(name, told, found))
    body = [
        paragraph(
            f"{tasks} of {whole.tasks:,} {'is' if whole.unsolvable == 1 else 'are'} known to be "
            "out of reach of any agent, through a fault in the task. They lower every share, and "
            "they do so for both models alike."
        ),
        table(["", first, second, "before minus after"], rows),
    ]
    return section("Without the tasks that nobody can solve", body, "unsolvable")


def _both(name: str, told: Comparison, found: Findings) -> list[list[str | Cell]]:
    rows: list[list[str | Cell]] = [
        [
            f"{name}: solved in one try",
            share_cell(told.pass_1[0]),
            share_cell(told.pass_1[1]),
            points_cell(told.pass_1_gap),
        ]
    ]
    row = next((row for row in told.rows if row.K == found.K), None)
    if row is not None:
        rows.append(
            [
                f"{name}: solved within {row.K} tries",
                share_cell(row.measures.pass_base),
                share_cell(row.measures.pass_post),
                points_cell(row.measures.pass_gap),
            ]
        )
        rows.append(
            [
                f"{name}: S({row.K}), Tax_S({row.K})",
                estimate_cell(row.measures.S_base, 3),
                estimate_cell(row.measures.S_post, 3),
                estimate_cell(row.measures.tax_S, 3, sign=True),
            ]
        )
    return rows


def theory_section(found: Findings) -> str:
    """Return whether the training did what the sharpening theorem speaks of."""
    check = found.theory
    if check is None or math.isnan(check.sharpened.value):
        return ""
    say = voice(found)
    if check.sharpened.value < 0:
        sure = check.sharpened.high < 0
        answer = (
            "A simple model of training, in which some tasks become certain and all others stay "
            f"as they were, {'cannot describe' if sure else 'says nothing of'} {say.second}: its "
            f"area A({check.K}) is {'larger' if sure else 'not seen to be smaller'} than "
            f"{say.then}."
        )
        more = ""
    else:
        answer = (
            "A simple model of training, in which some tasks become certain and all others stay as "
            f"they were, foretells by how much S({check.K}) falls. {_came_true(check)}"
        )
        more = (
            "The model says: some tasks, picked without regard to how hard they are, become "
            "certain (always or never solved), and all others stay as they were. Then "
            f"S({check.K}) should come to {number(check.predicted.value, 2)} times what it was "
            f"({span(check.predicted, 2)}); it came to {number(check.observed.value, 2)} times "
            f"that ({span(check.observed, 2)}). It comes true where the difference, with its "
            f"interval, is {number(check.tolerance, 1)} at most."
        )
    rows: list[list[str | Cell]] = [
        [
            f"{one.name}: {one.claim}",
            Cell(_departure(one.estimate.value), span(one.estimate, 3, sign=True)),
            one.verdict,
        ]
        for one in check.assumptions
    ]
    told = table(["what the model assumes", "departure (0: none)", "in these data"], rows)
    body = [paragraph(answer), folded("Its numbers and what it assumes", paragraph(more) + told)]
    return section("Does the simple theory fit?", body, "theory")


def _came_true(check: TheoremCheck) -> str:
    """Return whether the prediction came true, and whether that says much."""
    told = {
        "holds": "That comes true here",
        "fails": "That does not come true here",
        "undecided": "These data neither confirm nor refute that",
    }[check.prediction]
    wrong, every = sum(one.verdict == "fails" for one in check.assumptions), len(check.assumptions)
    if not wrong or check.prediction != "holds":
        return f"{told}."
    hold = (
        f"none of the {every} things that it assumes holds"
        if wrong == every
        else f"{wrong} of the {every} things that it assumes {'does' if wrong == 1 else 'do'} "
        "not hold"
    )
    return f"{told}, but {hold}, so that it may be right by accident."


def _departure(value: float) -> str:
    return "unknown" if math.isnan(value) else signed(value, 3)
