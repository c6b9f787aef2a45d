"""The four figures of a study; needs Matplotlib."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agentenvs.harness.lab.heat import heat_curve
from agentenvs.harness.lab.matched import path
from agentenvs.harness.lab.results import Results
from agentenvs.harness.tax import crossover, curve
from agentenvs.harness.tax.measures import TIE

__all__ = ["FIGURES", "Picture", "draw"]

# Okabe and Ito's colours, told apart by most colour-blind people, and three more.
_SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7a5195", "#444444")
_SHADES = ("#440154", "#3b528b", "#21918c", "#4fae4e", "#a5c130", "#c9a800")
_INK, _SOFT, _GRID, _SHEET = "#211f1b", "#6c675e", "#e3ded4", "#ffffff"
# What each colour becomes on a dark page.
_DARK = {
    "#0072b2": "#56a8e0",
    "#d55e00": "#ff8a4a",
    "#009e73": "#2fd0a0",
    "#cc79a7": "#e6a0c8",
    "#b8860b": "#e8c04a",
    "#56b4e9": "#8fd0f5",
    "#7a5195": "#b794d6",
    "#444444": "#bbbbbb",
    "#440154": "#b98cf0",
    "#3b528b": "#7aa5f0",
    "#21918c": "#43c9c0",
    "#4fae4e": "#8fe08a",
    "#a5c130": "#d5ea6a",
    "#c9a800": "#ffe27a",
    _INK: "#f0ece4",
    _SOFT: "#a69f93",
    _GRID: "#3c3933",
}
_COLOUR = re.compile("|".join(_DARK))
_FLOOR = 1e-3


@dataclass(frozen=True)
class Picture:
    """A figure as the page has it.

    Attributes:
        name: of its files.
        title: its heading.
        caption: how to read it.
        width: in inches, as it was drawn.
        light, dark: SVG text for light and dark pages, without background.
    """

    name: str
    title: str
    caption: str
    width: float
    light: str
    dark: str


@dataclass(frozen=True)
class _Plan:
    title: str
    caption: str
    paint: Callable[[Any, Results], None]
    size: Callable[[Results], tuple[float, float]]


def draw(results: Results, folder: Path) -> list[Picture]:
    """Draw the figures, write each as PNG and SVG, and return them for the page.

    The same results give the same bytes with the same version of Matplotlib.

    Args:
        results: the study.
        folder: where the files go; made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, plan in FIGURES.items():
        with _figure(plan.size(results)) as figure:
            plan.paint(figure, results)
            light = _svg(figure)
            # Where everything stands is settled by now.
            figure.set_layout_engine("none")
            figure.savefig(folder / f"{name}.png", dpi=150, facecolor=_SHEET)
        (folder / f"{name}.svg").write_text(light, encoding="utf-8")
        dark = _COLOUR.sub(lambda found: _DARK[found.group()], light)
        caption = plan.caption.format(
            n=results.config.evaluation.n,
            along=min(results.config.evaluation.checkpoint_n, results.config.evaluation.n),
            ref=f"{results.config.reference:g}",
        )
        width = plan.size(results)[0]
        made.append(Picture(name, plan.title, caption, width, light, dark))
    return made


@contextmanager
def _figure(size: tuple[float, float]) -> Iterator[Any]:
    """Give a figure; nothing of Matplotlib's own settings stays changed."""
    import matplotlib
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.hashsalt": "agentenvs",
        "svg.fonttype": "path",
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.edgecolor": _SOFT,
        "axes.labelcolor": _INK,
        "axes.titlecolor": _INK,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": _GRID,
        "grid.linewidth": 0.7,
        "xtick.color": _SOFT,
        "ytick.color": _SOFT,
        "text.color": _INK,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
    }
    with matplotlib.rc_context(settings):
        yield Figure(figsize=size, layout="constrained")


def _svg(figure: Any) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _families(results: Results) -> dict[str, list[str]]:
    """Return the arms of each family that has any, the starts left out."""
    found: dict[str, list[str]] = {}
    for name in results.arms():
        arm = results.config.arm(name)
        if arm.family != "start":
            found.setdefault(arm.family, []).append(name)
    return found or {"start": results.arms()}


def _starts(results: Results, arms: Sequence[str]) -> list[str]:
    starts = dict.fromkeys(results.config.arm(arm).start for arm in arms)
    return [start for start in starts if start is not None and results.seeds(start)]


def _grid_size(results: Results) -> tuple[float, float]:
    return max(3.3 * len(_families(results)), 5.0), 6.9


def _mean(lines: Sequence[Any]) -> Any:
    return np.mean(np.asarray(lines), axis=0)


def _budgets(n: int) -> list[int]:
    """Return the k of a curve: all small ones, then about eight to each doubling."""
    found = {round(2 ** (at / 8)) for at in range(8 * n.bit_length())}
    return sorted(k for k in found | {n} if k <= n)


def _legend(axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.17),
        ncols=1,
        labelcolor=_INK,
    )


def _label(results: Results, name: str) -> str:
    return results.config.arm(name).label


def _curves(figure: Any, results: Results) -> None:
    families = _families(results)
    n = results.config.evaluation.n
    ks = _budgets(n)
    grid = figure.subplots(2, len(families), sharex=True, sharey=True, squeeze=False)
    for column, (family, arms) in enumerate(families.items()):
        starts = _starts(results, arms)
        for row, tasks in enumerate(("train", "heldout")):
            axes = grid[row, column]
            for name in [*starts, *arms]:
                start = name in starts
                colour = _INK if start else _SERIES[arms.index(name) % len(_SERIES)]
                lines = []
                for seed in results.seeds(name):
                    counts = results.counts(name, seed, tasks)
                    lines.append(curve(counts.c, counts.n, ks))
                style = {"color": colour, "linestyle": "--" if start else "-"}
                if len(lines) > 1:
                    for line in lines:
                        axes.plot(ks, line, linewidth=0.6, alpha=0.35, **style)
                axes.plot(ks, _mean(lines), linewidth=1.8, label=_label(results, name), **style)
            for name in arms:
                colour = _SERIES[arms.index(name) % len(_SERIES)]
                _mark_crossing(axes, results, name, tasks, colour)
            axes.set_xscale("log", base=2)
            axes.set_xticks([2**at for at in range(n.bit_length())])
            axes.set_xticklabels([str(2**at) for at in range(n.bit_length())])
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
        before, after = (results.counts(arm, seed, tasks) for arm in (start, name))
        found = crossover(before, after, results.config.evaluation.n)
        if found.k is not None and found.k > 1 and float(np.abs(found.gap).max()) > TIE:
            height = float(curve(after.c, after.n, [found.k])[0])
            axes.plot([found.k], [height], "o", color=colour, markersize=4, alpha=0.8, zorder=4)


def _frontier(figure: Any, results: Results) -> None:
    from matplotlib.ticker import MaxNLocator

    families = _families(results)
    n = results.config.evaluation.n
    heats = sorted(results.config.evaluation.temperatures)
    grid = figure.subplots(2, len(families), sharex=True, sharey="row", squeeze=False)
    for column, (family, arms) in enumerate(families.items()):
        starts = _starts(results, arms)
        top, low = grid[0, column], grid[1, column]
        for name in [*starts, *arms]:
            start = name in starts
            colour = _INK if start else _SERIES[arms.index(name) % len(_SERIES)]
            style = {"color": colour, "linestyle": "--" if start else "-"}
            points = _mean(
                [
                    [_both(results.counts(name, seed, "train", heat), n) for heat in heats]
                    for seed in results.seeds(name)
                ]
            )
            top.plot(*points.T, linewidth=1.2, marker=".", markersize=5, **style)
            at = heats.index(results.config.reference)
            top.plot(*points[at], "o", color=colour, markersize=6.5, label=_label(results, name))
            if start:
                for heat, point in zip(heats, points, strict=True):
                    top.annotate(
                        f"T = {heat:g}" if heat == heats[0] else f"{heat:g}",
                        point,
                        textcoords="offset points",
                        xytext=(0, 7),
                        ha="center",
                        fontsize=7,
                        color=_SOFT,
                    )
            if start:
                continue
            paths = _paths(results, name)
            if not paths:
                continue
            if len(paths) > 1:
                for points in paths:
                    low.plot(*points.T, linewidth=0.6, alpha=0.3, **style)
            points = _mean(paths)
            low.plot(*points.T, linewidth=1.4, marker=".", markersize=4, **style)
            low.plot(*points[-1], "o", color=colour, markersize=6)
            low.plot(*points[0], "s", color=_INK, markersize=4.5, zorder=4)
        top.set_title(family)
        top.margins(0.09, 0.12)
        low.margins(0.09, 0.08)
        low.xaxis.set_major_locator(MaxNLocator(5))
        low.set_xlabel("pass@1")
        handles, labels = top.get_legend_handles_labels()
        low.legend(
            handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.17), labelcolor=_INK
        )
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


def _heat_size(results: Results) -> tuple[float, float]:
    columns, rows = _panels(len(results.arms()))
    return 2.7 * columns + 0.6, 2.35 * rows + 0.7


def _panels(count: int) -> tuple[int, int]:
    columns = min(count, 4 if count <= 8 else 5)
    return columns, math.ceil(count / columns)


def _heat(figure: Any, results: Results) -> None:
    arms = results.arms()
    columns, rows = _panels(len(arms))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    bins = [0.0, *results.config.probe.bins, 1.0]
    colours = _SHADES[: len(bins) - 1]
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
                np.maximum(_mean(lines), _FLOOR),
                color=colour,
                marker=".",
                linewidth=1.5,
                label=f"p {low:g} to {high:g}",
            )
            tasks = sum(int(one.tasks[place]) for one in found) / len(found)
            axes.annotate(
                f"{tasks:.0f}",
                (found[0].temperatures[-1], max(float(_mean(lines)[-1]), _FLOOR)),
                textcoords="offset points",
                xytext=(4, -3),
                fontsize=7,
                color=colour,
            )
        axes.axvline(results.config.reference, color=_SOFT, linewidth=0.8, linestyle=":")
        axes.set_yscale("log")
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.margins(x=0.12)
        axes.set_ylim(_FLOOR * 0.8, 1.2)
        axes.set_title(_label(results, arms[at]), fontsize=8)
        if at % columns == 0:
            axes.set_ylabel("success")
        if at + columns >= len(arms):
            axes.set_xlabel("T")
            axes.tick_params(labelbottom=True)
    handles: dict[str, Any] = {}
    for axes in grid.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    order = sorted(handles, key=lambda label: float(label.split()[1]))
    figure.legend(
        [handles[label] for label in order],
        order,
        loc="outside lower center",
        ncols=len(order),
        labelcolor=_INK,
    )


def _tax_size(results: Results) -> tuple[float, float]:
    return 11.0, 1.3 + 0.32 * len(results.arms())


def _tax(figure: Any, results: Results) -> None:
    from agentenvs.harness.lab.effects import measures, names
    from agentenvs.harness.lab.student import over_seeds

    config, arms = results.config, results.arms()
    titles = {one.key: one.title for one in names(config.evaluation.n, config.evaluation.budgets)}
    keys = ["pass_1", "pass_n", *(f"tax_{k}" for k in config.evaluation.budgets)]
    found = {name: [measures(results, name, seed) for seed in results.seeds(name)] for name in arms}
    families = list(dict.fromkeys(config.arm(name).family for name in arms))
    grid = figure.subplots(1, len(keys), sharey=True, squeeze=False)[0]
    for axes, key in zip(grid, keys, strict=True):
        for row, name in enumerate(arms):
            values = [one[key] for one in found[name] if not math.isnan(one[key])]
            if not values:
                continue
            family = config.arm(name).family
            place = families.index(family)
            colour = _INK if family == "start" else _SERIES[(place - 1) % len(_SERIES)]
            spread = over_seeds(values)
            # Every seed has a height of its own, so that none hides another.
            heights = row + (np.arange(len(values)) - (len(values) - 1) / 2) * min(
                0.12, 0.5 / len(values)
            )
            axes.plot(values, heights, "o", color=colour, markersize=4.5, alpha=0.8)
            if spread.seeds > 1:
                axes.plot(
                    [spread.low, spread.high], [row, row], color=colour, linewidth=2.4, alpha=0.45
                )
                axes.plot([spread.mean], [row], "|", color=colour, markersize=11, markeredgewidth=2)
        if key.startswith("tax_"):
            axes.axvline(0, color=_SOFT, linewidth=1)
        elif found.get("base"):
            before = float(np.mean([one[key] for one in found["base"]]))
            axes.axvline(before, color=_SOFT, linewidth=1, linestyle="--")
        axes.margins(x=0.08)
        axes.set_title(titles[key])
        axes.set_yticks(range(len(arms)), [_label(results, name) for name in arms])
        axes.set_ylim(len(arms) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)


FIGURES: Mapping[str, _Plan] = {
    "curves": _Plan(
        "Solved within k tries",
        "Mean pass@k over tasks at T = {ref}, above on training tasks, below on held-out ones. "
        "Dashed: the model that an arm started from. Thin lines are seeds. A dot marks k*, where "
        "the start catches up with the trained model in a seed.",
        _curves,
        _grid_size,
    ),
    "frontier": _Plan(
        "First try against many tries",
        "Above: each line joins the temperatures at which a model was played; the large dot is "
        "T = {ref}. Part of a difference at one temperature is a difference of temperature. "
        "Below: each line is a training, over seeds the mean, from its start (square) through "
        "its checkpoints to its end (dot), with pass@{along}, since checkpoints have {along} "
        "rollouts a task.",
        _frontier,
        _grid_size,
    ),
    "heat": _Plan(
        "Success over temperature",
        "Training tasks, binned by the model's own success at T = {ref} and measured by other "
        "rollouts; numbers at the right count the tasks. Where a line rises to the right of the "
        "dotted mark, heating raises success. Success below 0.001 is drawn at 0.001.",
        _heat,
        _heat_size,
    ),
    "tax": _Plan(
        "What each arm gained and paid",
        "Dots are seeds; with several, the bar is the 95 % t interval over seeds and the tick "
        "its mean. Dashed: the base model. A positive tax means that more tries mend less than "
        "they did for the model that the arm started from.",
        _tax,
        _tax_size,
    ),
}
