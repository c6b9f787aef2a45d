"""Figures of a study: a grid of taxes, taxes by size, and what goes along with what."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentenvs.errors import BadArgument
from agentenvs.harness.report.formats import count, signed
from agentenvs.harness.report.paint import SIZE, SMALL, Picture, draw
from agentenvs.harness.report.paint_axes import drawn, legend_below, shorten, tint
from agentenvs.harness.report.paint_theme import GRID, INK, SERIES, SOFT

if TYPE_CHECKING:
    from agentenvs.harness.tax.rank import Correlation
    from agentenvs.harness.tax.shares import Estimate

__all__ = ["scatter", "tax_by_size", "tax_grid"]

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# How long names beside and above a grid may be.
_PAIR, _BENCHMARK = 26, 15
_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def tax_grid(
    pairs: Sequence[str],
    benchmarks: Sequence[str],
    taxes: Mapping[tuple[str, str], Estimate],
    K: int,  # noqa: N803
    name: str = "tax_grid",
    title: str = "",
    found: Collection[tuple[str, str]] = (),
) -> Picture:
    """Return Tax_S of every pair on every benchmark.

    Args:
        pairs: names, from top to bottom.
        benchmarks: names, from left to right.
        taxes: Tax_S by pair and benchmark; cells may lack.
        K: the budget.
        name: of the picture, if there are several on a page.
        title: its heading, if another than "The tax with K tries".
        found: the pairs and benchmarks whose tax stays when all are judged together.

    Raises:
        BadArgument: no pairs, no benchmarks, or a tax of none of them.
    """
    unknown = [cell for cell in taxes if cell[0] not in pairs or cell[1] not in benchmarks]
    if not pairs or not benchmarks or unknown:
        raise BadArgument(
            f"Expected pairs, benchmarks and taxes of them, got {len(pairs)} pairs, "
            f"{len(benchmarks)} benchmarks and taxes of {unknown or 'none other'}."
        )
    values = [abs(tax.value) for tax in taxes.values() if math.isfinite(tax.value)]
    most = max(values, default=0.0)
    named = 5.4 * max(len(shorten(pair, _PAIR)) for pair in pairs)
    column = max(52.0, *(5.4 * len(shorten(one, _BENCHMARK)) + 8 for one in benchmarks))
    size = (max(SIZE[0], (named + column * len(benchmarks) + 20) / 72), 0.5 + 0.27 * len(pairs))

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        axes.grid(False)
        for row, pair in enumerate(pairs):
            for at, benchmark in enumerate(benchmarks):
                cell = (pair, benchmark)
                _grid_cell(axes, at, row, taxes.get(cell), most, "**" if cell in found else "*")
        axes.set_xlim(-0.5, len(benchmarks) - 0.5)
        axes.set_ylim(len(pairs) - 0.5, -0.5)
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(benchmarks)), [drawn(one, _BENCHMARK) for one in benchmarks])
        axes.set_yticks(range(len(pairs)), [drawn(one, _PAIR) for one in pairs])
        axes.tick_params(length=0, labelcolor=INK)
        for spine in axes.spines.values():
            spine.set_visible(False)

    told = (
        f"Tax_S({K}) of each pair on each benchmark. Plus (purple): post-training cost; minus "
        "(green): it gained. Bold with a star: the interval of the cell leaves out 0; pale: it "
        "does not. One in twenty such intervals misses by chance."
        + (" Two stars: beyond chance, also when all are judged together." if found else "")
    )
    return draw(name, title or f"The tax with {K} tries", told, paint, size)


def tax_by_size(
    groups: Mapping[str, Sequence[tuple[float, Estimate]]],
    K: int,  # noqa: N803
    name: str = "tax_by_size",
    title: str = "The tax by the size of the model",
) -> Picture:
    """Return Tax_S over the models' sizes, a line for each group.

    Args:
        groups: for each name (a family of models, say) the size in parameters and Tax_S of each.
        K: the budget.
        name: of the picture.
        title: its heading.

    Raises:
        BadArgument: no point, or a size that is no positive number.
    """
    points = [point for group in groups.values() for point in group]
    wrong = [size for size, _ in points if not (math.isfinite(size) and size > 0)]
    if not points or wrong:
        raise BadArgument(f"Expected points of positive sizes, got {wrong or 'none'}.")

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        axes.set_xscale("log")
        axes.axhline(0, color=INK, linewidth=0.9, zorder=2)
        keys: list[Any] = []
        for at, (look, group) in enumerate(zip(_looks(), groups.values(), strict=False)):
            # Groups of one size stand beside each other.
            aside = 1 + 0.025 * (at - (len(groups) - 1) / 2)
            ordered = sorted(group, key=lambda point: point[0])
            xs = [size * aside for size, _ in ordered]
            for x, (_, tax) in zip(xs, ordered, strict=True):
                _bar(axes, (x, x), (tax.low, tax.high), look["color"])
            keys += axes.plot(xs, [tax.value for _, tax in ordered], **look)
        _size_axis(axes, [size for size, _ in points])
        axes.margins(y=0.08)
        axes.set_ylabel(f"Tax$_S$({K})")
        legend_below(figure, keys, [drawn(group, 30) for group in groups])

    told = (
        f"Tax_S({K}) by the number of parameters; above 0, post-training cost. Bars are intervals "
        "over tasks and rollouts, not over trainings."
    )
    return draw(name, title, told, paint)


def scatter(
    groups: Mapping[str, Sequence[tuple[Estimate, Estimate]]],
    axes_names: tuple[str, str],
    found: Correlation | None = None,
    name: str = "scatter",
    title: str = "What the tax goes along with",
) -> Picture:
    """Return one measure over another with the intervals of both, and their rank correlation.

    Args:
        groups: for each name (a benchmark, say) the points: x and y.
        axes_names: what x and y are.
        found: the correlation, which is written above.
        name: of the picture.
        title: its heading.

    Raises:
        BadArgument: no point.
    """
    if not any(groups.values()):
        raise BadArgument("Expected at least one point, got none.")

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        axes.axhline(0, color=SOFT, linewidth=0.8, zorder=1)
        axes.axvline(0, color=SOFT, linewidth=0.8, zorder=1)
        marks = []
        for look, group in zip(_looks(), groups.values(), strict=False):
            for x, y in group:
                _bar(axes, (x.low, x.high), (y.value, y.value), look["color"])
                _bar(axes, (x.value, x.value), (y.low, y.high), look["color"])
            xs, ys = ([pair[at].value for pair in group] for at in (0, 1))
            marks += axes.plot(xs, ys, **look | {"linestyle": "none"})
        axes.margins(0.08)
        # More numbers than this run into each other.
        axes.locator_params(axis="x", nbins=6)
        axes.set_xlabel(_symbols(axes_names[0]))
        axes.set_ylabel(_symbols(axes_names[1]))
        if found is not None:
            axes.set_title(_told(found), loc="left", fontsize=SMALL, fontweight="normal")
        legend_below(figure, marks, [drawn(group, 30) for group in groups])

    told = (
        f"Each mark is a pair on a benchmark: {axes_names[1]} over {axes_names[0]}. Bars are its "
        "intervals. " + (f"Rank correlation: {_told(found)}." if found is not None else "")
    )
    return draw(name, title, told.strip(), paint)


def _symbols(name: str) -> str:
    return drawn(name).replace("Tax_S", "Tax$_S$")


def _grid_cell(
    axes: Any, column: int, row: int, tax: Estimate | None, most: float, mark: str
) -> None:
    from matplotlib.patches import Rectangle

    corner = (column - 0.5, row - 0.5)
    middle = {"ha": "center", "va": "center", "fontsize": SMALL}
    axes.add_patch(
        Rectangle(corner, 1, 1, facecolor="none", edgecolor=GRID, linewidth=0.8, clip_on=False)
    )
    if tax is None or math.isnan(tax.value):
        axes.text(column, row, "\u2013" if tax is None else "?", color=SOFT, **middle)
        return
    colour, strength = tint(tax, most)
    if strength:
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, alpha=strength, linewidth=0))
    text = signed(tax.value, 3)
    if tax.sure:
        axes.text(column, row, f"{text} {mark}", fontweight="bold", **middle)
    else:
        axes.text(column, row, text, **middle)


def _looks() -> Iterator[dict[str, Any]]:
    """Give groups their looks: colour and mark differ, and no two of 35 are the same."""
    at = 0
    while True:
        yield {
            "color": SERIES[at % len(SERIES)],
            "marker": _MARKERS[at % len(_MARKERS)],
            "markersize": 5.5,
            "linewidth": 1.0,
            "zorder": 3,
        }
        at += 1


def _bar(axes: Any, xs: tuple[float, float], ys: tuple[float, float], colour: str) -> None:
    if all(map(math.isfinite, (*xs, *ys))):
        axes.plot(xs, ys, color=colour, linewidth=1.1, alpha=0.55, zorder=2.5)


def _size_axis(axes: Any, sizes: Sequence[float]) -> None:
    """Mark the sizes that there are, leaving out those too close to the one before."""
    ticks: list[float] = []
    low, high = min(sizes), max(sizes)
    apart = max((high / low) ** (1 / 9), 1.12)
    for size in sorted(set(sizes)):
        if not ticks or size > ticks[-1] * apart:
            ticks.append(size)
    axes.set_xticks(ticks, [_size(size) for size in ticks])
    axes.minorticks_off()
    room = max((high / low) ** 0.05, 1.15)
    axes.set_xlim(low / room, high * room)
    axes.set_xlabel("parameters of the model")


def _size(size: float) -> str:
    for unit, letter in _UNITS:
        if size >= 0.9995 * unit:
            return f"{size / unit:.3g}{letter}"
    return f"{size:.3g}"


def _told(found: Correlation) -> str:
    if math.isnan(found.rho):
        return f"Spearman: undefined ({count(found.n, 'cell')})"
    rho, low, high = (signed(value, 2) for value in (found.rho, found.low, found.high))
    return f"Spearman {rho} ({low} to {high}), {count(found.n, 'cell')}"
