"""The sections at the end: settings of both arms, how numbers were made, what words mean."""

from __future__ import annotations

from agentenvs.harness.report.formats import count
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.markup import (
    PAPER,
    Cell,
    folded,
    paragraph,
    section,
    shortened,
    table,
    terms,
)
from agentenvs.harness.report.settings import Setting
from agentenvs.harness.report.voice import names

__all__ = ["glossary_section", "method_section", "settings_section"]

_LONGEST = 300
_MOST = 200


def settings_section(found: Findings) -> str:
    """Return the settings of both arms side by side."""
    if not found.settings:
        return ""
    wrong = [one for one in found.settings if one.kind == "differs"]
    own = [one for one in found.settings if one.kind == "expected"]
    same = [one for one in found.settings if one.kind == "same"]
    told = {"differs": "differs, and should not", "expected": "differs by design", "same": "same"}

    def rows(settings: list[Setting]) -> str:
        lines: list[list[str | Cell]] = []
        for one in settings[:_MOST]:
            kind = "differs words" if one.kind == "differs" else "words"
            lines.append(
                [
                    shortened(one.name, _LONGEST),
                    Cell(_value(one.base), "", kind),
                    Cell(_value(one.post), "", kind),
                    Cell(told[one.kind], "", "differs" if one.kind == "differs" else "quiet"),
                ]
            )
        return table(["setting", *names(found), ""], lines)

    more = len(found.settings) - sum(min(len(part), _MOST) for part in (wrong, own, same))
    words = (
        f"{_many(wrong)} {_verb(wrong, 'differ')} that should "
        "be alike. What differs may be the reason for what this page shows."
        if wrong
        else "Both were asked alike: no setting differs that should be alike."
    )
    body = [paragraph(words)]
    if held := [one.text for one in found.certified if one.holds]:
        body.append(paragraph(f"{'. '.join(held)}.", "note"))
    if wrong:
        body.append(rows(wrong))
    if own:
        body.append(
            folded(f"{count(len(own), 'setting')} that {_verb(own, 'differ')} by design", rows(own))
        )
    if same:
        body.append(
            folded(
                f"{count(len(same), 'setting')} that {'is' if len(same) == 1 else 'are'} the same",
                rows(same),
            )
        )
    if more > 0:
        body.append(paragraph(f"{count(more, 'setting')} more are not shown.", "note"))
    return section("How both were asked", body, "settings")


def _many(settings: list[Setting]) -> str:
    return count(len(settings), "setting")


def _verb(settings: list[Setting], verb: str) -> str:
    return f"{verb}s" if len(settings) == 1 else verb


def _value(value: str | None) -> str:
    return "\u2013" if value is None else shortened(value, _LONGEST)


def method_section(found: Findings) -> str:
    """Return how each interval was made and what it covers."""
    told = found.comparison
    sure = f"{100 * told.confidence:g}\u00a0%"
    rows: list[list[str | Cell]] = [
        [name, Cell(how, "", "words"), Cell(covers, "", "words")] for name, how, covers in _METHODS
    ]
    alone = (
        f"Tasks that hang together are drawn as one, so that {told.tasks:,} tasks count as "
        f"{told.clusters:,} groups."
        if told.clusters != told.tasks
        else f"Each of the {count(told.tasks, 'task')} stands for itself."
    )
    body = [
        paragraph(
            f"All intervals aim at {sure}: of many such intervals, so many hold the true value. "
            "They are about a world of tasks like these, both models playing the same tasks. None "
            "covers another training run of the same recipe, which may come out otherwise. "
            f"{alone}"
        ),
        folded(
            "How each interval is made",
            table(["number", "how the interval is made", "what it covers"], rows),
            "printed",
        ),
    ]
    return section("How sure, and how that was worked out", body, "method")


_METHODS = (
    (
        "share solved (pass@k, bins, pass^k)",
        "Wilson's interval for as many tasks as a yes-or-no question would need to be as sure",
        "tasks and tries",
    ),
    (
        "differences, A, S, Tax_A, Tax_S and their parts",
        "delta method over tasks, both models paired by task",
        "tasks and tries",
    ),
    (
        "bands around curves",
        "studentised sup-t: wide enough for the whole curve at once, with Wilson's ends. Each is "
        "wider than the interval at any one number of tries, so it may hold a 0 that such an "
        "interval leaves out",
        "tasks and tries, all numbers of tries together",
    ),
    (
        "where the curves cross",
        "tasks drawn again with replacement: where the curves of such sets first cross. It looks "
        "at all numbers of tries, and may reach beyond the last one although the interval there, "
        "of that one number, says who is ahead",
        "tasks and tries, all numbers of tries together",
    ),
    (
        "single tasks",
        "Fisher's exact test of each, then Benjamini and Hochberg's rule over all of them",
        "tries of these very tasks",
    ),
    (
        "which model is cheaper",
        "tasks drawn again with replacement, the choice made anew each time; the interval of a "
        "cost is that of the number of tries it takes",
        "tasks and tries",
    ),
)


def glossary_section(found: Findings) -> str:
    """Return what the page's words mean, and where to read more."""
    first, second = names(found)
    told = (
        (
            "Task, try",
            "A task is solved or not at each try. A try (rollout) is one conversation, "
            "played with chance; the same model may solve a task once and miss it the next time.",
        ),
        (
            "pass@k",
            "The chance that at least one of k tries at a task succeeds, averaged over the "
            "tasks. pass@1 is the share of tries that succeed.",
        ),
        ("pass^k", "The chance that all of k tries at a task succeed."),
        (
            "A(K)",
            "Failed tries that go by before the first success, if it comes within K tries; a "
            "mean over tasks, in tries.",
        ),
        (
            "S(K)",
            "Scalability: A(K) / ((K \u2212 1) (1 \u2212 pass@1)), how much of the first "
            "try's failures trying again mends. 0: nothing. Its largest value falls with K, from 1 "
            "at K = 2 to about 0.3.",
        ),
        (
            "Tax_A, Tax_S",
            f"The Sharpening Tax: A and S {first} minus {second}. Above 0, there is "
            "less to gain from more tries than there was.",
        ),
        ("k*", f"The least number of tries at which as many tasks are solved {first} as {second}."),
        (
            "Never, sometimes, always",
            "What the tries at a task show: no success, some, nothing but successes.",
        ),
        (
            "Coverage, earliness",
            "The two parts of Tax_A: tasks that are no longer solved within K "
            "tries, and tasks that are solved at another point on the way.",
        ),
        (
            "Interval",
            "The range that holds the true value as often as it says. A range of "
            "differences that includes 0 leaves open who is better.",
        ),
    )
    link = (
        f"<p class='note'>The Sharpening Tax was described in {PAPER}. All numbers here "
        "come from the unbiased estimates of pass@k of "
        "<a href='https://arxiv.org/abs/2107.03374' rel='noreferrer'>arXiv 2107.03374</a> and "
        "what follows from them.</p>"
    )
    words = folded(f"{len(told)} words", terms(told), "printed")
    return section("What the words mean", [words, link], "words")
