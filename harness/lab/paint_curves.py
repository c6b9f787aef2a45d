"""Figures with a column for each family: solved within k tries, and the frontier."""

from __future__ import annotations

from typing import Any

import numpy as np

from agentenvs.harness.lab.matched import path
from agentenvs.harness.lab.paint import INK, SERIES, SOFT, families, label, mean, starts
from agentenvs.harness.lab.results import Results
from agentenvs.harness.tax import crossover, curve
from agentenvs.harness.tax.measures import TIE

__all__ = ["grid_size", "paint_curves", "paint_frontier"]

# Legends stand below their column, which is not much wider than the longest name.
_BELOW: dict[str, Any] = {
    "loc": "upper center",
    "bbox_to_anchor": (0.5, -0.17),
    "labelcolor": INK,
    "handlelength": 1.4,
}


def grid_size(results: Results) -> tuple[float, float]:
    """Return the size of a grid with a column for each family, in inches."""
    return max(2.45 * len(families(results)), 5.0), 6.9


def paint_curves(figure: Any, results: Results) -> None:
    """Paint pass@k of every arm beside its start, on training and on held-out tasks."""
    shown = families(results)
    n = results.config.evaluation.n
    ks = _budgets(n)
    grid = figure.subplots(2, len(shown), sharex=True, sharey=True, squeeze=False)
    for column, (family, arms) in enumerate(shown.items()):
        before = starts(results, arms)
        for row, tasks in enumerate(("train", "heldout")):
            axes = grid[row, column]
            for name in [*before, *arms]:
                start = name in before
                colour = INK if start else SERIES[arms.index(name) % len(SERIES)]
                lines = []
                for seed in results.seeds(name):
                    counts = results.counts(name, seed, tasks)
                    lines.append(curve(counts.c, counts.n, ks))
                style = {"color": colour, "linestyle": "--" if start else "-"}
                if len(lines) > 1:
                    for line in lines:
                        axes.plot(ks, line, linewidth=0.6, alpha=0.35, **style)
                axes.plot(ks, mean(lines), linewidth=1.8, label=label(results, name), **style)
            for name in arms:
                colour = SERIES[arms.index(name) % len(SERIES)]
                _mark_crossing(axes, results, name, tasks, colour)
            axes.set_xscale("log", base=2)
            ticks = [2**at for at in range(n.bit_length())]
            axes.set_xticks(ticks, [str(k) for k in ticks], fontsize=7.5)
            axes.minorticks_off()
            axes.set_ylim(0, 1.02)
            if row == 0:
                axes.set_title(family)
            else:
                axes.set_xlabel("k")
                _legend(axes)
            if column == 0:
                which = "training tasks" if tasks == "train" else "held-out tasks"
                axes.set_ylabel(f"pass@k, {which}")


def _mark_crossing(axes: Any, results: Results, name: str, tasks: str, colour: str) -> None:
    """Mark where each seed's curve is caught up with by its start's."""
    start = results.config.arm(name).start
    if start is None:
        return
    for seed in results.seeds(name, start):
        base, after = (results.counts(arm, seed, tasks) for arm in (start, name))
        found = crossover(base, after, results.config.evaluation.n)
        if found.k is not None and found.k > 1 and float(np.abs(found.gap).max()) > TIE:
            height = float(curve(after.c, after.n, [found.k])[0])
            axes.plot([found.k], [height], "o", color=colour, markersize=4, alpha=0.8, zorder=4)


def paint_frontier(figure: Any, results: Results) -> None:
    """Paint many tries against the first, over temperatures and along trainings."""
    from matplotlib.ticker import MaxNLocator

    shown = families(results)
    n = results.config.evaluation.n
    heats = sorted(results.config.evaluation.temperatures)
    grid = figure.subplots(2, len(shown), sharex=True, sharey="row", squeeze=False)
    for column, (family, arms) in enumerate(shown.items()):
        before = starts(results, arms)
        top, low = grid[0, column], grid[1, column]
        for name in [*before, *arms]:
            start = name in before
            colour = INK if start else SERIES[arms.index(name) % len(SERIES)]
            style = {"color": colour, "linestyle": "--" if start else "-"}
            points = mean(
                [
                    [_both(results.counts(name, seed, "train", heat), n) for heat in heats]
                    for seed in results.seeds(name)
                ]
            )
            top.plot(*points.T, linewidth=1.2, marker=".", markersize=5, **style)
            at = heats.index(results.config.reference)
            top.plot(*points[at], "o", color=colour, markersize=6.5, label=label(results, name))
            if start:
                for heat, point in zip(heats, points, strict=True):
                    top.annotate(
                        f"T = {heat:g}" if heat == heats[0] else f"{heat:g}",
                        point,
                        textcoords="offset points",
                        xytext=(0, 7),
                        ha="center",
                        fontsize=7,
                        color=SOFT,
                    )
            if start:
                continue
            paths = _paths(results, name)
            if not paths:
                continue
            if len(paths) > 1:
                for points in paths:
                    low.plot(*points.T, linewidth=0.6, alpha=0.3, **style)
            points = mean(paths)
            low.plot(*points.T, linewidth=1.4, marker=".", markersize=4, **style)
            low.plot(*points[-1], "o", color=colour, markersize=6)
            low.plot(*points[0], "s", color=INK, markersize=4.5, zorder=4)
        top.set_title(family)
        top.margins(0.09, 0.12)
        low.margins(0.09, 0.08)
        low.xaxis.set_major_locator(MaxNLocator(5))
        low.set_xlabel("pass@1")
        handles, labels = top.get_legend_handles_labels()
        low.legend(handles, labels, **_BELOW)
        if column == 0:
            along = min(results.config.evaluation.checkpoint_n, n)
            top.set_ylabel(f"pass@{n}, over temperatures")
            low.set_ylabel(f"pass@{along}, along training")


def _both(counts: Any, k: int) -> list[float]:
    found: list[float] = curve(counts.c, counts.n, [1, k]).tolist()
    return found


def _paths(results: Results, name: str) -> list[Any]:
    every = [path(results, name, seed) for seed in results.seeds(name)]
    return [np.array([[p.pass_1, p.pass_k] for p in points]) for points in every if points]


def _budgets(n: int) -> list[int]:
    """Return the k of a curve: all small ones, then about eight to each doubling."""
    found = {round(2 ** (at / 8)) for at in range(8 * n.bit_length())}
    return sorted(k for k in found | {n} if k <= n)


def _legend(axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles, labels, **_BELOW)
