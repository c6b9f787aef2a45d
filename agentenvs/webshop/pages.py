"""The shop as a state machine: pages, what can be done on each, and where it leads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from agentenvs.core import Rules, Shared
from agentenvs.errors import BadArgument
from agentenvs.webshop import engine, layout, urls
from agentenvs.webshop.layout import BACK, BUY, NEXT, PREV, SEARCH, SUB_PAGES, Layout
from agentenvs.webshop.records import Goal, Product
from agentenvs.webshop.reward import score as reward_of
from agentenvs.webshop.views import Card, Choice, OptionGroup, State, View

if TYPE_CHECKING:
    import numpy as np

    from agentenvs.webshop.catalog import Catalog
    from agentenvs.webshop.kept import Kept

__all__ = ["PAGE_SIZE", "Shop"]

PAGE_SIZE = 10


class Shop(Shared):
    """A catalog behind counters: every way from one page to the next.

    A shop is read-only apart from caches of bounded size, and serves any number of shoppers,
    each with a `State` of their own.

    Args:
        catalog: what is sold.
        rules: "official", or "fixed": search needs a search bar, "Next >" needs further
            results, a page is known by its state and not by words in its url, and every option
            value has a label of its own.
        show_attrs: whether products offer the sub-page "Attributes".
        prices: asin -> price in dollars, in place of the seeded draw of products with a price
            range; other products keep their price, unknown asins mean nothing.

    Raises:
        BadArgument: a price is no number of dollars.
    """

    __slots__ = ("_labels", "_layouts", "catalog", "prices", "rules", "show_attrs")

    def __init__(
        self,
        catalog: Catalog,
        *,
        rules: Rules = "official",
        show_attrs: bool = False,
        prices: Mapping[str, float] | None = None,
    ) -> None:
        self.catalog = catalog
        self.rules: Rules = rules
        self.show_attrs = show_attrs
        self.prices = _price_table(prices)
        self._layouts: Kept[int, Layout] = catalog.kept(("layouts", rules, show_attrs))
        self._labels: Kept[int, str] = catalog.kept("labels")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the caches."""
        return _shop, (self.catalog, self.rules, self.show_attrs, self.prices)

    def start(self, instruction: str = "", session: str = "") -> State:
        """Return the search page of a new shopper."""
        return State(instruction=instruction, session=session)

    def search(self, state: State, query: str, rng: np.random.Generator) -> str:
        """Search, from a page that allows it.

        Returns:
            "", or why nothing was searched; `state` stays as it was then.
        """
        if self.rules == "fixed" and state.page != "search":
            return "there is no search bar on this page; click 'back to search' first"
        keywords = tuple(query.lower().split(" "))
        rows = engine.hits(self.catalog, keywords, self.rules, rng)
        if rows is None:
            return f"the search mode {keywords[0]!r} fails here"
        state.keywords, state.rows = keywords, rows
        self._show_results(state, 1)
        return ""

    def click(self, state: State, element: str, goal: Goal, rng: np.random.Generator) -> str:
        """Click what a page offers, by its label in any case; "buy now" is scored by `goal`.

        Returns:
            "", or why nothing happened; `state` stays as it was then.
        """
        label = element.lower()
        page = state.page
        if page == "item":
            return self._click_item(state, label, goal, rng)
        if page == "results":
            return self._click_results(state, label, rng)
        if page == "sub":
            if label == BACK:
                self._show_search(state)
                return ""
            if label == PREV:
                self._back_from_product(state, rng)
                return ""
            return _absent(element)
        if page == "search" and label == SEARCH:
            return "the search button is not clicked; search with a query"
        return "the shopping is over" if page == "done" else _absent(element)

    def _click_results(self, state: State, label: str, rng: np.random.Generator) -> str:
        if label == BACK:
            self._show_search(state)
        elif label == NEXT and self.has_next(state):
            self._turn_to(state, state.number + 1, rng)
        elif label == PREV and state.number > 1:
            self._turn_to(state, state.number - 1, rng)
        else:
            labels = self._labels_of(self.shown(state))
            if label not in labels:
                return _absent(label)
            row = self.shown(state)[labels.index(label)]
            state.page, state.row, state.asin = "item", row, self.catalog.asin(row)
            state.visited = state.visited | {state.asin}
        return ""

    def _click_item(self, state: State, label: str, goal: Goal, rng: np.random.Generator) -> str:
        found = self.layout(state.row)
        target = found.targets.get(label)
        if target is not None:
            name, value = target
            state.options = {**state.options, name: value}
        elif label not in found.clickables:
            return _absent(label)
        elif label == BACK:
            self._show_search(state)
        elif label == PREV:
            self._back_from_product(state, rng)
        elif label in SUB_PAGES:
            state.page, state.sub = "sub", SUB_PAGES[label]
        elif label == BUY:
            self._buy(state, found.product, goal)
        else:
            return f"{label!r} is called like a button of another page and cannot be chosen"
        return ""

    def _buy(self, state: State, product: Product, goal: Goal) -> None:
        catalog = self.catalog
        row = catalog.row(goal.asin)
        own = catalog.product(row) if row >= 0 else None
        nouns = own.nouns if own and own.title == goal.name else catalog.nouns_of(goal.name)
        state.price = catalog.price(state.row, self.prices)
        state.score = reward_of(product, goal, state.options, state.price, nouns, self.rules)
        state.page = "done"

    def _back_from_product(self, state: State, rng: np.random.Generator) -> None:
        """Follow "< Prev" on a product's page or below it.

        The original tells the page by the first of its names that occurs anywhere in the url,
        where the query or the session may have it too.
        """
        page: str = state.page
        if self.rules == "official":
            page = urls.page_named_in(urls.url(state))
        if page == "sub":
            state.page, state.sub = "item", ""
        else:
            self._turn_to(state, state.number - (page == "results"), rng)

    def _turn_to(self, state: State, number: int, rng: np.random.Generator) -> None:
        """Show a page of results; the original searches anew, which shows where it draws."""
        if self.rules == "official" and state.keywords[:1] == ("<r>",):
            rows = engine.hits(self.catalog, state.keywords, self.rules, rng)
            state.rows = state.rows if rows is None else rows
        self._show_results(state, number)

    @staticmethod
    def _show_results(state: State, number: int) -> None:
        state.page, state.number = "results", number
        state.asin, state.row, state.sub, state.options = "", -1, "", {}

    @staticmethod
    def _show_search(state: State) -> None:
        state.page, state.number, state.keywords, state.rows = "search", 0, (), ()
        state.asin, state.row, state.sub, state.options = "", -1, "", {}
        state.visited = frozenset()

    def has_next(self, state: State) -> bool:
        """Return whether results offer "Next >"; the original's always do."""
        return self.rules == "official" or state.number * PAGE_SIZE < len(state.rows)

    @staticmethod
    def shown(state: State) -> tuple[int, ...]:
        """Return the rows on a page of results; the pages before the first count from the end."""
        return tuple(state.rows[(state.number - 1) * PAGE_SIZE : state.number * PAGE_SIZE])

    def _labels_of(self, shown: tuple[int, ...]) -> list[str]:
        """Return the labels of products on a page of results, their lower-cased asins."""
        labels = self._labels
        try:
            return [labels[row] for row in shown]
        except KeyError:
            asin = self.catalog.asin
            return [labels.get(row) or labels.keep(row, asin(row).lower()) for row in shown]

    def layout(self, row: int) -> Layout:
        """Return the page of a product as far as it does not depend on what was chosen."""
        found = self._layouts.get(row)
        if found is None:
            made = layout.layout(self.catalog.product(row), self.rules, self.show_attrs)
            found = self._layouts.keep(row, made)
        return found

    def clickables(self, state: State) -> list[str]:
        """Return the labels that a page offers, in order, lower-cased, each once."""
        page = state.page
        if page == "item":
            return list(self.layout(state.row).clickables)
        if page == "results":
            labels = [BACK]
            if state.number > 1:
                labels.append(PREV)
            if self.has_next(state):
                labels.append(NEXT)
            labels += self._labels_of(self.shown(state))
            return labels
        if page == "sub":
            return [BACK, PREV]
        return [SEARCH] if page == "search" else []

    def available(self, state: State) -> dict[str, Any]:
        """Return what can be done: whether there is a search bar, and what can be clicked."""
        return {
            "has_search_bar": state.page == "search",
            "clickables": self.clickables(state),
        }

    def view(self, state: State) -> View:
        """Return what the page shows."""
        view = partial(
            View,
            state.page,
            state.instruction,
            state.session,
            state.keywords,
            state.number,
            len(state.rows),
            options=state.options,
            show_attrs=self.show_attrs,
        )
        if state.page == "search":
            return view()
        if state.page == "results":
            cards = []
            for row in self.shown(state):
                asin, title, tag = self.catalog.card(row)
                cards.append(Card(asin, title, tag, asin in state.visited))
            return view(
                cards=tuple(cards), has_prev=state.number > 1, has_next=self.has_next(state)
            )
        found = self.layout(state.row)
        product = found.product
        if state.page == "sub":
            lines, facts = _texts(product, state.sub)
            return view(product=product, sub=state.sub, lines=lines, facts=facts)
        if state.page == "done":
            return view(product=product, score=state.score, price=state.price)
        groups = tuple(
            OptionGroup(
                name,
                tuple(
                    Choice(value, found.labels[name, value], state.options.get(name) == value)
                    for value in values
                ),
            )
            for name, values in product.options.items()
        )
        return view(product=product, groups=groups)


def _shop(catalog: Catalog, rules: Rules, show_attrs: bool, prices: Mapping[str, float]) -> Shop:
    return Shop(catalog, rules=rules, show_attrs=show_attrs, prices=prices)


def _price_table(prices: Mapping[str, float] | None) -> dict[str, float]:
    if prices is None:
        return {}
    if not isinstance(prices, Mapping):
        raise BadArgument(f"Expected `prices` to be a dict or None, got {type(prices)}.")
    table: dict[str, float] = {}
    for asin, price in prices.items():
        if not isinstance(asin, str):
            raise BadArgument(f"Expected the keys of `prices` to be asins, got {asin!r:.80}.")
        number = isinstance(price, int | float) and not isinstance(price, bool)
        if not number or not 0.0 <= price < math.inf:
            raise BadArgument(
                f"Expected prices[{asin!r:.80}] to be a number of dollars, 0 or more, got "
                f"{price!r:.80}."
            )
        table[asin] = float(price)
    return table


def _texts(product: Product, sub: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if sub == "Description":
        return (product.description,), ()
    if sub == "Features":
        return product.bullets, ()
    if sub == "Attributes":
        facts = (product.category, product.query, product.product_category)
        return product.attributes, facts
    return (), ()


def _absent(element: str) -> str:
    return f"there is nothing called {element[:80]!r} to click on this page"
