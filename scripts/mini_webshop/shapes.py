"""The forms that the catalog's words take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Item", "Leaf", "Trait", "Wish"]


@dataclass(frozen=True)
class Trait:
    """One thing that can be true of a product; its key is the attribute, two words.

    Attributes:
        place: where an instruction puts it: "is" (before the query), "with" or "for".
        phrases: how titles say it.
        lines: how bullets say it, each "Heading: sentence."
    """

    place: str
    phrases: list[str]
    lines: list[str]


@dataclass(frozen=True)
class Leaf:
    """One leaf of the shop: what its products have in common and where they differ.

    Texts may hold {facts}, each drawn once a product, so that a title and its bullets agree.

    Attributes:
        query: the leaf's name.
        crumb: the breadcrumb below the category's root, parts divided by " > ".
        names: noun stacks for titles.
        count: how many products are drawn.
        price: lowest and highest price in dollars.
        one: attributes of which a product has exactly one, mostly what it is made of.
        traits: further attributes that may be true.
        lines: bullets that are true of every product of the leaf.
        about: sentences for descriptions.
        box: what is in the parcel.
        options: option sets to draw from, each "Name:pool Name:pool".
        share: probability that a product offers options.
        facts: fact -> alternatives.
    """

    query: str
    crumb: str
    names: list[str]
    count: int
    price: tuple[float, float]
    one: list[str]
    traits: list[str]
    lines: list[str]
    about: list[str]
    box: str
    options: list[str] = field(default_factory=list)
    share: float = 0.0
    facts: Mapping[str, list[str]] = field(default_factory=dict)


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


@dataclass(frozen=True)
class Wish:
    """One instruction in a person's own words.

    Attributes:
        asin: the product that it is for.
        text: the instruction.
        attributes: what it asks for, of the product's attributes.
        options: what it asks for, each "name: value" as pages show it.
    """

    asin: str
    text: str
    attributes: list[str]
    options: list[str]
