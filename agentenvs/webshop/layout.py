"""What can be clicked on a product's page, and which option value a label stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agentenvs.core import Rules
from agentenvs.webshop.records import Product

__all__ = [
    "ATTRIBUTES",
    "BACK",
    "BUTTONS",
    "BUY",
    "NEXT",
    "PREV",
    "SEARCH",
    "SUB_PAGES",
    "Layout",
    "layout",
]

SEARCH = "search"
BACK = "back to search"
NEXT = "next >"
PREV = "< prev"
BUY = "buy now"
ATTRIBUTES = "attributes"
#: button of a product's page -> name of the page behind it, as urls show it
SUB_PAGES: Mapping[str, str] = {
    "description": "Description",
    "features": "Features",
    "reviews": "Reviews",
    ATTRIBUTES: "Attributes",
}
BUTTONS = frozenset({SEARCH, BACK, NEXT, PREV, BUY, *SUB_PAGES})


@dataclass(frozen=True, slots=True)
class Layout:
    """A product's page as far as it does not depend on what was chosen.

    Attributes:
        product: what is shown.
        clickables: labels in the order that the page offers them, each once.
        targets: label of an option value -> (option name, value).
        labels: (option name, value) -> the label that it is shown under.
    """

    product: Product
    clickables: tuple[str, ...]
    targets: Mapping[str, tuple[str, str]]
    labels: Mapping[tuple[str, str], str]


def layout(product: Product, rules: Rules, show_attrs: bool) -> Layout:
    """Lay out a product's page.

    Under "official" a value is its own label: one that two options share reaches the last of
    them, and one that is called like a button is out of reach. Under "fixed" such values are
    labelled "name: value", and so are empty ones and those with line breaks, so that each can
    be chosen.
    """
    subs = [name for name in SUB_PAGES if show_attrs or name != ATTRIBUTES]
    buttons = [BACK, PREV, *subs, BUY]
    pairs = [(name, value) for name, values in product.options.items() for value in values]
    if rules == "official":
        labels = {pair: pair[1] for pair in pairs}
        targets = {value: (name, value) for name, value in pairs if value not in BUTTONS}
    else:
        labels = dict(_distinct(pairs))
        targets = {label: pair for pair, label in labels.items()}
    return Layout(
        product,
        tuple(dict.fromkeys([*buttons, *(labels[pair] for pair in pairs)])),
        targets,
        labels,
    )


def _distinct(pairs: list[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], str]]:
    """Give every pair of option name and value a label of its own."""
    names: dict[str, set[str]] = {}
    for name, value in pairs:
        names.setdefault(value, set()).add(name)
    clear = {
        value
        for value, found in names.items()
        if value and len(found) == 1 and value not in BUTTONS and "\n" not in value
    }
    taken = {*clear, *BUTTONS}
    for name, value in dict.fromkeys(pairs):
        label = value
        if value not in clear:
            label = long = " ".join(f"{name}: {value}".split())
            number = 1
            while label in taken:
                number += 1
                label = f"{long} ({number})"
            taken.add(label)
        yield (name, value), label
