"""The best play there is, by dynamic programming over turns on Gymnasium's transition table.

The moves of a turn are chosen before the first of them slips, so a turn is one decision among all
lines of moves that it may hold, no move included.
"""

from __future__ import annotations

import functools
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from agentenvs.actions import canonical
from agentenvs.core import ToolCall
from agentenvs.errors import BadArgument
from agentenvs.frozenlake.grammar import MOVE
from agentenvs.frozenlake.lakes import MOVES, SIZE, Lake, check_success_rate
from agentenvs.frozenlake.tasks import seed_of

__all__ = ["Plan", "best_moves", "gold_actions", "lines_of", "plan_of", "success_probability"]

Floats = np.ndarray[Any, np.dtype[np.float64]]

_CELLS = SIZE * SIZE
_STEPS = 5
#: lines of moves are counted out: 4 to this power of the longest
_MOST_MOVES = 6
_MOST_STEPS = 1000
#: closer than this, two lines are as good as each other
_EQUAL = 1e-12


class Plan(NamedTuple):
    """Best play on one map; all who ask have the same arrays, so nobody can change them.

    Attributes:
        value: (turns left + 1, cells) the probability to reach the goal.
        choice: (turns left, cells) which of `lines_of` to take, the first row with one turn left.
    """

    value: Floats
    choice: np.ndarray[Any, np.dtype[np.int64]]


def success_probability(
    task_id: str,
    success_rate: float = 0.8,
    *,
    max_steps: int = _STEPS,
    moves_per_step: int = 2,
) -> float:
    """Return the greatest probability of success that any agent can have, exactly.

    Args:
        task_id: for example "4x4/0".
        success_rate: how likely a move goes as meant, from 0 to 1.
        max_steps: turns, 1 to 1000.
        moves_per_step: moves in a turn, 1 to 6.

    Raises:
        UnknownName: there is no such task.
        BadArgument: a number out of range.
    """
    plan = _checked(task_id, success_rate, max_steps, moves_per_step, "max_steps")
    lake = Lake.of(seed_of(task_id), check_success_rate(success_rate))
    return float(lake.starts @ plan.value[max_steps])


def best_moves(
    task_id: str,
    cell: int,
    steps_left: int,
    success_rate: float = 0.8,
    *,
    moves_per_step: int = 2,
) -> tuple[str, ...]:
    """Return the moves of one turn that reach the goal most probably.

    Of lines of moves that are as good, one that gets there in fewer turns is returned, and of
    these the shortest; an empty one, to stay, only where all others are worse.

    Args:
        task_id: for example "4x4/0".
        cell: where the player stands, row * 4 + column: `observation.split().index("P")`.
        steps_left: turns that are left, this one included, 1 to 1000.
        success_rate: how likely a move goes as meant, from 0 to 1.
        moves_per_step: moves in a turn, 1 to 6.

    Raises:
        UnknownName: there is no such task.
        BadArgument: a number out of range, or a cell at which the episode is over.
    """
    plan = _checked(task_id, success_rate, steps_left, moves_per_step, "steps_left")
    if isinstance(cell, bool) or not isinstance(cell, int | np.integer) or not 0 <= cell < _CELLS:
        raise BadArgument(f"Expected `cell` to be an int from 0 to {_CELLS - 1}, got {cell!r}.")
    letter = "".join(Lake.of(seed_of(task_id), float(success_rate)).rows)[cell]
    if letter in "HG":
        raise BadArgument(f"Expected `cell` to be one of ice, got {cell!r}, where an episode ends.")
    return lines_of(moves_per_step)[plan.choice[steps_left - 1, cell]]


def gold_actions(task_id: str) -> list[str]:
    """Return action texts, one a step, that solve a task where no move slips.

    They are right with `success_rate=1`, and with the default limits of turns and moves. On
    slippery ice nothing that is written down beforehand is sure to get there.

    Args:
        task_id: for example "4x4/0".

    Raises:
        UnknownName: there is no such task.
    """
    lake = Lake.of(seed_of(task_id), 1.0)
    cell, actions = int(lake.starts.argmax()), list[str]()
    while lake.cells[cell] != "G":
        line = best_moves(task_id, cell, _STEPS - len(actions), 1.0)
        actions.append(canonical([ToolCall(MOVE, {"direction": way}) for way in line]))
        for way in line:
            _, cell, _, _ = max(lake.table[cell][MOVES.index(way)])
    return actions


def _checked(task_id: str, success_rate: float, steps: int, moves_per_step: int, name: str) -> Plan:
    rate = check_success_rate(success_rate)
    for key, value, most in (
        (name, steps, _MOST_STEPS),
        ("moves_per_step", moves_per_step, _MOST_MOVES),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise BadArgument(f"Expected `{key}` to be an int from 1 to {most}, got {value!r}.")
    # What is best with so many turns left is the same in a longer plan, so all ask for a few.
    turns = _STEPS
    while turns < steps:
        turns *= 2
    return plan_of(seed_of(task_id), rate, turns, moves_per_step)


@functools.lru_cache(maxsize=16)
def lines_of(most: int) -> tuple[tuple[str, ...], ...]:
    """Return all lines of moves: the shorter first, but the empty one last."""
    return (*(line for n in range(1, most + 1) for line in product(MOVES, repeat=n)), ())


# All maps of the task sets with the same limits; the longest plan takes a third of a megabyte.
@functools.lru_cache(maxsize=320)
def plan_of(seed: int, success_rate: float, steps: int, moves_per_step: int) -> Plan:
    """Return the best play on the map of any seed, with so many turns."""
    lake = Lake.of(seed, success_rate)
    matrices = np.zeros((len(MOVES), _CELLS, _CELLS))
    for cell, moves in lake.table.items():
        for move, outcomes in moves.items():
            for probability, after, _, _ in outcomes:
                matrices[move, cell, after] += probability
    goal = lake.cells.index("G")
    # Beside the probability, the turns that are left over on average when the goal is reached.
    worth = np.zeros((_CELLS, 2))
    worth[goal, 0] = 1.0
    values, choices = [worth[:, 0].copy()], []
    every = np.arange(_CELLS)
    for left in range(steps):
        worth[goal, 1] = left
        reached = worth[None]
        longer = []
        for _ in range(moves_per_step):
            reached = (matrices[:, None] @ reached[None]).reshape(-1, _CELLS, 2)
            longer.append(reached)
        lines = np.concatenate([*longer, worth[None]])
        choice = _best(lines)
        worth = lines[choice, every]
        choices.append(choice)
        values.append(worth[:, 0].copy())
    plan = Plan(np.array(values), np.array(choices))
    for array in plan:
        array.setflags(write=False)
    return plan


def _best(lines: Floats) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return for each cell the first line of (lines, cells, 2) that no other surpasses."""
    chance, left = lines[..., 0], lines[..., 1]
    good = chance >= chance.max(0) - _EQUAL
    left = np.where(good, left, -np.inf)
    first: np.ndarray[Any, np.dtype[np.int64]] = (left >= left.max(0) - _EQUAL).argmax(0)
    return first
