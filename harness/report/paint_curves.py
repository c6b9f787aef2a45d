"""Figures over the number of tries: pass@k of both arms, and pass^k beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.report.paint import (
    SMALL,
    Labels,
    Picture,
    draw,
    finite,
    legend_below,
    shade,
    share_axis,
    shorten,
    styles,
    tries_axis,
)
from agentenvs.harness.report.paint_theme import INK, SHEET
from agentenvs.harness.tax import curve
from agentenvs.harness.tax._checks import Arm, paired, single_k
from agentenvs.harness.tax.consistency import hat_curve
from agentenvs.harness.tax.curves import log_budgets

if TYPE_CHECKING:
    from agentenvs.harness.tax.bands import CurveBands
    from agentenvs.harness.tax.crossing_set import CrossoverSet

__all__ = ["consistency", "curves"]


def curves(bands: CurveBands, crossing: CrossoverSet, labels: Labels) -> Picture:
    """Return pass@k of both arms with their bands, and where the first catches up.

    Args:
        bands: the curves.
        crossing: k* and the k that it may be.
        labels: what the arms are called.
    """
    ks = np.asarray(bands.ks)
    one, two = (shorten(label) for label in labels)
    sure = finite(bands.base.low, bands.post.low).size > 0

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        lines = []
        for band, style in zip((bands.base, bands.post), styles(len(ks)), strict=True):
            shade(axes, ks, band, style["color"])
            lines += axes.plot(ks, band.value, zorder=3, **style)
        tops = finite(bands.base.value, bands.post.value, bands.base.high, bands.post.high)
        share_axis(axes, float(tops.max(initial=0)), "tasks solved within k tries")
        tries_axis(axes, int(ks[-1]), low=int(ks[0]))
        _mark(axes, bands, crossing)
        legend_below(figure, lines, labels)

    told = (
        f"Share of tasks that at least one of k tries solves. Dashed: {one}; solid: {two}. "
        + (
            f"The bands hold both whole curves at once with {100 * bands.confidence:g} % "
            "confidence. "
            if sure
            else "There are no bands: the tasks show no spread to judge them by. "
        )
        + _told(crossing, one)
    )
    return draw("curves", "Solved within k tries", told, paint)


def consistency(base: Arm, post: Arm, labels: Labels, K: int | None = None) -> Picture:  # noqa: N803
    """Return pass@k and pass^k of both arms: at least one of k tries succeeds, and all do.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks.
        labels: what the arms are called.
        K: the largest k; default the smallest n of both.

    Raises:
        BadArgument: as `sharpening_tax`.
    """
    arms = paired(base, post)
    smallest = int(min(arms.base.n.min(), arms.post.n.min()))
    ks = log_budgets(smallest if K is None else single_k("K", K, smallest))
    some = [curve(arm.c, arm.n, ks) for arm in arms]
    every = [hat_curve(arm.c, arm.n, ks) for arm in arms]

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        lines = []
        for above, below, style in zip(some, every, styles(len(ks)), strict=True):
            lines += axes.plot(ks, above, zorder=3, **style)
            axes.plot(ks, below, zorder=3, **style)
            axes.fill_between(ks, below, above, color=style["color"], alpha=0.09, linewidth=0)
        share_axis(axes, max(float(line.max()) for line in some), "tasks")
        tries_axis(axes, int(ks[-1]))
        legend_below(figure, lines, labels)

    one, two = (shorten(label) for label in labels)
    told = (
        f"Upper line of each arm: at least one of k tries succeeds (pass@k). Lower line: all k "
        f"succeed (pass^k). What lies between are tasks solved sometimes. Dashed: {one}; solid: "
        f"{two}."
    )
    return draw("consistency", "Solved once, solved every time", told, paint)


def _mark(axes: Any, bands: CurveBands, crossing: CrossoverSet) -> None:
    """Shade every k that the crossing may be at, and ring the estimate."""
    inside = axes.get_xaxis_transform()
    for low, high in _runs(crossing.ks):
        end = crossing.K * 1.06 if crossing.censored and high == crossing.K else high * 1.03
        axes.axvspan(low / 1.03, end, color=INK, alpha=0.08, linewidth=0, zorder=1)
    left, right = axes.get_xlim()
    where = right if crossing.k is None else float(crossing.k)
    share = np.log(where / left) / np.log(right / left)
    axes.text(
        min(max(float(share), 0.0), 1.0),
        1.03,
        _short(crossing),
        transform=axes.transAxes,
        ha="left" if share < 0.3 else "right" if share > 0.7 else "center",
        va="bottom",
        fontsize=SMALL,
        color=INK,
    )
    if crossing.k is None:
        return
    axes.plot([where] * 2, [0, 1], color=INK, linewidth=0.9, transform=inside, zorder=2)
    height = float(np.interp(where, bands.ks, bands.post.value))
    axes.plot(
        [where],
        [height],
        "o",
        markersize=7,
        markerfacecolor=SHEET,
        markeredgecolor=INK,
        markeredgewidth=1.3,
        zorder=5,
        clip_on=False,
    )


def _runs(ks: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ends of every unbroken run of whole numbers."""
    found: list[tuple[int, int]] = []
    for k in sorted(ks):
        if found and found[-1][1] == k - 1:
            found[-1] = (found[-1][0], k)
        else:
            found.append((k, k))
    return found


def _short(crossing: CrossoverSet) -> str:
    star = f"k* = {crossing.k}" if crossing.k is not None else f"k* > {crossing.K}"
    span = _span(crossing)
    return f"{star} ({span})" if span else star


def _span(crossing: CrossoverSet) -> str:
    """Return the set in words; nothing where it is the estimate alone."""
    beyond = f"> {crossing.K}"
    if not crossing.ks:
        return beyond if crossing.censored and crossing.k is not None else ""
    low, high = min(crossing.ks), max(crossing.ks)
    if crossing.censored:
        return f"{low} to {beyond}"
    return "" if low == high == crossing.k else f"{low} to {high}"


def _told(crossing: CrossoverSet, first: str) -> str:
    span = _span(crossing)
    if crossing.k is None:
        where = f"Up to {crossing.K} tries {first} does not catch up"
    elif crossing.k == 1:
        where = f"{first} is not behind at the first try (k* = 1)"
    else:
        where = f"From k* = {crossing.k} tries (ring) {first} solves as many"
    return f"{where}; grey: where the crossing may be, {span}." if span else f"{where}."
