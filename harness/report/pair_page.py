"""The findings as one HTML file that asks nothing of the network and runs nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentenvs.harness.report.facts import facts
from agentenvs.harness.report.formats import count, upper
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.markup import (
    bullets,
    document,
    figure,
    paragraph,
    section,
    text,
)
from agentenvs.harness.report.paint import Picture
from agentenvs.harness.report.paint_theme import theme
from agentenvs.harness.report.played import called, played
from agentenvs.harness.report.sections import (
    bins_section,
    consistency_section,
    origin_section,
    tax_section,
)
from agentenvs.harness.report.sections_checks import (
    audit_section,
    theory_section,
    unsolvable_section,
)
from agentenvs.harness.report.sections_method import (
    glossary_section,
    method_section,
    settings_section,
)
from agentenvs.harness.report.sections_tasks import parse_section, tasks_section
from agentenvs.harness.report.sections_use import routing_section, size_section
from agentenvs.harness.report.voice import long_names, trained, voice
from agentenvs.harness.report.words import headline, meaning, ranges, verdict
from agentenvs.harness.tax.render import SCRIPTED_MARK

__all__ = ["LIMIT", "cautions", "page"]

#: how large a page gets, in bytes
LIMIT = 3_000_000
# Bytes for each transcript; the first that keeps the page within its limit is taken.
_ROOM = (30_000, 10_000, 3_000, 0)
_HEADING = re.compile("<section id='([a-z]+)'[^>]*><h2>([^<]*)</h2>")


def page(findings: Findings, pictures: Sequence[Picture], title: str) -> str:
    """Return the page: the answer in words, then figures and tables, then how it was made.

    Everything that models, environments and settings bring along is escaped. Long transcripts
    are cut, with a note of how much is missing, so that the page stays below 3 MB.

    Args:
        findings: what was found.
        pictures: its figures.
        title: of the page.
    """
    figures = {picture.name: figure(picture) for picture in pictures}
    made = ""
    for room in _ROOM:
        made = document(title, theme(), _lead(findings), _body(findings, figures, room))
        if len(made.encode()) < LIMIT:
            break
    return made


def _body(found: Findings, figures: dict[str, str], room: int) -> list[str]:
    def drawn(name: str) -> str:
        return figures.get(name, "")

    parts = [
        _warnings(found),
        tax_section(found, drawn("tax_over_k")),
        origin_section(found, drawn("tax_contributions")),
        bins_section(found, drawn("histograms"), drawn("flow")),
        consistency_section(found, drawn("consistency")),
        tasks_section(found, room),
        parse_section(found),
        audit_section(found),
        unsolvable_section(found),
        theory_section(found),
        routing_section(found),
        size_section(found),
        settings_section(found),
        method_section(found),
        glossary_section(found),
    ]
    links = [_HEADING.match(part) for part in parts]
    nav = " ".join(f"<a href='#{found[1]}'>{found[2]}</a>" for found in links if found)
    return [_top(found, drawn("curves")), f"<nav>On this page: {nav}</nav>", *parts]


def _lead(found: Findings) -> str:
    told = found.comparison
    say = voice(found)
    tries = {low if low == high else (low, high) for low, high in told.rollouts}
    alike = len(tries) == 1 and found.n == max(high for _, high in told.rollouts)
    often = ("once" if found.n == 1 else f"{found.n:,} times") if alike else "several times"
    tasks = "the same task" if told.tasks == 1 else f"the same {count(told.tasks, 'task')}"
    intro = f"{upper(say.first)} and {say.second} played {tasks}, {often} each."
    if told.scripted and alike:
        return intro
    arms = []
    who = zip(long_names(found), told.labels, called(found), told.rollouts, strict=True)
    for name, label, what, (low, high) in who:
        many = "" if alike else f", {low:,}{f' to {high:,}' if high > low else ''} tries a task"
        arm = name if told.scripted else f"{name} ({label})"
        arms.append(f"{arm}: {what}{many}")
    taken = "Taken for " if trained(found) else ""
    told_who = f"{taken}{arms[0]}; {'for ' if taken else ''}{arms[1]}"
    return f"{intro} {upper(told_who)}."


def _top(found: Findings, curves: str) -> str:
    judged = verdict(found)
    cards = "".join(
        f"<div><dt>{text(one.title)}</dt><dd class='value'>{text(one.value)}</dd>"
        f"<dd class='more'>{text(one.more)}</dd><dd class='told'>{text(one.told)}</dd></div>"
        for one in facts(found)
    )
    scripted = paragraph(SCRIPTED_MARK, "scripted") if found.comparison.scripted else ""
    return (
        f"<section class='top' id='answer'>{scripted}<h2>{text(headline(found))}</h2>"
        f"{paragraph(played(found), 'played')}{paragraph(ranges(found), 'ranges')}"
        f"<p class='verdict'><span class='pill {judged.level}'>{text(judged.mark)}</span>"
        f"{text(judged.text)}</p>"
        f"<div class='pair'><dl class='facts'>{cards}</dl>{curves}"
        f"{paragraph(meaning(found), 'meaning')}</div></section>"
    )


def _warnings(found: Findings) -> str:
    return section("Before believing this", [bullets(cautions(found))], "warnings", "warnings")


def cautions(found: Findings) -> list[str]:
    """Return what may spoil the comparison, in sentences."""
    changed = [one.text for one in found.certified if not one.holds]
    return [*_one_model(found), *changed, *found.comparison.warnings, *_few(found)]


def _one_model(found: Findings) -> list[str]:
    if not found.one_model:
        return []
    return [
        "both runs come from one model (the same weights): no training lies between them, and "
        "what differs is how it was asked, or chance."
    ]


def _few(found: Findings) -> list[str]:
    """Return warnings about budgets that the rollouts hardly carry."""
    if found.K is None or found.n >= 2 * found.K:
        return []
    return [f"K = {found.K} is told from {found.n} rollouts a task; twice as many as K are wanted."]
