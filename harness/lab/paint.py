"""What the figures of a study have in common: colours, an empty figure, who stands in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from agentenvs.harness.lab.results import Results
from agentenvs.harness.ptgs import drawing
from agentenvs.harness.ptgs.drawing import COLOURS, GRID, INK, SOFT

__all__ = [
    "INK",
    "SERIES",
    "SHADES",
    "SHEET",
    "SOFT",
    "blank",
    "darkened",
    "families",
    "label",
    "mean",
    "starts",
    "svg",
]

SERIES = (*COLOURS, "#56b4e9", "#7a5195", "#444444")
SHADES = ("#440154", "#3b528b", "#21918c", "#4fae4e", "#a5c130", "#c9a800")
SHEET = "#ffffff"
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
    INK: "#f0ece4",
    SOFT: "#a69f93",
    GRID: "#3c3933",
}
_COLOUR = re.compile("|".join(_DARK))


def darkened(text: str) -> str:
    """Return SVG text in the colours of a dark page."""
    return _COLOUR.sub(lambda found: _DARK[found.group()], text)


def blank(size: tuple[float, float]) -> AbstractContextManager[Any]:
    """Give a figure without background; nothing of Matplotlib's own settings stays changed."""
    return drawing.vector(size)


def svg(figure: Any) -> str:
    """Return a figure as SVG, which is the same whenever it is drawn."""
    text = drawing.svg(figure)
    return text[text.index("<svg") :]


def families(results: Results) -> dict[str, list[str]]:
    """Return the arms of each family that has any, the starts left out."""
    found: dict[str, list[str]] = {}
    for name in results.arms():
        arm = results.config.arm(name)
        if arm.family != "start":
            found.setdefault(arm.family, []).append(name)
    return found or {"start": results.arms()}


def starts(results: Results, arms: Sequence[str]) -> list[str]:
    """Return the arms with results from which these start."""
    found = dict.fromkeys(results.config.arm(arm).start for arm in arms)
    return [start for start in found if start is not None and results.seeds(start)]


def mean(lines: Sequence[Any]) -> Any:
    """Return the mean of arrays of one shape."""
    return np.mean(np.asarray(lines), axis=0)


def label(results: Results, name: str) -> str:
    """Return what an arm is called."""
    return results.config.arm(name).label
