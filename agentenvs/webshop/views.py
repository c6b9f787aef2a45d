"""Where a shopper stands, and what the page there shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agentenvs.webshop.records import Product
from agentenvs.webshop.reward import Score

__all__ = ["Card", "Choice", "OptionGroup", "Page", "State", "View"]

Page = Literal["search", "results", "item", "sub", "done"]


@dataclass(slots=True)
class State:
    """Where one shopper stands. What it holds is replaced, never changed, so copies are cheap.

    Attributes:
        page: the kind of page shown.
        instruction: what the shopper was told.
        session: the name that urls show.
        keywords: the query, split at spaces; () before the first search.
        rows: what it found, as rows of the catalog, best first.
        number: which page of results was shown last, from 1.
        asin: the product shown or bought, "" elsewhere.
        row: its row in the catalog, -1 elsewhere.
        sub: the sub-page shown, "Description" say, "" elsewhere.
        options: option name -> value chosen.
        visited: products opened since the last search page.
        score: what the purchase was worth, once there is one.
        price: what was paid, in dollars.
    """

    page: Page = "search"
    instruction: str = ""
    session: str = ""
    keywords: tuple[str, ...] = ()
    rows: Sequence[int] = ()
    number: int = 0
    asin: str = ""
    row: int = -1
    sub: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    visited: frozenset[str] = frozenset()
    score: Score | None = None
    price: float = 0.0

    def copy(self) -> State:
        """Return a copy that goes its own way."""
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return replace(self)


@dataclass(frozen=True, slots=True)
class Card:
    """One product on a page of results; `visited`: opened since the last search page."""

    asin: str
    title: str
    price_tag: str
    visited: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of an option, the label that chooses it, and whether it is chosen."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """One option of a product."""

    name: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What a page shows, for renderers.

    Attributes:
        page: the kind of page.
        instruction: what the shopper was told.
        session: the name that urls show.
        keywords: the query, split at spaces.
        number: which page of results this is, or was before the product was opened.
        total: how many products the query found.
        cards: the products on this page of results.
        has_prev: whether results offer "< Prev".
        has_next: whether results offer "Next >".
        product: the product shown or bought.
        groups: its options.
        options: option name -> value chosen.
        sub: the sub-page, "Description", "Features", "Reviews" or "Attributes".
        lines: the texts of a sub-page.
        facts: category, query and breadcrumb, on the sub-page "Attributes".
        show_attrs: whether products offer "Attributes".
        score: what the purchase was worth.
        price: what was paid, in dollars.
    """

    page: Page
    instruction: str
    session: str
    keywords: tuple[str, ...] = ()
    number: int = 0
    total: int = 0
    cards: tuple[Card, ...] = ()
    has_prev: bool = False
    has_next: bool = False
    product: Product | None = None
    groups: tuple[OptionGroup, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    sub: str = ""
    lines: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    show_attrs: bool = False
    score: Score | None = None
    price: float = 0.0
