"""The four figures of a study; needs Matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentenvs.harness.lab.paint import SHEET, blank, darkened, svg
from agentenvs.harness.lab.paint_arms import heat_size, paint_heat, paint_tax, tax_size
from agentenvs.harness.lab.paint_curves import grid_size, paint_curves, paint_frontier
from agentenvs.harness.lab.results import Results

__all__ = ["FIGURES", "Picture", "draw"]


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
        with blank(plan.size(results)) as figure:
            plan.paint(figure, results)
            light = svg(figure)
            # Where everything stands is settled by now.
            figure.set_layout_engine("none")
            figure.savefig(folder / f"{name}.png", dpi=150, facecolor=SHEET)
        (folder / f"{name}.svg").write_text(light, encoding="utf-8")
        dark = darkened(light)
        caption = plan.caption.format(
            n=results.config.evaluation.n,
            along=min(results.config.evaluation.checkpoint_n, results.config.evaluation.n),
            ref=f"{results.config.reference:g}",
        )
        width = plan.size(results)[0]
        made.append(Picture(name, plan.title, caption, width, light, dark))
    return made


FIGURES: Mapping[str, _Plan] = {
    "curves": _Plan(
        "Solved within k tries",
        "Mean pass@k over tasks at T = {ref}, above on training tasks, below on held-out ones. "
        "Dashed: the model that an arm started from. Thin lines are seeds. A dot marks k*, where "
        "the start catches up with the trained model in a seed.",
        paint_curves,
        grid_size,
    ),
    "frontier": _Plan(
        "First try against many tries",
        "Above: each line joins the temperatures at which a model was played; the large dot is "
        "T = {ref}. Part of a difference at one temperature is a difference of temperature. "
        "Below: each line is a training, over seeds the mean, from its start (square) through "
        "its checkpoints to its end (dot), with pass@{along}, since checkpoints have {along} "
        "rollouts a task.",
        paint_frontier,
        grid_size,
    ),
    "heat": _Plan(
        "Success over temperature",
        "Training tasks, binned by p, the model's own success at T = {ref} and measured by other "
        "rollouts; numbers at the right count the tasks. Where a line rises to the right of the "
        "dotted mark, heating raises success. Success below 0.001 is drawn at 0.001.",
        paint_heat,
        heat_size,
    ),
    "tax": _Plan(
        "What each arm gained and paid",
        "Small dots are seeds; with several, the diamond is their mean and the bar the 95 % t "
        "interval over seeds. Dashed: the base model. A positive tax means that more tries mend "
        "less than they did for the model that the arm started from.",
        paint_tax,
        tax_size,
    ),
}
