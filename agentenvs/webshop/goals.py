"""Goals: synthetic ones of every combination of options, and those that people wrote."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from agentenvs.core import Rules
from agentenvs.errors import BadArgument
from agentenvs.tools import Shared
from agentenvs.webshop._store import load_array
from agentenvs.webshop.records import NO_CAP, Goal, GoalKind, Product

__all__ = [
    "Goals",
    "HumanWish",
    "SyntheticWish",
    "Wishes",
    "cap",
    "caps_above",
]

_GRID = tuple(range(10, 1000, 10))
_CHOICES = 4


class SyntheticWish(NamedTuple):
    """The mined instruction of a product, and the attributes that it asks for."""

    instruction: str
    attributes: tuple[str, ...]


class HumanWish(NamedTuple):
    """An instruction that a person wrote for a product."""

    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]


class Wishes(NamedTuple):
    """What a record says about the goals of one product."""

    synthetic: SyntheticWish | None = None
    human: tuple[HumanWish, ...] = ()


def caps_above(price: float) -> tuple[int, ...]:
    """Return the price caps that a goal at `price` may have, in dollars."""
    start = bisect_right(_GRID, price)
    return _GRID[start : start + _CHOICES]


def cap(price: float, draw: int) -> float:
    """Return the price cap in dollars that `draw` stands for at `price`.

    Where the price is not the one that the draw was made for, the cap moves along: the same
    place among the caps above it, or the highest where there are fewer.
    """
    caps = caps_above(price)
    if len(caps) < 2:
        return NO_CAP
    return float(caps[min(draw, len(caps) - 1) if draw >= 0 else -1])


class Shelf(Protocol):
    """What goals are read from: a catalog."""

    def entry(self, row: int) -> tuple[Product, Wishes]:
        """Return the product of a row and what its record says about goals."""

    def price(self, row: int, prices: Mapping[str, float] | None = None) -> float:
        """Return what buying the product costs, in dollars."""

    def goals(self, kind: GoalKind) -> Goals:
        """Return the goals of one kind."""


class Goals(Shared):
    """The goals of one kind in a catalog, in the shuffled order that task ids count in."""

    def __init__(self, folder: Path, kind: GoalKind, shelf: Shelf) -> None:
        self.kind: GoalKind = kind
        self._shelf = shelf
        self._order = load_array(folder, f"{kind}_order")
        self._summed = load_array(folder, f"{kind}_summed")
        self._starts = load_array(folder, f"{kind}_starts")
        self._rows = load_array(folder, f"{kind}_rows")
        self._which = load_array(folder, f"{kind}_which")
        self._draws = load_array(folder, f"{kind}_draws")
        self._weights = load_array(folder, f"{kind}_weights")

    def __len__(self) -> int:
        return len(self._order)

    def __reduce__(self) -> tuple[Any, ...]:
        return _goals_of, (self._shelf, self.kind)

    def row(self, index: int) -> int:
        """Return the row of the product that goal `index` was made from."""
        return int(self._rows[self._unit(index)[0]])

    def goal(self, index: int, prices: Mapping[str, float] | None = None) -> Goal:
        """Return a goal.

        Args:
            index: its place after the shuffle.
            prices: asin -> price in dollars; replaces the seeded draw of a product with a
                price range, and moves the cap along.

        Raises:
            BadArgument: there is no such goal.
        """
        unit, place = self._unit(index)
        row = int(self._rows[unit])
        product, wishes = self._shelf.entry(row)
        upper = cap(self._shelf.price(row, prices), int(self._draws[unit]))
        said = f", and price lower than {upper:.2f} dollars" if upper != NO_CAP else ""
        options: Any
        if self.kind == "human":
            wish = wishes.human[int(self._which[unit])]
            text, attributes, options = wish.instruction.strip("."), wish.attributes, wish.options
        else:
            assert wishes.synthetic is not None  # noqa: S101 - a unit is made of one
            options = _combination(product, place)
            listed = ", and ".join(f"{name}: {value}" for name, value in options.items())
            text = wishes.synthetic.instruction + (f" with {listed}" if listed else "")
            attributes = wishes.synthetic.attributes
        return Goal(
            asin=product.asin,
            category=product.category,
            query=product.query,
            name=product.title,
            product_category=product.product_category,
            instruction_text=text + said,
            attributes=attributes,
            price_upper=upper,
            goal_options=options,
            weight=float(self._weights[unit]),
        )

    def draw(self, uniform: float, rules: Rules = "official") -> int:
        """Return the index of the goal that a weighted draw hits.

        Args:
            uniform: a number from 0.0 to 1.0, as `random.Random.random` gives it.
            rules: under "official" the draw is off by one, as in the original: goal 0 is never
                drawn, each other one with the weight of its predecessor, and the last also
                with its own; "fixed" gives every goal its own weight.

        Raises:
            BadArgument: there are no goals, or `uniform` is out of range.
        """
        if not len(self):
            raise BadArgument(f"Expected a catalog with {self.kind} goals, got one without.")
        if not 0.0 <= uniform <= 1.0:
            raise BadArgument(f"Expected `uniform` to be from 0.0 to 1.0, got {uniform!r}.")
        point = uniform * float(self._summed[-1])
        found = int(np.searchsorted(self._summed, point, side="right"))
        return min(found if rules == "official" else found - 1, len(self) - 1)

    def _unit(self, index: int) -> tuple[int, int]:
        if not 0 <= index < len(self._order):
            raise BadArgument(
                f"Expected the index of one of {len(self._order)} {self.kind} goals, got {index}."
            )
        place = self._order[index]
        unit = int(np.searchsorted(self._starts, place, side="right")) - 1
        return unit, int(place) - int(self._starts[unit])


def _goals_of(shelf: Shelf, kind: GoalKind) -> Goals:
    return shelf.goals(kind)


def _combination(product: Product, place: int) -> dict[str, str]:
    names = sorted(product.options)
    chosen: dict[str, str] = {}
    for name in reversed(names):
        values = product.options[name]
        place, at = divmod(place, len(values))
        chosen[name] = values[at]
    return {name: chosen[name] for name in names}
