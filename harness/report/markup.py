"""Text that others wrote, made harmless, and the pieces of HTML that a page is made of."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from agentenvs.harness.plain_text import printable

if TYPE_CHECKING:
    from agentenvs.harness.report.paint import Picture

__all__ = [
    "PAPER",
    "Cell",
    "Cut",
    "breakable",
    "bullets",
    "cut",
    "document",
    "figure",
    "folded",
    "paragraph",
    "plain",
    "section",
    "shortened",
    "table",
    "terms",
    "text",
]

_NEWLINE = re.compile("\r\n?")
#: where the tax was described
PAPER = "<a href='https://arxiv.org/abs/2610.01509' rel='noreferrer'>arXiv 2610.01509</a>"

# What stands at the head of a row and needs no room of its own on a narrow screen.
_SHORT = 18
_HINT = "<p class='hint' aria-hidden='true'>Scroll sideways for the rest \u2192</p>"


class Cell(NamedTuple):
    """A cell of a table.

    Attributes:
        text: what it says.
        more: what stands smaller below it, an interval say.
        kind: a class of the style sheet.
    """

    text: str
    more: str = ""
    kind: str = ""


class Cut(NamedTuple):
    """A text without its middle.

    Attributes:
        head, tail: what was kept.
        left_out: how many characters are missing between them.
    """

    head: str
    tail: str
    left_out: int


def plain(value: object) -> str:
    """Return anything as text with line feeds alone, in which none hides or turns another."""
    return printable(_NEWLINE.sub("\n", str(value)))


def text(value: object) -> str:
    """Return anything as text that is inert in HTML, in attributes too."""
    return html.escape(plain(value), quote=True)


def cut(value: str, most: int) -> Cut:
    """Return a text of at most `most` characters, taken from both of its ends."""
    if len(value) <= most:
        return Cut(value, "", 0)
    tail = most // 2
    head = most - tail
    return Cut(value[:head], value[len(value) - tail :] if tail else "", len(value) - most)


def shortened(value: str, most: int) -> str:
    """Return a text on which all can be seen, with an ellipsis for its middle where it is long."""
    short = cut(plain(value), most)
    return f"{short.head}\u2026{short.tail}" if short.left_out else short.head


def breakable(name: str) -> str:
    """Return a name as HTML that breaks into lines at / and _ rather than within words."""
    return text(name).replace("/", "/<wbr>").replace("_", "_<wbr>")


def document(title: str, style: str, lead: str, body: Iterable[str]) -> str:
    """Return a page that asks nothing of the network and runs nothing.

    Args:
        title: its heading, as text.
        style: further rules of its style sheet.
        lead: the sentence below the heading, as text.
        body: HTML; empty parts are left out.
    """
    template = resources.files("agentenvs.assets").joinpath("report", "page.html")
    return Template(template.read_text("utf-8")).substitute(
        title=text(title),
        theme=style,
        lead=text(lead),
        body="\n".join(part for part in body if part),
    )


def figure(picture: Picture) -> str:
    """Return a picture with its heading and how to read it."""
    return (
        f"<figure id='figure-{text(picture.name)}'><h3>{text(picture.title)}</h3>{picture.svg}"
        f"<figcaption>{text(picture.caption)}</figcaption></figure>"
    )


def bullets(lines: Sequence[str]) -> str:
    """Return a list of sentences, "" where there are none."""
    return f"<ul>{''.join(f'<li>{text(line)}</li>' for line in lines)}</ul>" if lines else ""


def terms(told: Iterable[tuple[str, str]]) -> str:
    """Return words with what they mean."""
    pairs = (f"<div><dt>{text(one)}</dt><dd>{text(means)}</dd></div>" for one, means in told)
    return f"<dl class='terms'>{''.join(pairs)}</dl>"


def paragraph(words: str, kind: str = "") -> str:
    """Return a paragraph, "" where there are no words."""
    return f"<p{_kind(kind)}>{text(words)}</p>" if words else ""


def section(title: str, body: Sequence[str], name: str, kind: str = "") -> str:
    """Return a section with its heading; "" where it has nothing to say.

    Args:
        title: the heading.
        body: HTML; empty parts are left out.
        name: its anchor.
        kind: a class of the style sheet.
    """
    parts = [part for part in body if part]
    if not parts:
        return ""
    return (
        f"<section id='{text(name)}'{_kind(kind)}><h2>{text(title)}</h2>{''.join(parts)}</section>"
    )


def folded(title: str, body: str, kind: str = "") -> str:
    """Return what the reader opens if it is wanted."""
    return f"<details{_kind(kind)}><summary>{text(title)}</summary>{body}</details>"


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str | Cell]],
    caption: str = "",
    groups: Mapping[int, str] | None = None,
) -> str:
    """Return a table whose first column heads its rows; wide ones scroll by themselves.

    Args:
        head: what heads the columns.
        rows: of as many cells each.
        caption: what stands above it.
        groups: a heading for the rows from this one on.
    """
    first = rows[0] if rows else ()
    kinds = [" class='words'" if _wordy(cell) else "" for cell in first] or [""] * len(head)
    heads = "".join(
        f"<th scope='col'{kind}>{text(name)}</th>" for name, kind in zip(head, kinds, strict=True)
    )
    marks = groups or {}
    lines = "".join(
        (_group(marks[place], len(head)) if place in marks else "")
        + f"<tr>{''.join(_cell(cell, at) for at, cell in enumerate(row))}</tr>"
        for place, row in enumerate(rows)
    )
    told = f"<caption>{text(caption)}</caption>" if caption else ""
    hint = _HINT if len(head) > 4 else ""
    kind = _kind("wordy") if any(len(_words(row[0])) > _SHORT for row in rows) else ""
    return (
        f"{hint}<div class='wide' tabindex='0'><table{kind}>{told}<thead><tr>{heads}</tr></thead>"
        f"<tbody>{lines}</tbody></table></div>"
    )


def _group(title: str, columns: int) -> str:
    # The words keep their place where a wide table scrolls.
    shown = f"<span>{text(title)}</span>"
    return f"<tr class='group'><th colspan='{columns}' scope='rowgroup'>{shown}</th></tr>"


def _words(cell: str | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell


def _wordy(cell: str | Cell) -> bool:
    return isinstance(cell, Cell) and "words" in cell.kind.split()


def _cell(cell: str | Cell, at: int) -> str:
    one = cell if isinstance(cell, Cell) else Cell(cell)
    more = f"<small>{text(one.more)}</small>" if one.more else ""
    tag, scope = ("td", "") if at else ("th", " scope='row'")
    shown = breakable(one.text) if "id" in one.kind.split() else text(one.text)
    return f"<{tag}{scope}{_kind(one.kind)}>{shown}{more}</{tag}>"


def _kind(kind: str) -> str:
    return f" class='{text(kind)}'" if kind else ""
