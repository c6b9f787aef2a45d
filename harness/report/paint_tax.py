"""Figures of the tax: over the number of tries, and by what became of the tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from agentenvs.harness.report.formats import count, number, percent, signed
from agentenvs.harness.report.paint import SMALL, Picture, draw
from agentenvs.harness.report.paint_axes import (
    Labels,
    drawn,
    finite,
    legend_below,
    shade,
    shorten,
    styles,
    tint,
    tries_axis,
)
from agentenvs.harness.report.paint_theme import GRID, INK, SOFT

if TYPE_CHECKING:
    from agentenvs.harness.tax.bands import TaxBands
    from agentenvs.harness.tax.decomposition import Decomposition

__all__ = ["tax_contributions", "tax_over_k"]


def tax_over_k(bands: TaxBands, labels: Labels, n: int) -> Picture:
    """Return Tax_S over the budget K with its band, and S of both arms behind it.

    Args:
        bands: the tax and what it is the difference of.
        labels: what the arms are called.
        n: the smallest number of rollouts of a task; budgets above n/2 are hatched.
    """
    ks = np.asarray(bands.ks)

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        tries_axis(axes, int(ks[-1]), "K, tries for each task", low=int(ks[0]))
        left, right = axes.get_xlim()
        if ks[-1] > n / 2:
            axes.axvspan(
                max(n / 2, left),
                right,
                facecolor="none",
                edgecolor=GRID,
                hatch="////",
                linewidth=0,
                zorder=0.5,
            )
            axes.text(
                1,
                1.03,
                "K > n/2",
                transform=axes.transAxes,
                ha="right",
                va="bottom",
                fontsize=SMALL,
                color=SOFT,
            )
        axes.axhline(0, color=INK, linewidth=0.9, zorder=2)
        lines = []
        for band, style in zip((bands.S_base, bands.S_post), styles(len(ks)), strict=True):
            lines += axes.plot(ks, band.value, **style | {"linewidth": 1.2, "alpha": 0.8})
        black = {"color": INK, "linestyle": "-", "linewidth": 2.2, "zorder": 3.5}
        shade(axes, ks, bands.tax_S, black)
        few = {"marker": "D", "markersize": 4.5} if len(ks) < 4 else {}
        lines += axes.plot(ks, bands.tax_S.value, **black | few)
        seen = finite(*bands.tax_S, bands.S_base.value, bands.S_post.value)
        low, high = float(seen.min(initial=0)), float(seen.max(initial=0))
        # Where nothing happens, rounding errors must not fill the axis.
        room = max(0.06 * (high - low), 0.05 - (high - low) / 2)
        axes.set_ylim(low - room, high + room)
        if not finite(bands.tax_S.value).size:
            axes.text(
                0.5,
                0.62,
                "undefined: there is no failure to mend",
                transform=axes.transAxes,
                ha="center",
            )
        axes.set_ylabel("S, and its drop Tax$_S$")
        names = [drawn(label, 36) for label in labels]
        legend_below(figure, lines, [*(f"S, {name}" for name in names), "Tax$_S$"])

    one, two = (shorten(label) for label in labels)
    known = finite(bands.tax_S.low).size > 0
    told = (
        f"Thick: Tax_S(K), by how much S of {two} (solid) falls short of S of {one} (dashed) with "
        f"K tries. Above 0, more tries mend less of what {two} fails. "
        + (
            f"The band holds the whole thick curve with {100 * bands.confidence:g} % confidence. "
            "Intervals in the table are for one K each and narrower, so the two may disagree "
            "about 0."
            if known
            else "There is no band: the tasks show no spread to judge it by."
        )
        + (
            f" Hatched: more than half of the {n} rollouts, where estimates scatter most."
            if ks[-1] > n / 2
            else ""
        )
    )
    return draw("tax_over_k", "The tax at every budget", told, paint)


def tax_contributions(decomposition: Decomposition, labels: Labels = ("base", "post")) -> Picture:
    """Return what the tasks of each cell of never, sometimes, always bring to Tax_A(K).

    Args:
        decomposition: the table.
        labels: what the arms are called.
    """
    parts = np.asarray(decomposition.tax_A, dtype=float)
    most = float(np.abs(parts).max())
    digits = 2 if most >= 0.1 or most == 0 else 3
    names = ("never", "sometimes", "always")

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        axes.grid(False)
        for row in range(3):
            for column in range(3):
                _cell(axes, column, row, decomposition, most, digits)
        axes.set_xlim(-0.5, 2.5)
        axes.set_ylim(2.5, -0.5)
        axes.set_xticks(range(3), names)
        axes.set_yticks(range(3), names, rotation=90, va="center")
        axes.tick_params(length=0, labelcolor=INK)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_xlabel(f"solved by {drawn(labels[1])}")
        axes.set_ylabel(f"solved by {drawn(labels[0], 28)}")

    one, two = (shorten(label) for label in labels)
    told = (
        f"Tax_A({decomposition.K}) = {signed(float(parts.sum()), digits)} tries, split by what "
        f"became of the tasks: rows are what the rollouts of {one} showed, columns those of "
        f"{two}. Plus (purple): tries that used to help and no longer do; minus (green): the "
        "other way round. "
        "Pale: the interval does not leave out 0."
    )
    return draw("tax_contributions", "Which tasks the tax comes from", told, paint)


def _cell(axes: Any, column: int, row: int, table: Decomposition, most: float, digits: int) -> None:
    from matplotlib.patches import Rectangle

    corner, found = (column - 0.5, row - 0.5), table.cells[row][column]
    tasks = int(table.tasks[row, column])
    colour, strength = tint(found, most)
    if tasks and strength:
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, alpha=strength, linewidth=0))
    axes.add_patch(
        Rectangle(corner, 1, 1, facecolor="none", edgecolor=GRID, linewidth=1, clip_on=False)
    )
    middle = {"ha": "center", "va": "center"}
    if not tasks:
        axes.text(column, row, "\u2013", color=SOFT, **middle)
        return
    known = np.isfinite(found.se) and found.se > 0
    axes.text(
        column,
        row - (0.2 if known else 0.12),
        signed(found.value, digits) if found.value else "0",
        fontsize=11,
        fontweight="bold",
        **middle,
    )
    if known:
        half = number((found.high - found.low) / 2, digits)
        axes.text(column, row + 0.04, f"\u00b1 {half}", fontsize=SMALL, **middle)
    many = f"{count(tasks, 'task')}, {percent(float(table.share[row, column]))}"
    axes.text(column, row + (0.28 if known else 0.16), many, fontsize=SMALL, color=INK, **middle)
