"""Figures of what became of the tasks: how often each is solved, and who moved where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.report.formats import percent
from agentenvs.harness.report.paint import SMALL, Picture, draw
from agentenvs.harness.report.paint_axes import (
    Labels,
    drawn,
    legend_below,
    share_axis,
    shorten,
)
from agentenvs.harness.report.paint_theme import BASE, COST, GAIN, GRID, INK, POST, SHEET, SOFT
from agentenvs.harness.tax._checks import Arm, Tasks, paired

if TYPE_CHECKING:
    from agentenvs.harness.tax.decomposition import Decomposition

__all__ = ["flow", "histograms"]

_BINS = ("never", "sometimes", "always")
# Of the height that all tasks take; two lines of words fit in.
_GAP = 0.19
# Ribbons thinner than this cannot hold a number.
_THIN = 0.05
_NODE = 0.035
# Of ribbons: in grey print too, those that rise, stay and fall differ.
_ALPHA = {GAIN: 0.55, SOFT: 0.22, COST: 0.65}
# How far the bars of never and always stand from the others, where a bar with its partner is 1.
_ENDS = 2.2


def histograms(base: Arm, post: Arm, labels: Labels) -> Picture:
    """Return how many tasks each arm solves how often, side by side.

    Tasks that are never or always solved stand in bars of their own; what lies between is cut
    into at most ten equal parts, fewer where there are few rollouts.

    Args:
        base: a pair (c, n) of (T,) arrays, or `Counts`.
        post: the same over the same tasks.
        labels: what the arms are called.

    Raises:
        BadArgument: different tasks, or counts that make no sense.
    """
    arms = paired(base, post)
    parts = _parts(arms.smallest_n)
    shares = [_shares(arm, parts) for arm in arms]
    top = max(float(share.max()) for share in shares)

    rolled = {int(n) for arm in arms for n in np.unique(arm.n)}

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        axes.grid(False, axis="x")
        places = _places(parts)
        looks = (
            {"facecolor": SHEET, "edgecolor": BASE, "hatch": "//////", "linewidth": 1.0},
            {"facecolor": POST, "edgecolor": POST, "linewidth": 1.0},
        )
        bars = []
        for share, look, side in zip(shares, looks, (-1, 1), strict=True):
            # A bar without height would leave the line of its edge.
            seen = share > 0
            bars.append(axes.bar(places[seen] + 0.2 * side, share[seen], width=0.4, **look))
            for at in (0, -1):
                axes.annotate(
                    percent(float(share[at])).replace("\u00a0", "\u2009"),
                    (places[at] + 0.02 * side, share[at]),
                    xytext=(1.2 * side, 2),
                    textcoords="offset points",
                    ha="right" if side < 0 else "left",
                    fontsize=SMALL,
                    annotation_clip=False,
                )
        share_axis(axes, top, "tasks")
        axes.set_xlim(places[0] - _ENDS + 0.3, places[-1] + _ENDS - 0.3)
        marks, name = _marks(parts, rolled)
        axes.set_xticks(
            [places[0], *marks, places[-1]],
            ["never", *marks.values(), "always"],
        )
        axes.set_xlabel(name)
        legend_below(figure, bars, [drawn(label) for label in labels])

    one, two = (shorten(label) for label in labels)
    told = (
        f"Share of the {len(arms.base.c)} tasks by how many of their own tries succeed; hatched: "
        f"{one}, filled: {two}. Tasks never and always solved stand apart at the ends."
    )
    return draw("histograms", "How often each task is solved", told, paint)


def flow(shares: ArrayLike, decomposition: Decomposition, labels: Labels) -> Picture:
    """Return how tasks move between never, sometimes and always solved, from base to post.

    Args:
        shares: (3, 3) shares of tasks, rows the bin in base, columns that in post, as
            `agentenvs.harness.tax.flow` gives them.
        decomposition: tells how many tasks there are.
        labels: what the arms are called.

    Raises:
        BadArgument: `shares` of another shape, below 0, or with a sum other than 1.
    """
    table = _table(shares)

    def paint(figure: Any) -> None:
        from matplotlib.patches import Patch

        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(-0.36, 1.36)
        axes.set_ylim(-0.02, 1 + 2 * _GAP + 0.2)
        left, right = _bottoms(table.sum(axis=1)), _bottoms(table.sum(axis=0))
        _ribbons(axes, table, left, right)
        for side, bottoms, sums in (
            (0, left, table.sum(axis=1)),
            (1, right, table.sum(axis=0)),
        ):
            _nodes(axes, side, bottoms, sums)
            axes.text(
                (-0.36, 1.36)[side],
                1 + 2 * _GAP + 0.16,
                drawn(labels[side], 26),
                ha=("left", "right")[side],
                va="center",
                fontweight="bold",
            )
        keys = [Patch(facecolor=colour, alpha=_ALPHA[colour]) for colour in _ALPHA]
        legend_below(figure, keys, ("solved more often", "as before", "less often"))

    one, two = (shorten(label) for label in labels)
    tasks = int(decomposition.tasks.sum())
    told = (
        f"Left: shares of the {tasks} tasks that {one} never, sometimes and always solves; right: "
        f"{two}. A ribbon is as wide as the share of tasks that go that way; thin ones have no "
        "number."
    )
    return draw("flow", "Where the tasks went", told, paint)


def _parts(n: int) -> int:
    """Return into how many equal parts the rates between 0 and 1 are cut.

    As many rates fall into each, or nearly: c/n takes n - 1 values in between.
    """
    between = n - 1
    return between if between <= 10 else 10 if between >= 30 else 5


def _shares(tasks: Tasks, parts: int) -> NDArray[np.float64]:
    """Return the shares of tasks never solved, in each part, and always solved."""
    inner = np.minimum(tasks.c * parts // tasks.n, max(parts - 1, 0)) + 1
    place = np.where(tasks.c == 0, 0, np.where(tasks.c == tasks.n, parts + 1, inner))
    shares: NDArray[np.float64] = np.bincount(place, minlength=parts + 2) / len(tasks.c)
    return shares


def _places(parts: int) -> NDArray[np.float64]:
    """Return where bars stand: the two ends apart from the rest."""
    if not parts:
        return np.array([0.0, _ENDS])
    inner = _ENDS + np.arange(parts)
    return np.concatenate(([0.0], inner, [inner[-1] + _ENDS]))


def _marks(parts: int, rolled: set[int]) -> tuple[dict[float, str], str]:
    """Return what stands below the bars between the ends, by place, and what the axis is called.

    Args:
        parts: how many bars there are.
        rolled: the numbers of rollouts of the tasks.
    """
    first = _ENDS - 0.5
    if len(rolled) == 1 and parts == min(rolled) - 1:
        marks = {_ENDS + at: f"{at + 1}" for at in range(parts)}
        return marks, f"successes in {min(rolled)} tries" if min(rolled) > 1 else "one try"
    step = 2 if parts == 10 else 1
    marks = {first + at: f"{100 * at / parts:.0f} %" for at in range(step, parts, step)}
    return marks, "share of a task's tries that succeed"


def _table(shares: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(shares, dtype=float)
    if table.shape != (3, 3):
        raise BadArgument(f"Expected `shares` of shape (3, 3), got {table.shape}.")
    if not (table.min() > -1e-9 and abs(table.sum() - 1) < 1e-6):
        raise BadArgument(f"Expected `shares` of 0 or more with the sum 1, got {table.tolist()}.")
    clipped: NDArray[np.float64] = np.maximum(table, 0.0)
    return clipped


def _bottoms(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where the bins start, never at the foot."""
    starts: NDArray[np.float64] = np.concatenate(([0.0], np.cumsum(sums)[:-1]))
    return starts + _GAP * np.arange(3)


def _nodes(axes: Any, side: int, bottoms: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    from matplotlib.patches import Rectangle

    start = (0.0, 1 - _NODE)[side]
    for name, bottom, share in zip(_BINS, bottoms, sums, strict=True):
        # An empty bin is a line, so that its words stand at something.
        height = max(float(share), 0.004)
        axes.add_patch(
            Rectangle((start, bottom), _NODE, height, facecolor=INK, alpha=0.85, linewidth=0)
        )
        axes.text(
            (-0.03, 1.03)[side],
            bottom + share / 2,
            f"{name}\n{percent(float(share))}",
            ha=("right", "left")[side],
            va="center",
            fontsize=9,
            linespacing=1.1,
        )


def _ribbons(
    axes: Any,
    table: NDArray[np.float64],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
) -> None:
    """Draw a ribbon for each cell, ordered at both ends so that none crosses within a bin."""
    starts, ends = left.copy(), right.copy()
    order = [(row, column) for row in range(3) for column in range(3)]
    placed = {}
    for row, column in order:
        placed[row, column] = (starts[row], ends[column])
        starts[row] += table[row, column]
        ends[column] += table[row, column]
    # Wide ones first, so that thin ones lie on top.
    for row, column in sorted(order, key=lambda cell: -table[cell]):
        share = float(table[row, column])
        if share <= 0:
            continue
        colour = GAIN if column > row else COST if column < row else SOFT
        below, above = placed[row, column]
        axes.add_patch(_ribbon(below, above, share, colour))
        if share >= _THIN:
            axes.text(
                _NODE + 0.03,
                below + share / 2,
                percent(share),
                va="center",
                ha="left",
                fontsize=SMALL,
                zorder=6,
            )


def _ribbon(start: float, end: float, width: float, colour: str) -> Any:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    one, two, middle = _NODE, 1 - _NODE, 0.5
    points = [
        (one, start),
        (middle, start),
        (middle, end),
        (two, end),
        (two, end + width),
        (middle, end + width),
        (middle, start + width),
        (one, start + width),
        (one, start),
    ]
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    return PathPatch(
        Path(points, codes), facecolor=colour, alpha=_ALPHA[colour], edgecolor=GRID, linewidth=0.4
    )
