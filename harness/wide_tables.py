"""Tables that are wider than a terminal, in parts."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["side_by_side"]


def side_by_side(sizes: Sequence[int], width: int, gap: int) -> list[list[int]]:
    """Return which columns stand side by side, the first in every part.

    Args:
        sizes: how wide each column is.
        width: of the terminal, all in characters.
        gap: between two columns.
    """
    parts: list[list[int]] = [[0]]
    for at in range(1, len(sizes)):
        taken = sum(sizes[column] + gap for column in parts[-1])
        if len(parts[-1]) > 1 and taken + sizes[at] > width:
            parts.append([0])
        parts[-1].append(at)
    return parts
