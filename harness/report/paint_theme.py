"""The colours of a report's figures, on light and on dark pages."""

from __future__ import annotations

from typing import NamedTuple

from agentenvs.harness.ptgs.drawing import COLOURS, GRID, INK, SOFT

__all__ = [
    "BASE",
    "COST",
    "GAIN",
    "GRID",
    "INK",
    "POST",
    "SERIES",
    "SHEET",
    "SOFT",
    "TONES",
    "Tone",
    "theme",
]

SHEET = "#ffffff"
BASE, POST, GAIN, _PINK, _GOLD = COLOURS
# Purple and green are told apart by colour-blind readers, red and green are not.
COST = "#8e3a80"
#: colours of groups, for which marks differ in shape too.
SERIES = (BASE, POST, GAIN, _PINK, _GOLD)


class Tone(NamedTuple):
    """A colour: the CSS variable that holds it, and what it is on a dark page."""

    variable: str
    dark: str


#: every colour that a figure may have, by what it is on a light page.
TONES = {
    INK: Tone("--ink", "#f0ece4"),
    SOFT: Tone("--soft", "#a69f93"),
    GRID: Tone("--line", "#3c3933"),
    SHEET: Tone("--sheet", "#211f1d"),
    BASE: Tone("--base", "#56a8e0"),
    POST: Tone("--post", "#ff8a4a"),
    COST: Tone("--cost", "#d78fce"),
    GAIN: Tone("--gain", "#2fd0a0"),
    _PINK: Tone("--pink", "#e6a0c8"),
    _GOLD: Tone("--gold", "#e8c04a"),
}


def theme() -> str:
    """Return the style rules that turn pictures dark on screens that ask for it."""
    dark = " ".join(f"{tone.variable}: {tone.dark};" for tone in TONES.values())
    return f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
