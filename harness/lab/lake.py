"""Demonstrators on frozen lakes: few plan, some see the hole before them, most do not look.

Those who go straight for the goal give a model a habit: on maps with a hole in the way it is wrong,
and those who know better are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.frozenlake import vocabulary as v
from agentenvs.frozenlake.lakes import MOVES, SIZE, Lake, rows_of
from agentenvs.frozenlake.optimum import lines_of, plan_of
from agentenvs.frozenlake.tasks import seed_of, task_ids

__all__ = [
    "LENGTH",
    "Demonstrators",
    "Demos",
    "Lakes",
    "demonstrations",
    "other_maps",
    "train_maps",
]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_TURNS, _MOVES, _SLIPPERY = 5, 2, 0.8
_CELLS = SIZE * SIZE
#: most tokens of a demonstration: five turns of two moves, each with the map before it
LENGTH = _TURNS * (1 + _CELLS + 1 + _MOVES + 1)
_LEFT, _DOWN, _RIGHT, _UP = range(len(MOVES))
_NONE = -1
#: seeds come at about a thousand a second, and bring ever fewer maps that are new
_TRIES = 30_000
_PLANS, _NEARSIGHTED, _HASTY = range(3)


@dataclass(frozen=True, slots=True)
class Demonstrators:
    """Who demonstrates; each demonstration has one of them.

    Attributes:
        planners: share who make the best moves there are.
        nearsighted: share who go straight for the goal, but step aside where the next cell is a
            hole. All others go straight whatever is in the way.
        errs: how often a move, whoever makes it, is drawn at random instead; one in four of
            these is the move that was to be made.

    Raises:
        BadArgument: one of them is not within 0 to 1, or the shares are more than all.
    """

    planners: float = 0.1
    nearsighted: float = 0.3
    errs: float = 0.1

    def __post_init__(self) -> None:
        for name in ("planners", "nearsighted", "errs"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise BadArgument(f"Expected `{name}` to be a number within 0 to 1, got {value!r}.")
        if self.planners + self.nearsighted > 1:
            raise BadArgument(
                "Expected `planners` and `nearsighted` of 1 together at most, "
                f"got {self.planners} and {self.nearsighted}."
            )


@dataclass(frozen=True)
class Lakes:
    """M maps as arrays, from Gymnasium's tables.

    Attributes:
        shown: (M, 16) the cells' words, as ids, without the player.
        after: (M, 16, 4, 3) where a move may lead from a cell.
        chance: (M, 16, 4, 3) how likely; 0 for what is not possible.
        start: (M,) where an episode begins.
        best: (M, 5, 16, 2) the best moves by turns left, one turn first; -1 for no move.
    """

    shown: Ints
    after: Ints
    chance: NDArray[np.float64]
    start: Ints
    best: Ints

    @classmethod
    def of(cls, seeds: Sequence[int]) -> Lakes:
        """Return the maps of some seeds."""
        number = {word: at for at, word in enumerate(MOVES)}
        lines = np.full((len(lines_of(_MOVES)), _MOVES), _NONE)
        for place, line in enumerate(lines_of(_MOVES)):
            lines[place, : len(line)] = [number[word] for word in line]
        size = (len(seeds), _CELLS, len(MOVES), 3)
        after, chance = np.zeros(size, dtype=np.int64), np.zeros(size)
        shown, start, best = [], [], []
        for at, seed in enumerate(seeds):
            lake = Lake.of(seed, _SLIPPERY)
            for cell, moves in lake.table.items():
                for move, outcomes in moves.items():
                    for slip, (probability, reached, _, _) in enumerate(outcomes):
                        after[at, cell, move, slip] = reached
                        chance[at, cell, move, slip] = probability
            shown.append([v.ID[word] for word in lake.cells])
            start.append(int(lake.starts.argmax()))
            best.append(lines[plan_of(seed, _SLIPPERY, _TURNS, _MOVES).choice])
        return cls(np.array(shown), after, chance, np.array(start), np.array(best))

    def __len__(self) -> int:
        """Return the number of maps."""
        return len(self.shown)

    def meant(self, maps: Ints, cells: Ints, moves: Ints) -> Ints:
        """Return where moves lead that do not slip, (B,)."""
        likely = self.chance[maps, cells, moves].argmax(1)
        reached: Ints = self.after[maps, cells, moves, likely]
        return reached

    def is_hole(self, maps: Ints, cells: Ints) -> Bools:
        """Tell which cells are holes, (B,)."""
        hole: Bools = self.shown[maps, cells] == v.HOLE
        return hole


class Demos(NamedTuple):
    """Demonstrations as arrays, a row each.

    Attributes:
        ids: (n, 105) int16, padded with 0; a dialogue as `frozenlake.render` gives it, up to the
            last turn's `<end>`.
        map: (n,) which map.
        success: (n,) whether the goal was reached.
    """

    ids: NDArray[np.int16]
    map: Ints
    success: Bools


def train_maps() -> list[int]:
    """Return the seeds of the maps of the task set `train`."""
    return [seed_of(task) for task in task_ids("train")]


def other_maps(n: int, first: int, *, tries: int = _TRIES) -> list[int]:
    """Return the seeds, from `first` on, of `n` different maps that no task has.

    Args:
        n: how many maps; some 2,000 are to be had with the `tries` that are given.
        first: the first seed.
        tries: how many seeds are looked at, at most.

    Raises:
        BadArgument: so many seeds do not hold so many such maps.
    """
    seen = {rows_of(seed_of(task)) for name in ("train", "heldout") for task in task_ids(name)}
    seeds: list[int] = []
    for seed in range(first, first + tries):
        if len(seeds) >= n:
            break
        if (rows := rows_of(seed)) not in seen:
            seen.add(rows)
            seeds.append(seed)
    if len(seeds) < n:
        raise BadArgument(
            f"Expected no more maps than the {tries} seeds from {first} on hold beside those of "
            f"tasks, {len(seeds)}, got {n}."
        )
    return seeds


def demonstrations(
    lakes: Lakes, n: int, rng: np.random.Generator, who: Demonstrators | None = None
) -> Demos:
    """Return `n` dialogues on maps drawn uniformly.

    Args:
        lakes: the maps.
        n: how many dialogues.
        rng: all draws come from it.
        who: the demonstrators.

    Raises:
        BadArgument: `n` is negative or no int.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise BadArgument(f"Expected `n` to be an int >= 0, got {n!r}.")
    who = who or Demonstrators()
    maps = rng.integers(len(lakes), size=n)
    bounds = np.cumsum([who.planners, who.nearsighted])
    kind = np.searchsorted(bounds, rng.random(n), side="right")
    tie = rng.choice([_DOWN, _RIGHT], size=n)
    cell, success = lakes.start[maps], np.zeros(n, dtype=bool)
    script, rows = _Script(n), np.arange(n)
    for turn in range(_TURNS):
        here, stands = maps[rows], cell[rows]
        seen = lakes.shown[here]
        seen[np.arange(len(rows)), stands] = v.PLAYER
        script.write(rows, np.full(len(rows), v.TOOL if turn else v.USER), *seen.T)
        straight = _straight(lakes, here, stands, tie[rows], kind[rows] == _NEARSIGHTED)
        best = lakes.best[here, _TURNS - 1 - turn, stands]
        moves = np.where((kind[rows] == _PLANS)[:, None], best, straight)
        errs = (rng.random(moves.shape) < who.errs) & (moves != _NONE)
        moves = np.where(errs, rng.integers(len(MOVES), size=moves.shape), moves)
        words = np.where(moves == _NONE, v.PAD, v.MOVE + moves)
        script.write(rows, np.full(len(rows), v.AGENT), *words.T, np.full(len(rows), v.END))
        over = np.zeros(len(rows), dtype=bool)
        for move in moves.T:
            goes = np.flatnonzero(~over & (move != _NONE))
            cell[rows[goes]] = _slip(lakes, here[goes], cell[rows[goes]], move[goes], rng)
            over = np.isin(lakes.shown[here, cell[rows]], (v.HOLE, v.GOAL))
        success[rows] = lakes.shown[here, cell[rows]] == v.GOAL
        rows = rows[~over]
    return Demos(script.ids, maps, success)


def _straight(lakes: Lakes, maps: Ints, cells: Ints, tie: Ints, careful: Bools) -> Ints:
    """Return the moves, (B, 2), of those who go for the goal along the longer way, -1 behind it.

    `tie` is the move where both ways are as long. The careful ones step aside before a hole: the
    other way to the goal where that is ice, else back, without a look.
    """
    said = np.full((len(maps), _MOVES), _NONE)
    for column in range(_MOVES):
        down, right = SIZE - 1 - cells // SIZE, SIZE - 1 - cells % SIZE
        first = np.select([right > down, down > right], [_RIGHT, _DOWN], tie)
        other = _DOWN + _RIGHT - first
        open_ = np.minimum(down, right) > 0
        open_ &= ~lakes.is_hole(maps, lakes.meant(maps, cells, other))
        aside = np.where(open_, other, np.where(first == _RIGHT, _UP, _LEFT))
        before = careful & lakes.is_hole(maps, lakes.meant(maps, cells, first))
        moves = np.where(before, aside, first)
        there = lakes.shown[maps, cells] == v.GOAL
        said[:, column] = np.where(there, _NONE, moves)
        cells = lakes.meant(maps, cells, moves)
    return said


def _slip(lakes: Lakes, maps: Ints, cells: Ints, moves: Ints, rng: np.random.Generator) -> Ints:
    """Draw where moves lead, (B,)."""
    reach = lakes.chance[maps, cells, moves].cumsum(1)
    drawn = (reach <= rng.random(len(maps))[:, None] * reach[:, -1:]).sum(1)
    reached: Ints = lakes.after[maps, cells, moves, drawn]
    return reached


class _Script:
    """Dialogues under way, each with its own end."""

    def __init__(self, n: int) -> None:
        self.ids = np.full((n, LENGTH), v.PAD, dtype=np.int16)
        self._ends = np.zeros(n, dtype=np.int64)

    def write(self, rows: Ints, *columns: NDArray[Any]) -> None:
        """Put words at the ends of some rows; `<pad>` is no word."""
        for words in columns:
            some = rows[words != v.PAD]
            self.ids[some, self._ends[some]] = words[words != v.PAD]
            self._ends[some] += 1
