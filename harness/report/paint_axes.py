"""What the figures of a report share: axes, lines, bands, legends and the names of arms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.report.paint_theme import BASE, COST, GAIN, GRID, INK, POST

if TYPE_CHECKING:
    from agentenvs.harness.tax.bands import Band
    from agentenvs.harness.tax.shares import Estimate

__all__ = [
    "Labels",
    "drawn",
    "finite",
    "legend_below",
    "shade",
    "share_axis",
    "shorten",
    "styles",
    "tint",
    "tries_axis",
]

Labels = tuple[str, str]
"""What the two arms are called."""

_LONGEST = 40
# What a letter of the smallest words and a key of a legend with its gaps take, in points.
_LETTER, _KEY = 5.0, 38


def shorten(name: str, longest: int = _LONGEST) -> str:
    """Return a name of at most so many characters, with an ellipsis in the middle if cut."""
    name = " ".join(name.split())
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail].rstrip()}\u2026{name[len(name) - tail :].lstrip()}"


def drawn(name: str, longest: int = _LONGEST) -> str:
    """Return a shortened name as Matplotlib draws it, whatever its letters are.

    A dollar starts no formula, and what the font lacks becomes a replacement mark.
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font

    known = get_font(findfont(FontProperties())).get_charmap()
    shown = "".join(
        letter if ord(letter) in known else "\ufffd" for letter in shorten(name, longest)
    )
    # Matplotlib leaves names that start with an underscore out of legends.
    return shown.replace("$", r"\$").replace("_", "\u2009_", shown.startswith("_"))


def styles(points: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how the lines of base and post look: told apart without colour too.

    Base is dashed and lies above, so that both are seen where they are the same.

    Args:
        points: how many a line has; few are shown, for a line of one cannot be seen.
    """
    few = points < 4
    base = {"color": BASE, "linestyle": (0, (4, 1.6)), "linewidth": 1.8, "zorder": 3.2}
    post = {"color": POST, "linestyle": "-", "linewidth": 1.8, "zorder": 3}
    if few:
        base |= {"marker": "s", "markersize": 4.5}
        post |= {"marker": "o", "markersize": 6.5}
    return base, post


def tint(estimate: Estimate, most: float) -> tuple[str, float]:
    """Return the colour of a cell and its opacity, on which words can still be read.

    Args:
        estimate: positive is a cost, negative a gain; paler where the interval does not leave
            out 0.
        most: the largest absolute value of the drawing.
    """
    value = estimate.value
    if not (math.isfinite(value) and most > 0):
        return GRID, 0.0
    strength = 0.55 * min(abs(value) / most, 1.0)
    return COST if value > 0 else GAIN, strength if estimate.sure else strength / 3


def shade(axes: Any, ks: NDArray[np.int64], band: Band, style: dict[str, Any]) -> None:
    """Shade a band where it has ends; a single budget gets a bar."""
    low, high = np.asarray(band.low, dtype=float), np.asarray(band.high, dtype=float)
    if not np.isfinite(low).any():
        return
    colour = style["color"]
    if len(ks) == 1:
        axes.vlines(ks, low, high, color=colour, alpha=0.35, linewidth=5)
        return
    axes.fill_between(ks, low, high, color=colour, alpha=0.16, linewidth=0, zorder=1.5)
    thin = {"color": colour, "linestyle": style["linestyle"], "linewidth": 0.6, "alpha": 0.7}
    axes.plot(ks, low, zorder=1.6, **thin)
    axes.plot(ks, high, zorder=1.6, **thin)


def tries_axis(axes: Any, top: int, name: str = "k, tries for each task", low: int = 1) -> None:
    """Give an axis of whole numbers of tries on a log2 scale.

    Args:
        axes: of Matplotlib.
        top: the largest number.
        name: the axis's label.
        low: the smallest number.
    """
    axes.set_xscale("log", base=2)
    powers = [2**at for at in range(top.bit_length()) if 2**at >= low] or [low]
    step = math.ceil(len(powers) / 9)
    ticks = powers[(len(powers) - 1) % step :: step]
    # The end of the data is named where no power of two stands close to it.
    if top > 1.5 * ticks[-1]:
        ticks.append(top)
    axes.set_xticks(ticks, [f"{k}" for k in ticks])
    axes.minorticks_off()
    room = 1.06 if top > low else 1.5
    axes.set_xlim(low / room, top * room)
    axes.set_xlabel(name)


def share_axis(axes: Any, top: float, name: str) -> None:
    """Give an axis of shares from 0, in per cent, which leaves room above the highest."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_ylim(0, 1.02 if top > 0.8 else max(1.12 * top, 0.1))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:g} %"))
    axes.set_ylabel(name)


def legend_below(figure: Any, handles: Iterable[Any], names: Sequence[str]) -> None:
    """Put a legend below everything, in as few rows as the names fit into.

    Args:
        figure: of Matplotlib.
        handles: what it explains.
        names: as Matplotlib draws them.
    """
    room = 72 * figure.get_figwidth() - 10
    for columns in range(len(names), 0, -1):
        rows = math.ceil(len(names) / columns)
        widest = [max(map(len, names[at : at + rows])) for at in range(0, len(names), rows)]
        if columns == 1 or sum(_LETTER * letters + _KEY for letters in widest) < room:
            break
    figure.legend(
        list(handles),
        list(names),
        loc="outside lower center",
        ncols=columns,
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
