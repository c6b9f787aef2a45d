"""A figure as a page has it, and as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import drawing
from agentenvs.harness.report.paint_svg import plain, themed
from agentenvs.harness.report.paint_theme import SHEET, SOFT

__all__ = ["SIZE", "SMALL", "Picture", "draw", "save"]

#: one panel: reads on a narrow phone, and two stand side by side on a desktop.
SIZE = (4.4, 3.2)
#: the least size of words, in points.
SMALL = 8.5

_DPI = 200


@dataclass(frozen=True)
class Picture:
    """A figure as a page has it.

    Attributes:
        name: of its files; also what its ids start with, so pictures of one page differ in it.
        title: its heading.
        caption: how to read it.
        svg: an `<svg>` element to put into a page, without background. Its colours are CSS
            variables with the light colours as fallback; `theme` has the dark ones.
        width, height: in inches, as it was drawn.
        paint: draws it on an empty figure of Matplotlib; without it there is no PNG.
    """

    name: str
    title: str
    caption: str
    svg: str = field(repr=False)
    width: float
    height: float
    paint: Callable[[Any], None] | None = field(default=None, repr=False, compare=False)


def draw(
    name: str,
    title: str,
    caption: str,
    paint: Callable[[Any], None],
    size: tuple[float, float] = SIZE,
) -> Picture:
    """Return a picture; the same painter gives the same bytes with one version of Matplotlib.

    Args:
        name: of its files: letters, digits, `-` and `_`.
        title: its heading.
        caption: how to read it.
        paint: draws on an empty figure, in colours of `paint_theme` alone.
        size: width and height in inches.

    Raises:
        BadArgument: a name that cannot be one of files and ids.
        ImportError: Matplotlib is missing.
    """
    if not name or not all(
        letter.isascii() and (letter.isalnum() or letter in "-_") for letter in name
    ):
        raise BadArgument(f"Expected a name of letters, digits, '-' and '_', got {name!r}.")
    with _sheet(size) as figure:
        paint(figure)
        svg = themed(drawing.svg(figure), name, title)
    return Picture(name, title, caption, svg, *size, paint)


def save(pictures: Sequence[Picture], folder: Path) -> list[Path]:
    """Write each picture as NAME.svg and NAME.png in light colours, and return the paths.

    Args:
        pictures: of different names.
        folder: where the files go; made.

    Raises:
        BadArgument: two pictures of one name, or one that was not made by a function of
            `figures` and has no painter.
        ImportError: Matplotlib is missing.
    """
    names = [picture.name for picture in pictures]
    if len(set(names)) < len(names):
        raise BadArgument(f"Expected pictures of different names, got {', '.join(names)}.")
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for picture in pictures:
        if picture.paint is None:
            raise BadArgument(f"Expected a picture with a painter, {picture.name!r} has none.")
        vector, pixels = folder / f"{picture.name}.svg", folder / f"{picture.name}.png"
        vector.write_text(plain(picture.svg, picture.width, picture.height), encoding="utf-8")
        with _sheet((picture.width, picture.height)) as figure:
            picture.paint(figure)
            # The version of Matplotlib is no part of the figure.
            figure.savefig(pixels, dpi=_DPI, facecolor=SHEET, metadata={"Software": None})
        made += [vector, pixels]
    return made


def _sheet(size: tuple[float, float]) -> AbstractContextManager[Any]:
    return drawing.vector(
        size,
        axes_labelsize=9,
        xtick_labelsize=SMALL,
        ytick_labelsize=SMALL,
        xtick_labelcolor=SOFT,
        ytick_labelcolor=SOFT,
        legend_fontsize=SMALL,
        hatch_linewidth=0.8,
    )
