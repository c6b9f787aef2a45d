"""What the figures of a report have in common: a picture, its colours, axes and names."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import drawing
from agentenvs.harness.report.paint_svg import plain, themed
from agentenvs.harness.report.paint_theme import BASE, COST, GAIN, GRID, INK, POST, SHEET, SOFT

if TYPE_CHECKING:
    from agentenvs.harness.tax.bands import Band

__all__ = [
    "SIZE",
    "SMALL",
    "Labels",
    "Picture",
    "draw",
    "finite",
    "legend_below",
    "percent",
    "save",
    "shade",
    "share_axis",
    "shorten",
    "signed",
    "styles",
    "tint",
    "tries_axis",
]

#: one panel: reads on a narrow phone, and two stand side by side on a desktop.
SIZE = (4.4, 3.2)
Labels = tuple[str, str]
"""What the two arms are called."""

#: the least size of words, in points.
SMALL = 8.5
_LONGEST = 40
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
        paint: draws it on an empty figure of Matplotlib.
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
        name: of its files, letters, digits and underscores.
        title: its heading.
        caption: how to read it.
        paint: draws on an empty figure, in colours of `paint_theme` alone.
        size: width and height in inches.

    Raises:
        ImportError: Matplotlib is missing.
    """
    with _sheet(size) as figure:
        paint(figure)
        svg = themed(_svg(figure), name, title)
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
            # Metadata names the version of Matplotlib, which is no part of the figure.
            figure.savefig(pixels, dpi=_DPI, facecolor=SHEET, metadata={"Software": None})
        made += [vector, pixels]
    return made


def shorten(name: str, longest: int = _LONGEST) -> str:
    """Return a name of at most so many characters, with an ellipsis in the middle if cut."""
    name = " ".join(name.split())
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail].rstrip()}\u2026{name[len(name) - tail :].lstrip()}"


def styles(points: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how the lines of base and post look: told apart without colour too.

    Args:
        points: how many a line has; few are shown, for a line of one cannot be seen.
    """
    few = points < 4
    return (
        {"color": BASE, "linestyle": (0, (4, 1.6)), "linewidth": 1.8}
        | ({"marker": "s", "markersize": 4.5} if few else {}),
        {"color": POST, "linestyle": "-", "linewidth": 1.8}
        | ({"marker": "o", "markersize": 4.5} if few else {}),
    )


def tint(value: float, most: float) -> tuple[str, float]:
    """Return the colour of a signed number and its opacity, on which words can still be read.

    Args:
        value: positive is a cost, negative a gain; NaN and 0 get no opacity.
        most: the largest absolute value of the drawing.
    """
    if not (math.isfinite(value) and most > 0):
        return GRID, 0.0
    return COST if value > 0 else GAIN, 0.55 * min(abs(value) / most, 1.0)


def shade(axes: Any, ks: NDArray[np.int64], band: Band, colour: str) -> None:
    """Shade a band where it has ends; a single budget gets a bar."""
    low, high = np.asarray(band.low, dtype=float), np.asarray(band.high, dtype=float)
    if not np.isfinite(low).any():
        return
    if len(ks) == 1:
        axes.vlines(ks, low, high, color=colour, alpha=0.35, linewidth=5)
        return
    axes.fill_between(ks, low, high, color=colour, alpha=0.2, linewidth=0, zorder=1.5)


def signed(value: float, digits: int = 3) -> str:
    """Return a number with its sign and a true minus; `?` for NaN, 0 without sign."""
    if math.isnan(value):
        return "?"
    text = f"{value:+.{digits}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "\u2212")


def percent(share: float) -> str:
    """Return a share in per cent, with a decimal where that is needed to tell it from 0 or 1."""
    if math.isnan(share):
        return "?"
    whole = round(100 * share)
    rough = whole == 0 or whole == 100 or share < 0.0995
    text = f"{100 * share:.1f}" if rough else f"{whole}"
    if float(text) == 0 and share > 0:
        return "< 0.1 %"
    return f"{text.removesuffix('.0')} %"


def tries_axis(axes: Any, top: int, name: str = "k, tries for each task", low: int = 1) -> None:
    """Give an axis of whole numbers of tries on a log2 scale.

    Args:
        axes: of Matplotlib.
        top: the largest number.
        name: the axis's label.
        low: the smallest number.
    """
    axes.set_xscale("log", base=2)
    powers = [2**at for at in range(top.bit_length()) if low <= 2**at <= top]
    step = math.ceil(len(powers) / 9)
    ticks = powers[(len(powers) - 1) % step :: step] or [low]
    # The end of the data is named where no power of two stands close to it.
    if top > 1.5 * ticks[-1]:
        ticks.append(top)
    axes.set_xticks(ticks, [f"{k}" for k in ticks])
    axes.minorticks_off()
    axes.set_xlim(low / 1.06, max(top, low + 1) * 1.06)
    axes.set_xlabel(name)


def share_axis(axes: Any, top: float, name: str) -> None:
    """Give an axis of shares from 0, in per cent, which leaves room above the highest."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    high = min(1.0, top) if top > 0.6 else top
    axes.set_ylim(0, 1.02 if high > 0.85 else max(1.12 * high, 0.02))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:g} %"))
    axes.set_ylabel(name)


def legend_below(figure: Any, handles: Iterable[Any], names: Sequence[str]) -> None:
    """Put a legend below everything: in one row where the names are short, else in a column."""
    shown = [shorten(name) for name in names]
    # A letter takes about 5.2 points and a line with its gaps about 32.
    wide = sum(5.2 * len(name) + 32 for name in shown) < 72 * figure.get_figwidth() - 10
    figure.legend(
        list(handles),
        shown,
        loc="outside lower center",
        ncols=len(shown) if wide else 1,
        fontsize=SMALL,
        labelcolor=INK,
        handlelength=2.2,
        borderaxespad=0.2,
        columnspacing=1.6,
    )


def finite(*values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all numbers of some arrays that are neither NaN nor infinite."""
    every = np.concatenate([np.asarray(one, dtype=float).ravel() for one in values])
    found: NDArray[np.float64] = every[np.isfinite(every)]
    return found


@contextmanager
def _sheet(size: tuple[float, float]) -> Iterator[Any]:
    with drawing.blank(
        size,
        svg_hashsalt="agentenvs",
        svg_fonttype="path",
        axes_facecolor="none",
        figure_facecolor="none",
        savefig_facecolor="none",
        axes_labelsize=9,
        xtick_labelsize=SMALL,
        ytick_labelsize=SMALL,
        xtick_labelcolor=SOFT,
        ytick_labelcolor=SOFT,
        legend_fontsize=SMALL,
        hatch_color=GRID,
        hatch_linewidth=0.8,
    ) as figure:
        yield figure


def _svg(figure: Any) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()
