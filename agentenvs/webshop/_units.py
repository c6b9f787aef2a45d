"""The goals of a catalog, drawn and shuffled once, when it is compiled.

Order, caps and weights are those of the original, with its generator seeded: the price draws
of ranged products come first, then the caps, and the list is shuffled with seed 233.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np

from agentenvs.errors import SourceError
from agentenvs.webshop._store import write_array
from agentenvs.webshop.goals import caps_above
from agentenvs.webshop.records import GoalKind, Product

__all__ = [
    "MAX_COMBINATIONS",
    "MAX_GOALS",
    "Units",
    "combinations",
    "draw_cap",
    "human_units",
    "synthetic_units",
    "write_goals",
]

_SHUFFLE_SEED = 233
#: option combinations of one product beyond which it gets no synthetic goals
MAX_COMBINATIONS = 1_000_000
#: goals of one kind in a catalog
MAX_GOALS = 100_000_000


def draw_cap(price: float, rng: random.Random) -> int:
    """Draw which of the caps above `price` counts: its place among them, -1 where none does."""
    caps = caps_above(price)
    if len(caps) < 2:
        return -1
    return caps.index(max(rng.sample(caps, 2)))


def combinations(product: Product) -> int:
    """Return how many ways there are to choose one value of every option."""
    return prod(len(values) for values in product.options.values())


@dataclass(slots=True)
class Units:
    """Goals of one kind before the shuffle, in runs that share product, cap and weight.

    Attributes:
        rows: row of the product.
        counts: number of goals in the run.
        which: place of the instruction among those of the product.
        draws: see `draw_cap`.
        weights: weight of each goal of the run.
    """

    rows: array[int] = field(default_factory=lambda: array("i"))
    counts: array[int] = field(default_factory=lambda: array("q"))
    which: array[int] = field(default_factory=lambda: array("i"))
    draws: array[int] = field(default_factory=lambda: array("b"))
    weights: array[float] = field(default_factory=lambda: array("d"))

    def add(self, row: int, count: int, which: int, draw: int, weight: float = 1.0) -> None:
        """Append a run."""
        self.rows.append(row)
        self.counts.append(count)
        self.which.append(which)
        self.draws.append(draw)
        self.weights.append(weight)


def synthetic_units(
    wishes: Iterable[tuple[int, int, Sequence[int]]],
    prices: Sequence[float],
    rng: random.Random,
) -> Units:
    """Return the runs of synthetic goals, one a product.

    Args:
        wishes: row, number of option combinations and ids of the attributes asked for, of each
            product with an instruction, in row order. A count of 0 draws a cap and makes no
            goal, as in the original.
        prices: purchase price by row.
        rng: in the state that the price draws left it in.
    """
    units = Units()
    asked = array("i")
    ends = array("q")
    for row, count, attributes in wishes:
        draw = draw_cap(prices[row], rng)
        if count:
            units.add(row, count, 0, draw)
            asked.extend(attributes)
            ends.append(len(asked))
    carriers: dict[int, int] = {}
    for count, wanted in zip(units.counts, _runs(asked, ends), strict=True):
        for attribute in set(wanted):
            carriers[attribute] = carriers.get(attribute, 0) + count
    for unit, wanted in enumerate(_runs(asked, ends)):
        # Added one by one: `sum` rounds otherwise from Python 3.12 on.
        total = 0.0
        for attribute in wanted:
            total += 1.0 / carriers[attribute]
        units.weights[unit] = total / len(wanted)
    return units


def _runs(values: array[int], ends: array[int]) -> Iterable[array[int]]:
    start = 0
    for end in ends:
        yield values[start:end]
        start = end


def human_units(
    counts: Iterable[tuple[int, int]], prices: Sequence[float], rng: random.Random
) -> Units:
    """Return the runs of human goals, one a goal.

    Args:
        counts: row and number of usable instructions, in row order.
        prices: purchase price by row.
        rng: in the state that the price draws left it in.
    """
    units = Units()
    for row, count in counts:
        for which in range(count):
            units.add(row, 1, which, draw_cap(prices[row], rng))
    return units


def write_goals(folder: Path, kind: GoalKind, units: Units) -> int:
    """Shuffle the goals, write their tables and return their number.

    Raises:
        SourceError: there are more than `MAX_GOALS`.
    """
    total = sum(units.counts)
    if total > MAX_GOALS:
        raise SourceError(f"Expected at most {MAX_GOALS} {kind} goals, got {total}.")
    order = list(range(total))
    random.Random(_SHUFFLE_SEED).shuffle(order)
    shuffled = np.array(order, dtype="<i4")
    del order
    counts = np.array(units.counts, dtype="<i8")
    each = np.repeat(np.array(units.weights, dtype="<f8"), counts)
    starts = np.concatenate(([0], np.cumsum(counts)))
    write_array(folder, f"{kind}_order", shuffled, "<i4")
    write_array(folder, f"{kind}_summed", np.concatenate(([0.0], np.cumsum(each[shuffled]))), "<f8")
    write_array(folder, f"{kind}_starts", starts, "<i8")
    write_array(folder, f"{kind}_rows", units.rows, "<i4")
    write_array(folder, f"{kind}_which", units.which, "<i4")
    write_array(folder, f"{kind}_draws", units.draws, "i1")
    write_array(folder, f"{kind}_weights", units.weights, "<f8")
    return total
