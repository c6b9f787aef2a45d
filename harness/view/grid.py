"""Rows of short texts under headings, laid out for any width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from agentenvs.harness.plain_text import printable

__all__ = ["Column", "Grid", "cut", "one_line"]

_GAP = 2


class Column(NamedTuple):
    """A column.

    Attributes:
        heading: what stands above.
        right: whether cells end at its right edge.
        least: where cells may be cut, how narrow at most; such a column takes the room there is.
        drop: where not all columns fit, those with the largest number go first; 0 stays.
        style: the style of a cell, from its text.
    """

    heading: str
    right: bool = False
    least: int = 0
    drop: int = 0
    style: Callable[[str], str] = lambda cell: ""


class Grid:
    """Rows under columns.

    Args:
        columns: the columns.
        rows: a text for each column, rows in order.
    """

    def __init__(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        self.columns = tuple(columns)
        self.rows = rows
        self._natural = [
            max([_width(column.heading), *(_width(row[at]) for row in rows)])
            for at, column in enumerate(self.columns)
        ]

    def layout(self, width: int | None = None) -> list[tuple[int, int]]:
        """Return which columns are shown and how wide each is.

        Args:
            width: characters that there are; None for as many as it takes.
        """
        shown = list(range(len(self.columns)))
        if width is None:
            return [(at, self._natural[at]) for at in shown]
        while self._least(shown) > width:
            loose = [at for at in shown if self.columns[at].drop]
            if not loose:
                break
            shown.remove(max(loose, key=lambda at: self.columns[at].drop))
        room = width - _GAP * (len(shown) - 1)
        room -= sum(self._natural[at] for at in shown if not self.columns[at].least)
        flexible = [at for at in shown if self.columns[at].least]
        flexible.sort(key=lambda at: self._natural[at])
        sizes = {at: self._natural[at] for at in shown}
        for left, at in zip(range(len(flexible), 0, -1), flexible, strict=True):
            sizes[at] = max(1, min(self._natural[at], room // left))
            room -= sizes[at]
        return [(at, sizes[at]) for at in shown]

    def cuts(self, layout: Sequence[tuple[int, int]]) -> bool:
        """Return whether a layout cuts what some cells say."""
        return any(size < self._natural[at] for at, size in layout)

    def _least(self, shown: Sequence[int]) -> int:
        sizes = (
            min(self._natural[at], self.columns[at].least)
            if self.columns[at].least
            else self._natural[at]
            for at in shown
        )
        return sum(sizes) + _GAP * (len(shown) - 1)

    def heading(self, layout: Sequence[tuple[int, int]]) -> Text:
        """Return the line of headings."""
        return self._line([column.heading for column in self.columns], layout, styled=False)

    def line(self, number: int, layout: Sequence[tuple[int, int]]) -> Text:
        """Return a row as one line."""
        return self._line(self.rows[number], layout, styled=True)

    def _line(self, cells: Sequence[str], layout: Sequence[tuple[int, int]], styled: bool) -> Text:
        line = Text(no_wrap=True, end="")
        for place, (at, size) in enumerate(layout):
            column = self.columns[at]
            cell = cut(cells[at], size)
            fill = " " * (size - cell_len(cell))
            if place:
                line.append(" " * _GAP)
            line.append(
                fill + cell if column.right else cell + fill,
                column.style(cells[at]) if styled else "",
            )
        line.rstrip()
        return line


def _width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def one_line(text: str) -> str:
    """Return text as it may stand in a cell: printable, and without line breaks."""
    return printable(text.replace("\n", "\u240a").replace("\t", " "))


def cut(text: str, width: int, both: bool = True) -> str:
    """Return a text that takes at most so many characters.

    Args:
        text: the text, one line.
        width: characters that there are.
        both: where it has to be cut, keep its end too.
    """
    if _width(text) <= width:
        return text
    if width < 2:
        return set_cell_size(text, max(width, 0))
    if not both:
        return set_cell_size(text, width - 1).rstrip() + "\u2026"
    front = set_cell_size(text, (width - 1) * 2 // 3).rstrip()
    back = text[::-1]
    tail = set_cell_size(back, width - 1 - cell_len(front))[::-1]
    return f"{front}\u2026{tail}"
