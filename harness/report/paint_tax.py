"""Figures of the tax: over the number of tries, and by what became of the tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from agentenvs.harness.report.paint import (
    SMALL,
    Labels,
    Picture,
    draw,
    finite,
    legend_below,
    percent,
    shade,
    shorten,
    signed,
    styles,
    tint,
    tries_axis,
)
from agentenvs.harness.report.paint_theme import INK, SHEET, SOFT

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
    one, two = (shorten(label) for label in labels)
    sure = finite(bands.tax_S.low).size > 0

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        tries_axis(axes, int(ks[-1]), "K, tries for each task", low=int(ks[0]))
        if ks[-1] > n / 2:
            axes.axvspan(
                max(n / 2, axes.get_xlim()[0]),
                axes.get_xlim()[1],
                facecolor="none",
                edgecolor=SOFT,
                hatch="////",
                alpha=0.35,
                linewidth=0,
                zorder=0.5,
            )
        axes.axhline(0, color=INK, linewidth=0.9, zorder=2)
        lines = []
        for band, style in zip((bands.S_base, bands.S_post), styles(len(ks)), strict=True):
            lines += axes.plot(
                ks, band.value, **style | {"linewidth": 1.2, "alpha": 0.75}, zorder=2.5
            )
        shade(axes, ks, bands.tax_S, INK)
        few = {"marker": "o", "markersize": 4} if len(ks) < 4 else {}
        lines += axes.plot(ks, bands.tax_S.value, color=INK, linewidth=2.2, zorder=3, **few)
        seen = finite(
            bands.tax_S.value,
            bands.tax_S.low,
            bands.tax_S.high,
            bands.S_base.value,
            bands.S_post.value,
        )
        low, high = float(seen.min(initial=0)), float(seen.max(initial=0))
        room = max(0.06 * (high - low), 0.005)
        axes.set_ylim(low - room, high + room)
        axes.set_ylabel("S, and their difference")
        legend_below(figure, lines, (f"S of {one}", f"S of {two}", "Tax_S"))

    told = (
        f"Black: Tax_S(K), by how much S of {two} falls short of S of {one} with K tries; thin "
        f"lines: S of both. Above 0: {two} gains less from more tries. "
        + (
            f"The band holds the whole curve with {100 * bands.confidence:g} % confidence. "
            if sure
            else "There is no band: the tasks show no spread to judge it by. "
        )
        + (
            f"Hatched: more than half of the {n} rollouts, where estimates scatter most."
            if ks[-1] > n / 2
            else ""
        )
    )
    return draw("tax_over_k", "The tax at every budget", told.strip(), paint)


def tax_contributions(decomposition: Decomposition, labels: Labels = ("base", "post")) -> Picture:
    """Return what the tasks of each cell of never, sometimes, always bring to Tax_A(K).

    Args:
        decomposition: the table.
        labels: what the arms are called.
    """
    parts = np.asarray(decomposition.tax_A, dtype=float)
    one, two = (shorten(label) for label in labels)
    names = ("never", "sometimes", "always")

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        axes.grid(False)
        most = float(np.abs(parts).max())
        for row in range(3):
            for column in range(3):
                value, tasks = float(parts[row, column]), int(decomposition.tasks[row, column])
                colour, strength = tint(value, most)
                if tasks:
                    axes.add_patch(
                        _square(column, row, facecolor=colour, alpha=strength, linewidth=0)
                    )
                axes.add_patch(
                    _square(column, row, facecolor="none", edgecolor=SHEET, linewidth=1.5)
                )
                _cell(axes, column, row, value, tasks, decomposition)
        axes.set_xlim(-0.5, 2.5)
        axes.set_ylim(2.5, -0.5)
        axes.set_xticks(range(3), names)
        axes.set_yticks(range(3), names, rotation=90, va="center")
        axes.tick_params(length=0, labelcolor=INK)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_xlabel(f"solved by {shorten(labels[1], 34)}")
        axes.set_ylabel(f"solved by {shorten(labels[0], 24)}")

    total = float(parts.sum())
    told = (
        f"Tax_A({decomposition.K}) = {signed(total, 2)} tries, split by what became of the tasks: "
        f"rows are what the rollouts of {one} showed, columns those of {two}. Below each number "
        "how many tasks it comes from. Plus (purple): tries that used to help and no longer do; "
        "minus (green): the other way round."
    )
    return draw("tax_contributions", "Which tasks the tax comes from", told, paint)


def _square(column: int, row: int, **style: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, **style)


def _cell(axes: Any, column: int, row: int, value: float, tasks: int, table: Decomposition) -> None:
    if not tasks:
        axes.text(column, row, "\u2013", ha="center", va="center", color=SOFT)
        return
    found = table.cells[row][column]
    half = (found.high - found.low) / 2
    sure = f" \u00b1 {half:.2f}" if np.isfinite(half) and found.se > 0 else ""
    axes.text(
        column,
        row - 0.1,
        signed(value, 2) + sure,
        ha="center",
        va="center",
        fontsize=10,
        fontweight="bold" if abs(value) >= 0.005 else "normal",
    )
    many = "1 task" if tasks == 1 else f"{tasks} tasks"
    axes.text(
        column,
        row + 0.2,
        f"{many}, {percent(float(table.share[row, column]))}",
        ha="center",
        va="center",
        fontsize=SMALL,
    )
