"""Figures with every arm by itself: success over temperature, and what it gained and paid."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np

from agentenvs.harness.lab.effects import measures, names
from agentenvs.harness.lab.heat import heat_curve
from agentenvs.harness.lab.paint import INK, SERIES, SHADES, SOFT, label, mean
from agentenvs.harness.lab.results import Results
from agentenvs.harness.lab.student import over_seeds

__all__ = ["heat_size", "paint_heat", "paint_tax", "tax_size"]

_FLOOR = 1e-3


def heat_size(results: Results) -> tuple[float, float]:
    """Return the size of the panels, in inches."""
    columns, rows = _panels(len(results.arms()))
    return 2.35 * columns + 0.6, 2.35 * rows + 0.7


def _panels(count: int) -> tuple[int, int]:
    columns = min(count, 4 if count <= 8 else 5)
    return columns, math.ceil(count / columns)


def paint_heat(figure: Any, results: Results) -> None:
    """Paint success over temperature by difficulty, a panel for each arm."""
    arms = results.arms()
    columns, rows = _panels(len(arms))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    bins = [0.0, *results.config.probe.bins, 1.0]
    colours = SHADES[: len(bins) - 1]
    for at, axes in enumerate(grid.flat):
        if at >= len(arms):
            axes.set_axis_off()
            continue
        found = [heat_curve(results, arms[at], seed) for seed in results.seeds(arms[at])]
        for place, colour in enumerate(colours):
            lines = [one.p[place] for one in found if one.tasks[place]]
            if not lines:
                continue
            low, high = bins[place : place + 2]
            axes.plot(
                found[0].temperatures,
                np.maximum(mean(lines), _FLOOR),
                color=colour,
                marker=".",
                linewidth=1.5,
                label=f"p {low:g} to {high:g}",
            )
            tasks = sum(int(one.tasks[place]) for one in found) / len(found)
            axes.annotate(
                f"{tasks:.0f}",
                (found[0].temperatures[-1], max(float(mean(lines)[-1]), _FLOOR)),
                textcoords="offset points",
                xytext=(4, -3),
                fontsize=7,
                color=colour,
            )
        axes.axvline(results.config.reference, color=SOFT, linewidth=0.8, linestyle=":")
        axes.set_yscale("log")
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.margins(x=0.12)
        axes.set_ylim(_FLOOR * 0.8, 1.2)
        title = label(results, arms[at]).replace(" = ", "\u00a0=\u00a0")
        axes.set_title(textwrap.fill(title, 24), fontsize=8)
        if at % columns == 0:
            axes.set_ylabel("success")
        if at + columns >= len(arms):
            axes.set_xlabel("T")
            axes.tick_params(labelbottom=True)
    handles: dict[str, Any] = {}
    for axes in grid.flat:
        for handle, told in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(told, handle)
    order = sorted(handles, key=lambda told: float(told.split()[1]))
    figure.legend(
        [handles[told] for told in order],
        order,
        loc="outside lower center",
        ncols=len(order),
        labelcolor=INK,
    )


def tax_size(results: Results) -> tuple[float, float]:
    """Return the size of the rows, in inches."""
    return 11.0, 1.3 + 0.32 * len(results.arms())


def paint_tax(figure: Any, results: Results) -> None:
    """Paint what each arm gained and paid, a row for each, a dot for each seed."""
    config, arms = results.config, results.arms()
    titles = {one.key: one.title for one in names(config.evaluation.n, config.evaluation.budgets)}
    keys = ["pass_1", "pass_n", *(f"tax_{k}" for k in config.evaluation.budgets)]
    found = {name: [measures(results, name, seed) for seed in results.seeds(name)] for name in arms}
    shown = list(dict.fromkeys(config.arm(name).family for name in arms))
    grid = figure.subplots(1, len(keys), sharey=True, squeeze=False)[0]
    for axes, key in zip(grid, keys, strict=True):
        for row, name in enumerate(arms):
            values = [one[key] for one in found[name] if not math.isnan(one[key])]
            if not values:
                continue
            family = config.arm(name).family
            place = shown.index(family)
            colour = INK if family == "start" else SERIES[(place - 1) % len(SERIES)]
            spread = over_seeds(values)
            # Every seed has a height of its own, so that none hides another.
            heights = row + (np.arange(len(values)) - (len(values) - 1) / 2) * min(
                0.12, 0.5 / len(values)
            )
            if spread.seeds == 1:
                axes.plot(values, [row], "o", color=colour, markersize=5)
                continue
            axes.plot(values, heights, "o", color=colour, markersize=3.5, alpha=0.5)
            ends = [spread.low, spread.high]
            axes.plot(ends, [row, row], "-|", color=colour, linewidth=1.6, markersize=8)
            axes.plot([spread.mean], [row], "D", color=colour, markersize=5)
        if key.startswith("tax_"):
            axes.axvline(0, color=SOFT, linewidth=1)
        elif found.get("base"):
            before = float(np.mean([one[key] for one in found["base"]]))
            axes.axvline(before, color=SOFT, linewidth=1, linestyle="--")
        axes.margins(x=0.08)
        if key.startswith("pass_"):
            # A t interval knows nothing of where a share ends.
            low, high = axes.get_xlim()
            axes.set_xlim(max(low, -0.02), min(high, 1.03))
        axes.set_title(titles[key])
        axes.set_yticks(range(len(arms)), [label(results, name) for name in arms])
        axes.set_ylim(len(arms) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
