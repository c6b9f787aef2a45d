"""What a catalog holds: products and goals, as the state machine and the reward read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agentenvs.errors import BadArgument

__all__ = ["NO_CAP", "Goal", "GoalKind", "Options", "Product"]

#: the price cap of a product so dear that the original gives none
NO_CAP = 1_000_000.0

#: made of every combination of a product's options, or written by people
GoalKind = Literal["synthetic", "human"]

#: option name -> the value chosen or wanted
Options = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Product:
    """One cleaned product.

    Attributes:
        asin: its id, at most ten characters.
        title: its name as it stands in the source.
        description: the long text, often empty.
        bullets: the short texts.
        prices: one price in dollars, or the two ends of a range; (100.0,) where none is given.
        price_tag: how pages show the price.
        options: option name -> values, both as the pages show them, in the source's order.
        attributes: mined attributes, ("DUMMY_ATTR",) where the source has no record.
        category: one of the five coarse categories.
        query: the leaf name under which it was found, lower-cased.
        product_category: the breadcrumb.
        image: address of the main picture; never fetched.
        nouns: nouns of the title, lower-cased, in order, repeats kept.
    """

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    prices: tuple[float, ...]
    price_tag: str
    options: Mapping[str, tuple[str, ...]]
    attributes: tuple[str, ...]
    category: str
    query: str
    product_category: str
    image: str
    nouns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Goal:
    """What a shopper is told to buy.

    Attributes:
        asin: the product that the goal was made from.
        category: its coarse category.
        query: its leaf name.
        name: its title.
        product_category: its breadcrumb.
        instruction_text: what the shopper is told, the price cap included.
        attributes: attributes wanted.
        price_upper: the highest price in dollars; `NO_CAP` where none is said.
        goal_options: values wanted: by option name in synthetic goals, a plain tuple of values
            in human ones.
        weight: the weight that the original draws goals by.
    """

    asin: str
    category: str
    query: str
    name: str
    product_category: str
    instruction_text: str
    attributes: tuple[str, ...]
    price_upper: float
    goal_options: Options | tuple[str, ...] = field(default_factory=dict)
    weight: float = 1.0

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Goal:
        """Return the goal of an official record.

        Args:
            record: a mapping with the keys that the attributes here are named by; `weight`
                may be left out, other keys are ignored.

        Raises:
            BadArgument: a key is missing, or a value is of the wrong kind.
        """
        if not isinstance(record, Mapping):
            raise BadArgument(f"Expected a goal to be a dict, got {type(record)}.")
        texts: dict[str, str] = {}
        for key in ("asin", "category", "query", "name", "product_category", "instruction_text"):
            value = record.get(key)
            if not isinstance(value, str):
                raise BadArgument(f"Expected goal[{key!r}] to be a str, got {value!r:.80}.")
            texts[key] = value
        options = record.get("goal_options")
        if isinstance(options, Mapping):
            chosen: Options | tuple[str, ...] = dict(options)
        elif isinstance(options, list | tuple):
            chosen = tuple(options)
        else:
            raise BadArgument(
                f"Expected goal['goal_options'] to be a dict or a list, got {options!r:.80}."
            )
        attributes = record.get("attributes")
        if not isinstance(attributes, list | tuple):
            raise BadArgument(f"Expected goal['attributes'] to be a list, got {attributes!r:.80}.")
        pairs = chosen.items() if isinstance(chosen, Mapping) else ((value,) for value in chosen)
        for text in (*attributes, *(part for pair in pairs for part in pair)):
            if not isinstance(text, str):
                raise BadArgument(
                    f"Expected attributes and options of a goal to be str, got {text!r:.80}."
                )
        return cls(
            **texts,
            attributes=tuple(attributes),
            price_upper=_number(record, "price_upper", None),
            goal_options=chosen,
            weight=_number(record, "weight", 1.0),
        )

    def as_record(self) -> dict[str, Any]:
        """Return the goal as a record with the official keys, of plain JSON values."""
        options = self.goal_options
        return {
            "asin": self.asin,
            "category": self.category,
            "query": self.query,
            "name": self.name,
            "product_category": self.product_category,
            "instruction_text": self.instruction_text,
            "attributes": list(self.attributes),
            "price_upper": self.price_upper,
            "goal_options": dict(options) if isinstance(options, Mapping) else list(options),
            "weight": self.weight,
        }


def _number(record: Mapping[str, Any], key: str, default: float | None) -> float:
    value = record.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise BadArgument(f"Expected goal[{key!r}] to be a number, got {value!r:.80}.")
    return float(value)
