"""Arguments of the formulas: numbers in their ranges."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument

__all__ = ["chances", "number", "shown", "whole"]


def shown(value: object) -> str:
    """Return a value as it may stand in a message: one that is long is cut."""
    try:
        text = repr(value)
    except ValueError:
        return "a number of too many digits to print"
    return text if len(text) <= 60 else f"{text[:57]}..."


def number(
    name: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> float:
    """Return one finite number in `low` <= x <= `high` and `above` < x < `below`.

    Raises:
        BadArgument: it is no number, or out of range.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, float | int | np.floating | np.integer
    ):
        raise BadArgument(f"Expected `{name}` to be a number, got {shown(value)}.")
    try:
        given = float(value)
    except OverflowError:
        given = math.inf
    if math.isfinite(given) and low <= given <= high and above < given < below:
        return given
    bounds = [
        f"{word} {bound:g}"
        for word, bound in (
            ("at least", low),
            ("at most", high),
            ("above", above),
            ("below", below),
        )
        if math.isfinite(bound)
    ]
    what = " and ".join(bounds) or "a finite number"
    raise BadArgument(f"Expected `{name}` to be {what}, got {shown(value)}.")


def whole(name: str, value: object, *, low: int, high: int = 2**31 - 1) -> int:
    """Return one integer in `low` <= x <= `high`.

    Raises:
        BadArgument: it is no integer, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise BadArgument(f"Expected `{name}` to be an integer, got {shown(value)}.")
    if not low <= int(value) <= high:
        raise BadArgument(f"Expected `{name}` of {low} to {high}, got {shown(int(value))}.")
    return int(value)


def chances(name: str, value: ArrayLike, *, open_ends: bool = False) -> NDArray[np.float64]:
    """Return numbers in [0, 1], or in (0, 1) with `open_ends`, as an array of any shape.

    Raises:
        BadArgument: no numbers, or one out of range.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise BadArgument(f"Expected `{name}` to hold numbers, got a ragged list.") from None
    if array.dtype.kind not in "fiu":
        raise BadArgument(f"Expected `{name}` to hold numbers, got {array.dtype}.")
    inside = (array > 0) & (array < 1) if open_ends else (array >= 0) & (array <= 1)
    if not inside.all():
        odd = array[~inside].flat[0]
        span = "strictly between 0 and 1" if open_ends else "between 0 and 1"
        raise BadArgument(f"Expected `{name}` {span}, got {odd}.")
    return array.astype(np.float64)
