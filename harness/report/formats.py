"""Numbers as a reader of the page sees them."""

from __future__ import annotations

import math

from agentenvs.harness.tax import Estimate

__all__ = [
    "count",
    "number",
    "percent",
    "percents",
    "points",
    "signed",
    "span",
    "spread",
    "upper",
]

_SPACE = "\u00a0"
_MINUS = "\u2212"
# What is smaller comes from rounding.
_NOTHING = 1e-9


def count(many: int, one: str, more: str = "") -> str:
    """Return how many of something: "1 task", "20 tasks", "2,000 tasks"."""
    return f"{many:,}{_SPACE}{one if many == 1 else more or one + 's'}"


def number(value: float, digits: int) -> str:
    """Return a number, with a minus that is one; "undefined" for NaN.

    What is not 0 never reads as 0: it gets as many digits as that takes.
    """
    if math.isnan(value):
        return "undefined"
    while _NOTHING < abs(value) < 1 and round(value, digits) == 0:
        digits += 1
    # + 0.0 turns a rounded -0 into 0.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", _MINUS)


def signed(value: float, digits: int) -> str:
    """Return a number with its sign, none for 0."""
    shown = number(value, digits)
    plain = any(digit in "123456789" for digit in shown)
    return shown if not plain or shown.startswith(_MINUS) or math.isnan(value) else f"+{shown}"


def upper(words: str) -> str:
    """Return words with a capital at their beginning, unless they are a name."""
    return f"T{words[1:]}" if words.startswith("the ") else words


def percent(share: float, digits: int = 0) -> str:
    """Return a share as per cent; close to none and to all it never reads as none or all."""
    if math.isnan(share):
        return "undefined"
    value = 100 * share
    if abs(value) <= _NOTHING or abs(value - 100) <= _NOTHING:
        digits = 0
    while digits < 2 and round(value, digits) in (0, 100) and _NOTHING < value < 100 - _NOTHING:
        digits += 1
    shown = f"{round(value, digits) + 0.0:.{digits}f}"
    if float(shown) == 0 and value > _NOTHING:
        return f"under{_SPACE}0.01{_SPACE}%"
    if float(shown) == 100 and value < 100 - _NOTHING:
        return f"over{_SPACE}99.99{_SPACE}%"
    return f"{shown}{_SPACE}%"


def percents(first: float, second: float) -> tuple[str, str]:
    """Return two shares with as many digits as it takes to tell them apart."""
    digits = 0
    while (
        digits < 2
        and abs(first - second) > 1e-9
        and percent(first, digits) == percent(second, digits)
    ):
        digits += 1
    return percent(first, digits), percent(second, digits)


def points(estimate: Estimate) -> str:
    """Return what was gained after a drop (before minus after), in percentage points."""
    gained = -100 * estimate.value
    digits = 1 if abs(gained) < 1 and abs(gained) > 1e-9 else 0
    return f"{signed(gained, digits)}{_SPACE}points"


def spread(estimate: Estimate, flip: bool = False, link: str = "to") -> str:
    """Return the interval of a difference of shares in percentage points, "" where there is none.

    Args:
        estimate: before minus after.
        flip: whether to tell it as after minus before.
        link: what stands between the ends.
    """
    if math.isnan(estimate.low):
        return ""
    ends = (100 * estimate.low, 100 * estimate.high)
    if flip:
        ends = (-ends[1], -ends[0])
    digits = 1 if max(abs(end) for end in ends) < 2 else 0
    return f"{signed(ends[0], digits)}{_SPACE}{link}{_SPACE}{signed(ends[1], digits)}"


def span(estimate: Estimate, digits: int, sign: bool = False) -> str:
    """Return an interval, "no interval" where there is none."""
    if math.isnan(estimate.value):
        return ""
    if math.isnan(estimate.low):
        return "no interval"
    show = signed if sign else number
    return f"{show(estimate.low, digits)} to {show(estimate.high, digits)}"
