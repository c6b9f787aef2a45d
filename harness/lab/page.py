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
from agentenvs.harness.lab.tables import Table
from agentenvs.harness.lab.words import FIRST, LAST, Section

__all__ = ["page"]


# Pixels below which an inch of a figure cannot be read any more; then it is scrolled.
_PER_INCH = 66
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
    first = [one for one in sections if one[0] in FIRST]
    last = [one for one in sections if one[0] == LAST]
    middle = [one for one in sections if one not in first and one not in last]
    parts = [
        *map(_section, first),
        *map(_figure, pictures[:1]),
        *map(_table, tables[:1]),
        *map(_section, middle[:1]),
        *map(_figure, pictures[1:]),
        *map(_section, middle[1:]),
        *map(_table, tables[1:]),
        *map(_section, last),
    ]
    seeds = len(summary["seeds"])
    lead = (
        f"{len(summary['arms'])} arms, {seeds} seed{'' if seeds == 1 else 's'}, "
        f"{summary['n']} rollouts a task. World {summary['world']}, settings "
        f"{summary['name']} ({summary['digest']})."
    )
    return Template(template).substitute(lead=html.escape(lead), body="\n".join(parts))


def _text(text: str) -> str:
    return html.escape(_MINUS.sub("\u2212", text).replace("k* = ", "k*\u00a0=\u00a0"))


def _section(section: Section) -> str:
    title, lines = section
    items = "".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<section><h2>{html.escape(title)}</h2><ul>{items}</ul></section>"


def _figure(picture: Picture) -> str:
    return (
        f"<section><h2>{html.escape(picture.title)}</h2><figure><div class='wide' tabindex='0'>"
        f"<picture><source media='(prefers-color-scheme: dark)' srcset='{_uri(picture.dark)}'>"
        f"<img style='min-width:{picture.width * _PER_INCH:.0f}px' src='{_uri(picture.light)}' "
        f"alt='{html.escape(picture.caption, quote=True)}'>"
        f"</picture></div><figcaption>{html.escape(picture.caption)}</figcaption></figure></section>"
    )


def _uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _table(table: Table) -> str:
    head = "".join(f"<th scope='col'>{html.escape(name)}</th>" for name in table.columns)
    rows = "".join(
        "<tr>"
        + f"<th scope='row'>{html.escape(row[0])}</th>"
        + "".join(f"<td>{_text(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in table.rows
    )
    return (
        f"<section><h2>{html.escape(table.title)}</h2><div class='wide' tabindex='0'><table>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        f"<p class='note'>{html.escape(table.note)}</p></section>"
    )
