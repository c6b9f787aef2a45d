"""The findings as one HTML file that asks nothing of the network and runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from string import Template

from agentenvs.harness.report.formats import count
from agentenvs.harness.report.gather import Findings
from agentenvs.harness.report.markup import cut, paragraph, plain, section, text
from agentenvs.harness.report.paint import Picture
from agentenvs.harness.report.paint_theme import theme
from agentenvs.harness.report.sections import (
    bins_section,
    consistency_section,
    origin_section,
    tax_section,
)
from agentenvs.harness.report.sections_tasks import parse_section, tasks_section
from agentenvs.harness.report.words import facts, headline, ranges, verdict
from agentenvs.harness.tax.render import SCRIPTED_MARK

__all__ = ["LIMIT", "page"]

#: how large a page gets, in bytes
LIMIT = 3_000_000
# Bytes for each transcript; the first that keeps the page within its limit is taken.
_ROOM = (30_000, 10_000, 3_000, 0)


def page(findings: Findings, pictures: Sequence[Picture], title: str) -> str:
    """Return the page: the answer in words, then figures and tables, then how it was made.

    Everything that models, environments and settings bring along is escaped. Long transcripts
    are cut, with a note of how much is missing, so that the page stays below 3 MB.

    Args:
        findings: what was found.
        pictures: its figures.
        title: of the page.
    """
    template = (
        resources.files("agentenvs.assets").joinpath("report", "page.html").read_text("utf-8")
    )
    figures = {picture.name: _figure(picture) for picture in pictures}
    made = ""
    for room in _ROOM:
        made = Template(template).substitute(
            title=text(title),
            theme=theme(),
            lead=text(_lead(findings)),
            body="\n".join(_body(findings, figures, room)),
        )
        if len(made.encode()) < LIMIT:
            break
    return made


def _body(found: Findings, figures: dict[str, str], room: int) -> list[str]:
    def figure(name: str) -> str:
        return figures.get(name, "")

    return [
        _top(found, figure("curves")),
        _warnings(found),
        tax_section(found, figure("tax_over_k")),
        origin_section(found, figure("tax_contributions")),
        bins_section(found, figure("histograms"), figure("flow")),
        consistency_section(found, figure("consistency")),
        tasks_section(found, room),
        parse_section(found),
    ]


def _lead(found: Findings) -> str:
    told = found.comparison
    arms = []
    for label, policy, (low, high) in zip(told.labels, told.policies, told.rollouts, strict=True):
        who = label if told.scripted or policy is None else f"{label}: {_short(policy)}"
        tries = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        arms.append(f"{who} ({tries} {'try' if high == 1 else 'tries'} at each task)")
    return f"{count(told.tasks, 'task')}; {'; '.join(arms)}"


def _short(value: str) -> str:
    short = cut(plain(value), 120)
    return f"{short.head}\u2026{short.tail}" if short.left_out else short.head


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
        f"{paragraph(ranges(found), 'ranges')}"
        f"<p class='verdict'><span class='pill {judged.level}'>{text(judged.mark)}</span>"
        f"{text(judged.text)}</p><dl class='facts'>{cards}</dl>{curves}</section>"
    )


def _warnings(found: Findings) -> str:
    warned = [*found.comparison.warnings, *_few(found)]
    items = "".join(f"<li>{text(line)}</li>" for line in warned)
    return section(
        "Before believing this", [f"<ul>{items}</ul>"] if items else [], "warnings", "warnings"
    )


def _few(found: Findings) -> list[str]:
    """Return warnings about budgets that the rollouts hardly carry."""
    return [
        f"K = {found.K} is told from {found.n} rollouts a task; twice as many as K are wanted."
        for _ in [0]
        if found.K is not None and found.n < 2 * found.K
    ]


def _figure(picture: Picture) -> str:
    return (
        f"<figure id='figure-{text(picture.name)}'><h3>{text(picture.title)}</h3>{picture.svg}"
        f"<figcaption>{text(picture.caption)}</figcaption></figure>"
    )
