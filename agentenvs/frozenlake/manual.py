"""The rules in words, for models that never saw an episode."""

from __future__ import annotations

import math

from agentenvs.actions import canonical
from agentenvs.core import ToolCall
from agentenvs.frozenlake.grammar import MOVE
from agentenvs.frozenlake.lakes import MOVES

__all__ = ["policy", "system"]

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def policy(success_rate: float, max_steps: int, moves_per_step: int) -> str:
    """Return the rules as text."""
    turns = f"{_count(max_steps)} turn{'s' if max_steps > 1 else ''}"
    parts = [
        "You stand on a frozen lake and want to reach the goal. You are shown a map, row by row: "
        "P is you, . is ice, O is a hole in the ice, and G is the goal.",
        f"You have {turns}. In each turn you make {_moves(moves_per_step)}. A move is one of "
        f"{', '.join(MOVES)} and takes you one cell that way. At the edge of the map you stay "
        "where you are.",
        _slips(success_rate),
        "You win when you reach the goal. You lose when you step into a hole, or when your turns "
        "are used up. A turn in which you make no move is used up too.",
        "After each turn you see the map as it is then."
        + (
            " You choose all moves of a turn before you see where the first one took you."
            if moves_per_step > 1
            else ""
        ),
    ]
    return "\n".join(parts)


def system(success_rate: float, max_steps: int, moves_per_step: int) -> str:
    """Return the rules and how moves are written."""
    example = MOVES[1:3][:moves_per_step]
    calls = canonical([ToolCall(MOVE, {"direction": way}) for way in example])
    form = (
        f"Write {_moves(moves_per_step)} and nothing else, for example:\n{' '.join(example)}\n"
        f"You may write the same as calls of the tool `{MOVE}`, in JSON:\n{calls}"
    )
    return f"{policy(success_rate, max_steps, moves_per_step)}\n\n{form}"


def _slips(success_rate: float) -> str:
    if success_rate == 1:
        return "The ice is not slippery: every move goes the way you mean."
    slip = 1 - success_rate
    # Four digits of the smaller of the two, so that neither reads as never.
    places = 3 - math.floor(math.log10(min(success_rate, slip) or slip))
    meant, side = (f"{p:.{places}f}".rstrip("0").rstrip(".") for p in (success_rate, slip / 2))
    return (
        f"The ice is slippery: a move goes the way you mean with probability {meant}. "
        f"Otherwise you slip to one of the two sides, to each with probability {side}: up or "
        "down when you meant left or right, left or right when you meant up or down."
    )


def _count(number: int) -> str:
    return _COUNTS[number] if number < len(_COUNTS) else str(number)


def _moves(most: int) -> str:
    if most == 1:
        return "one move"
    return f"one {'or' if most == 2 else 'to'} {_count(most)} moves"
