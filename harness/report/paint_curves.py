"""Figures over the number of tries: pass@k of both arms, and pass^k beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from agentenvs.harness.report.formats import upper
from agentenvs.harness.report.paint import SMALL, Picture, draw
from agentenvs.harness.report.paint_axes import (
    Labels,
    drawn,
    finite,
    legend_below,
    shade,
    share_axis,
    shorten,
    styles,
    tries_axis,
)
from agentenvs.harness.report.paint_theme import INK, SOFT
from agentenvs.harness.tax import curve
from agentenvs.harness.tax._checks import Arm, paired, single_k
from agentenvs.harness.tax.consistency import hat_curve
from agentenvs.harness.tax.curves import log_budgets

if TYPE_CHECKING:
    from agentenvs.harness.tax.bands import CurveBands
    from agentenvs.harness.tax.crossing import CrossoverSet

__all__ = ["consistency", "curves"]


def curves(bands: CurveBands, crossing: CrossoverSet, labels: Labels) -> Picture:
    """Return pass@k of both arms with their bands, and where the first catches up.

    Args:
        bands: the curves.
        crossing: k* and its interval.
        labels: what the arms are called.
    """
    ks = np.asarray(bands.ks)

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        lines = []
        for band, style in zip((bands.base, bands.post), styles(len(ks)), strict=True):
            shade(axes, ks, band, style)
            lines += axes.plot(ks, band.value, **style)
        tops = finite(bands.base.value, bands.post.value, bands.base.high, bands.post.high)
        share_axis(axes, float(tops.max(initial=0)), "tasks solved within k tries")
        tries_axis(axes, int(ks[-1]), low=int(ks[0]))
        _mark(axes, bands, crossing)
        legend_below(figure, lines, [drawn(label) for label in labels])

    one, two = (shorten(label) for label in labels)
    known = finite(bands.base.low, bands.post.low).size > 0
    told = (
        f"Share of tasks that at least one of k tries solves. Dashed: {one}; solid: {two}. "
        + (
            f"A band holds the whole curve of its arm with {100 * bands.confidence:g} % "
            "confidence. Bands are of each model alone. Both played the same tasks, so the "
            "difference between them is surer than the overlap suggests: see the numbers. "
            if known
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
    smallest = arms.smallest_n
    ks = log_budgets(smallest if K is None else single_k("K", K, smallest))
    some = [curve(arm.c, arm.n, ks) for arm in arms]
    every = [hat_curve(arm.c, arm.n, ks) for arm in arms]

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        lines = []
        for above, below, style in zip(some, every, styles(len(ks)), strict=True):
            lines += axes.plot(ks, above, **style)
            axes.plot(ks, below, **style | {"linewidth": 1.1})
        share_axis(axes, max(float(line.max()) for line in some), "tasks")
        tries_axis(axes, int(ks[-1]))
        axes.set_title(
            "thick: one of k tries succeeds; thin: all k do",
            loc="left",
            fontsize=SMALL,
            fontweight="normal",
            color=SOFT,
        )
        legend_below(figure, lines, [drawn(label) for label in labels])

    one, two = (shorten(label) for label in labels)
    told = (
        "Rising, thick: share of tasks that at least one of k tries solves (pass@k). Falling, "
        "thin: share that all k tries solve (pass^k). What lies between is solved sometimes. "
        f"Dashed: {one}; solid: {two}."
    )
    return draw("consistency", "Solved once, solved every time", told, paint)


def _mark(axes: Any, bands: CurveBands, crossing: CrossoverSet) -> None:
    """Shade where the crossing may be, and ring the estimate."""
    left, right = axes.get_xlim()
    if not crossing.same and crossing.decides:
        low, high = crossing.low, crossing.high
        if low is not None:
            end = right if high is None else min(high * 1.03, right)
            start = left if low == 1 else low / 1.03
            axes.axvspan(start, end, color=INK, alpha=0.09, linewidth=0, zorder=1)
    where = left if crossing.same else right if crossing.k is None else float(crossing.k)
    share = float(np.log(where / left) / np.log(right / left))
    axes.text(
        share,
        1.03,
        _short(crossing),
        transform=axes.transAxes,
        ha="left" if share < 0.35 else "right" if share > 0.65 else "center",
        va="bottom",
        fontsize=SMALL,
    )
    if crossing.k in (None, 1) or crossing.same:
        return
    axes.axvline(where, color=INK, linewidth=0.9, zorder=2)
    height = float(np.interp(where, bands.ks, bands.post.value))
    axes.plot(
        [where],
        [height],
        "o",
        markersize=10,
        markerfacecolor="none",
        markeredgecolor=INK,
        markeredgewidth=1.4,
        zorder=5,
        clip_on=False,
    )


def _short(crossing: CrossoverSet) -> str:
    if crossing.same:
        return "the same curve"
    star = f"k* = {crossing.k}" if crossing.k is not None else f"k* > {crossing.K}"
    if not crossing.decides:
        return f"{star} (undecided)"
    span = _span(crossing)
    return f"{star} ({span})" if span else star


def _span(crossing: CrossoverSet) -> str:
    """Return the interval in words; nothing where it is the estimate alone."""
    low, high = (f"> {crossing.K}" if k is None else f"{k}" for k in (crossing.low, crossing.high))
    return "" if low == high else f"{low} to {high}"


def _told(crossing: CrossoverSet, first: str) -> str:
    if crossing.same:
        return "Both curves are the same, so that neither crosses the other."
    if crossing.k is None:
        where = f"Up to {crossing.K} tries {first} does not catch up"
    elif crossing.k == 1:
        where = f"{upper(first)} is ahead, or level, from the first try on (k* = 1)"
    else:
        where = f"From k* = {crossing.k} tries on (ring) {first} solves as many"
    if not crossing.decides:
        return f"{where}; the data do not decide where the curves cross."
    span = _span(crossing)
    return f"{where}; shaded: where the crossing may be, {span}." if span else f"{where}."
