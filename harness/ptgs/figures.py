"""Four figures of what the formulas say; needs Matplotlib."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.harness.ptgs.drawing import COLOURS, INK, SOFT, blank
from agentenvs.harness.ptgs.law import cold_start, temperature_law
from agentenvs.harness.ptgs.loop import feedback
from agentenvs.harness.ptgs.theory import informative, mixed, temperature

__all__ = ["CURVES", "cold_start_figure", "draw", "feedback_figure", "groups_figure", "map_figure"]

_Floats = NDArray[np.float64]

CURVES: Mapping[str, Callable[[_Floats], ArrayLike]] = {
    "Heat lowers success: p = 0.05 exp(-6 (T - 1))": lambda t: 0.05 * np.exp(-6 * (t - 1)),
    "Heat raises success: p = 0.02 T³": lambda t: 0.02 * t**3,
    "Cooling removes failures: p = 1 - 0.1 T⁴": lambda t: 1 - 0.1 * t**4,
}
"""Chances of success over temperature that `feedback_figure` plays, by title."""


def map_figure(
    settings: Sequence[tuple[float, float]] = ((1.5, 0.5), (1.5, 0.25), (1.5, 0.75), (1.2, 0.25)),
    t_ref: float = 1.0,
) -> Any:
    """Return a figure of the temperature over the chance of success.

    Args:
        settings: pairs (tau, target), one line each.
        t_ref: the middle temperature.

    Raises:
        BadArgument: a value out of range.
        ImportError: Matplotlib is missing.
    """
    with blank((5.4, 3.7)) as figure:
        axes = figure.subplots()
        for colour, (tau, target) in zip(_cycle(settings), settings, strict=True):
            p = np.unique(np.append(np.linspace(0, 1, 201), target))
            heat = temperature(p, tau, target, t_ref)
            axes.plot(p, heat, color=colour, linewidth=1.8, label=f"τ = {tau:g}, target {target:g}")
            axes.plot([target], [t_ref], "o", color=colour, markersize=5, zorder=4)
        axes.axhline(t_ref, color=SOFT, linewidth=0.9, linestyle=":")
        axes.set_yscale("log")
        ends = [t_ref * tau**side for tau, _ in settings for side in (-1, 1)]
        ticks = sorted({*(round(end, 3) for end in ends), t_ref})
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("drawn chance of success p")
        axes.set_ylabel("temperature T")
        axes.set_title("Hot where a task fails, cold where it succeeds")
        axes.legend(labelcolor=INK)
        return figure


def cold_start_figure(tau: float = 1.5, targets: Sequence[float] = (0.25, 0.5, 0.75)) -> Any:
    """Return a figure of the share of tasks up to each temperature, at first and later visits.

    Args:
        tau: the factor of the map.
        targets: one line each; the right panel takes the first.

    Raises:
        BadArgument: a value out of range.
        ImportError: Matplotlib is missing.
    """
    with blank((8.4, 4.4)) as figure:
        first, later = figure.subplots(1, 2, sharex=True, sharey=True)
        t = np.geomspace(1 / tau / 1.03, tau * 1.03, 601)
        for colour, target in zip(_cycle(targets), targets, strict=True):
            law = cold_start(tau, target)
            label = f"target {target:g}: mean {law.mean:.3f}, hot {law.heats:.0%}"
            first.plot(t, law.cdf(t), color=colour, linewidth=1.8, label=label)
        first.set_title("First visit")
        first.set_ylabel("share of tasks up to T")
        later.set_title(f"After failures alone, target {targets[0]:g}")
        for colour, failures in zip(_cycle(range(4)), (0, 2, 4, 16), strict=True):
            law = temperature_law(0, failures, tau, targets[0])
            label = f"{failures} failures: mean {law.mean:.3f}"
            later.plot(t, law.cdf(t), color=colour, linewidth=1.8, label=label)
        for axes in (first, later):
            axes.axvline(1.0, color=SOFT, linewidth=0.9, linestyle=":")
            axes.set_xlabel("temperature T")
            axes.legend(labelcolor=INK, loc="upper center", bbox_to_anchor=(0.5, -0.17))
        first.set_ylim(-0.02, 1.02)
        return figure


def groups_figure(sizes: Sequence[int] = (4, 8, 16, 32)) -> Any:
    """Return a figure of I_n and J_n over the chance of success.

    Args:
        sizes: group sizes, one line each.

    Raises:
        BadArgument: a size below 1.
        ImportError: Matplotlib is missing.
    """
    with blank((8.4, 3.7)) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        p = np.linspace(0, 1, 501)
        titles = ("I: the group holds a success", "J: it holds a failure, too")
        for axes, title, rule in zip(panels, titles, (informative, mixed), strict=True):
            for colour, n in zip(_cycle(sizes), sizes, strict=True):
                axes.plot(p, rule(p, n), color=colour, linewidth=1.8, label=f"n = {n}")
            axes.set_title(title)
            axes.set_xlabel("chance of success p")
        panels[1].axvline(0.5, color=SOFT, linewidth=0.9, linestyle=":")
        panels[0].set_ylabel("share of groups")
        panels[0].set_ylim(-0.02, 1.04)
        panels[0].legend(labelcolor=INK, loc="lower right")
        return figure


def feedback_figure(
    curves: Mapping[str, Callable[[_Floats], ArrayLike]] = CURVES,
    n: int = 16,
    visits: int = 40,
) -> Any:
    """Return a figure of the expected share of mixed groups over visits.

    Each panel plays one curve with every rollout at T, with half of the group at T_ref, and with
    all of it at T_ref.

    Args:
        curves: chances of success over temperature, by title.
        n: rollouts in a group, at least 2.
        visits: groups that each task gets.

    Raises:
        BadArgument: as `feedback`.
        ImportError: Matplotlib is missing.
    """
    with blank((3.7 * len(curves), 3.9)) as figure:
        panels = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
        at = np.arange(1, visits + 1)
        ticks = [tick for tick in (1, 2, 4, 8, 16, 32, 64, 128) if tick <= visits]
        for axes, (title, curve) in zip(panels, curves.items(), strict=True):
            whole = feedback(curve, n, visits=visits)
            half = feedback(curve, n, visits=visits, ref_share=0.5)
            axes.axhline(whole.fixed, color=INK, linewidth=1.2, linestyle="--", label="all at 1")
            axes.plot(at, whole.mixed, color=COLOURS[1], linewidth=1.8, label="all at T")
            axes.plot(at, half.mixed, color=COLOURS[0], linewidth=1.8, label="half at 1, half at T")
            axes.set_title(title.replace(": ", "\n"))
            axes.set_xlabel("visit")
            axes.set_xscale("log")
            axes.set_xticks(ticks, [str(tick) for tick in ticks])
            axes.minorticks_off()
        panels[0].set_ylim(0, 1)
        panels[0].set_ylabel(f"share of mixed groups of {n}")
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=3,
            labelcolor=INK,
        )
        return figure


def draw(folder: str | os.PathLike[str]) -> list[Path]:
    """Write the four figures as PNG, and return where they are.

    Args:
        folder: where they go; made.

    Raises:
        ImportError: Matplotlib is missing.
    """
    into, made = Path(folder), []
    into.mkdir(parents=True, exist_ok=True)
    for name, paint in (
        ("map", map_figure),
        ("cold_start", cold_start_figure),
        ("groups", groups_figure),
        ("feedback", feedback_figure),
    ):
        made.append(into / f"{name}.png")
        paint().savefig(made[-1], dpi=150)
    return made


def _cycle(lines: Sequence[Any]) -> list[str]:
    return [COLOURS[at % len(COLOURS)] for at in range(len(lines))]
