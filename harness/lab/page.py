"""The study as one HTML file that asks nothing of the network."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any

from agentenvs.harness.lab.figures import Picture
from agentenvs.harness.lab.glossary import PAPER, glossary
from agentenvs.harness.lab.tables import HEAT, Table
from agentenvs.harness.lab.words import FIRST, LAST, Section

__all__ = ["page"]


# Pixels to an inch of a figure below which its words cannot be read; then it is scrolled.
_PER_INCH = 90
# An estimate, and what stands smaller below it: an interval, or a number of tasks.
_CELL = re.compile(r"(?P<value>[^\s(\[].*?)(?P<star>\*?) (?P<more>±.*|\(.*\)|\[.*\])")
_HINT = "<p class='hint' aria-hidden='true'>Scroll sideways for the rest \u2192</p>"
# A hyphen before a digit that is a minus.
_MINUS = re.compile(r"(?<![\w.-])-(?=\d)")


def page(
    summary: Mapping[str, Any],
    sections: Sequence[Section],
    tables: Sequence[Table],
    pictures: Sequence[Picture],
) -> str:
    """Return the page: words first, then figures and tables.

    Args:
        summary: what was found.
        sections: what it says in words.
        tables: its tables.
        pictures: its figures.
    """
    template = resources.files("agentenvs.assets").joinpath("lab", "page.html").read_text("utf-8")
    before = [_section(one) for one in sections if one[0] == FIRST[0]]
    first = [_section(one) for one in sections if one[0] in FIRST[1:]]
    last = [_section(one) for one in sections if one[0] == LAST]
    middle = [_section(one) for one in sections if one[0] not in (*FIRST, LAST)]
    figures = {picture.name: _figure(picture) for picture in pictures}
    shown = [_table(table) for table in tables]
    at = next((i for i, table in enumerate(tables) if table.title.startswith(HEAT)), len(tables))
    parts = [
        *before,
        _glossary(summary),
        *first,
        figures.get("curves", ""),
        *shown[:1],
        figures.get("tax", ""),
        *shown[1:at],
        figures.get("frontier", ""),
        *middle,
        figures.get("heat", ""),
        *shown[at:],
        *last,
    ]
    seeds = len(summary["seeds"])
    lead = (
        f"{len(summary['arms'])} arms, {seeds} seed{'' if seeds == 1 else 's'}, "
        f"{summary['n']} rollouts a task. World {summary['world']}, settings "
        f"{summary['name']} ({summary['digest']})."
    )
    return Template(template).substitute(lead=html.escape(lead), body="\n".join(parts))


def _text(text: str) -> str:
    return html.escape(_MINUS.sub("\u2212", text).replace(" = ", "\u00a0=\u00a0"))


def _glossary(summary: Mapping[str, Any]) -> str:
    name, address = PAPER
    terms = "".join(
        f"<div><dt>{_text(term)}</dt><dd>{_text(told)}</dd></div>"
        for term, told in glossary(summary)
    )
    return (
        "<section class='terms'><h2>What this is</h2><p>A study, in a world small enough to know "
        "all of it, of what post-training a language model gains and costs: the Sharpening Tax of "
        f"<a href='{address}'>{name}</a>.</p><dl>{terms}</dl></section>"
    )


def _section(section: Section) -> str:
    title, lines = section
    items = "".join(f"<li>{_text(line)}</li>" for line in lines)
    kind = " class='first'" if title == FIRST[0] else ""
    return f"<section{kind}><h2>{html.escape(title)}</h2><ul>{items}</ul></section>"


def _figure(picture: Picture) -> str:
    return (
        f"<section><h2>{html.escape(picture.title)}</h2><figure>{_HINT}"
        "<div class='wide' tabindex='0'>"
        f"<picture><source media='(prefers-color-scheme: dark)' srcset='{_uri(picture.dark)}'>"
        f"<img style='min-width:{picture.width * _PER_INCH:.0f}px' src='{_uri(picture.light)}' "
        f"alt='{html.escape(picture.caption, quote=True)}'>"
        f"</picture></div><figcaption>{html.escape(picture.caption)}</figcaption></figure></section>"
    )


def _uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _cell(cell: str) -> str:
    """Put what belongs to an estimate below it, so that a table is less wide."""
    found = _CELL.fullmatch(cell)
    if found is None:
        return _text(cell)
    value, star, more = found.group("value", "star", "more")
    shown = _text(value) + (f"<b class='star'>{star}</b>" if star else "")
    return f"{shown}<small> {_text(more)}</small>"


def _table(table: Table) -> str:
    head = "".join(f"<th scope='col'>{html.escape(name)}</th>" for name in table.columns)
    rows = "".join(
        "<tr>"
        + f"<th scope='row'>{_text(row[0])}</th>"
        + "".join(f"<td>{_cell(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in table.rows
    )
    return (
        f"<section><h2>{html.escape(table.title)}</h2>{_HINT}<div class='wide' tabindex='0'><table>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        f"<p class='note'>{html.escape(table.note)}</p></section>"
    )
