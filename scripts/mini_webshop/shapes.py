"""The forms that the catalog's words are written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Item", "Kind", "Place", "Trait", "chosen_values", "split"]

#: where an attribute stands in an instruction: before the query, after "with", after "for"
Place = str


@dataclass(frozen=True)
class Trait:
    """One thing that can be true of a product; its key is the attribute (two words).

    Attributes:
        place: "is", "with" or "for".
        phrases: how titles say it.
        lines: how bullets say it, each "Heading: sentence."
    """

    place: Place
    phrases: tuple[str, ...]
    lines: tuple[str, ...]

    @classmethod
    def of(cls, place: Place, phrases: str, *lines: str) -> Trait:
        """Return a trait; `phrases` are divided by "|"."""
        return cls(place, split(phrases), lines)


@dataclass(frozen=True)
class Kind:
    """One leaf of the shop: what its products have in common and where they differ.

    Texts may hold {facts}, each drawn once a product, so that a title and its bullets agree.

    Attributes:
        query: the leaf's name.
        crumb: the breadcrumb below the category's root, parts divided by " > ".
        names: noun stacks for titles, divided by "|".
        count: how many products are drawn.
        price: lowest and highest price in dollars.
        one: attributes of which a product has exactly one (what it is made of), "|" between.
        traits: further attributes that may be true, "|" between.
        lines: bullets that are true of every product of the leaf.
        about: sentences for descriptions.
        box: what is in the parcel.
        options: option sets to draw from, each like "Color:cloth Size:dress"; "|" between.
        share: probability that a product offers options.
        facts: fact -> alternatives, "|" between.
    """

    query: str
    crumb: str
    names: str
    count: int
    price: tuple[float, float]
    one: str
    traits: str
    lines: tuple[str, ...]
    about: tuple[str, ...]
    box: str
    options: str = ""
    share: float = 0.25
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Item:
    """One product before it is written in the official format.

    Attributes:
        asin: ten characters that start with "M0".
        category: the coarse category.
        query: the leaf's name.
        crumb: breadcrumb parts from the root down.
        name: the title.
        bullets: short texts.
        description: the long text, or "".
        pricing: "$12.99", "$12.99 - $18.99" or "".
        options: option name -> values, or None where the shop knows the name alone.
        truths: all attributes that its texts state.
        attributes: those of them that the shop lists.
        wanted: those of them that its instruction asks for; empty where it has none.
    """

    asin: str
    category: str
    query: str
    crumb: tuple[str, ...]
    name: str
    bullets: list[str] | str
    description: str
    pricing: str
    options: dict[str, list[str] | None]
    truths: tuple[str, ...]
    attributes: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()


def chosen_values(item: Item) -> dict[str, str]:
    """Return the value of each option that the shop shows at first: the first one."""
    return {name: values[0] for name, values in item.options.items() if values}


def split(text: str) -> tuple[str, ...]:
    """Return the alternatives of a text divided by "|"."""
    return tuple(part.strip() for part in text.split("|") if part.strip())
