"""Lakes: the maps and the transition tables, both as Gymnasium makes them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv, generate_random_map
from gymnasium.envs.toy_text.utils import categorical_sample

from agentenvs.core import Shared
from agentenvs.errors import BadArgument

__all__ = ["MOVES", "SIZE", "Lake", "check_success_rate", "rows_of"]

SIZE = 4
#: the directions, in the order of Gymnasium's actions 0 to 3
MOVES = ("left", "down", "right", "up")
_SHOWN = {"S": ".", "F": ".", "H": "O", "G": "G"}


def check_success_rate(success_rate: object) -> float:
    """Return `success_rate` as a float.

    Raises:
        BadArgument: it is no number from 0 to 1.
    """
    number = isinstance(success_rate, Real) and not isinstance(success_rate, bool)
    if not number or not 0 <= float(success_rate) <= 1:  # type: ignore[arg-type]
        raise BadArgument(
            f"Expected `success_rate` to be a number from 0 to 1, got {success_rate!r}."
        )
    return float(success_rate)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=4096)
def rows_of(seed: int) -> tuple[str, ...]:
    """Return the map of a seed: `SIZE` rows of S, F, H and G, by `generate_random_map`."""
    return tuple(str(row) for row in generate_random_map(SIZE, seed=seed))


@dataclass(frozen=True, slots=True)
class Lake(Shared):
    """A map with Gymnasium's transitions on it; nobody changes one, so copies share it.

    Attributes:
        rows: the rows of the map, in Gymnasium's letters.
        table: Gymnasium's `P`: cell -> action -> [(probability, next cell, reward, end)].
        starts: (cells,) how likely an episode begins at each cell.
        cells: the cells in the words of the world, the player left out.
        shown: the map in words with the player at each of the cells: a line a row, blanks between.
    """

    rows: tuple[str, ...]
    table: Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]
    starts: np.ndarray[Any, np.dtype[np.float64]]
    cells: tuple[str, ...]
    shown: tuple[str, ...]

    @staticmethod
    @functools.lru_cache(maxsize=1024)
    def of(seed: int, success_rate: float) -> Lake:
        """Return the lake of a map's seed, on which so many moves go as meant."""
        rows = rows_of(seed)
        made = FrozenLakeEnv(desc=list(rows), is_slippery=True, success_rate=success_rate)
        cells = tuple(_SHOWN[letter] for row in rows for letter in row)
        made.initial_state_distrib.setflags(write=False)
        shown = tuple(_show(cells, at) for at in range(len(cells)))
        return Lake(rows, made.P, made.initial_state_distrib, cells, shown)

    def start(self, rng: np.random.Generator) -> int:
        """Draw the first cell; one draw of `rng`, as Gymnasium's `reset` takes it."""
        return int(categorical_sample(self.starts, rng))

    def move(self, cell: int, move: int, rng: np.random.Generator) -> tuple[int, bool]:
        """Draw where a move leads; one draw of `rng`, as Gymnasium's `step` takes it.

        Returns:
            The next cell, and whether the episode ends there.
        """
        outcomes = self.table[cell][move]
        _, after, _, end = outcomes[int(categorical_sample([one[0] for one in outcomes], rng))]
        return int(after), bool(end)


def _show(cells: Sequence[str], player: int) -> str:
    words = [*cells[:player], "P", *cells[player + 1 :]]
    return "\n".join(" ".join(words[at : at + SIZE]) for at in range(0, len(words), SIZE))
