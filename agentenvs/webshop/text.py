"""Pages as text: the original's observation modes "text" and "text_rich"."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from agentenvs.core import Shared
from agentenvs.webshop import urls
from agentenvs.webshop.pages import KEPT, Choice, OptionGroup, Shop, State, View

__all__ = ["RichText", "Text"]

_GAP = " [SEP] "
#: what the original's page writes otherwise than `json.dumps`
_IN_PAGES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"})
#: the record of a purchase shows nothing of the product but its asin
_UNTOLD = ("attrs", "None", "category", "None", "query", "None", "product category", "None")
_GOAL = (
    *("Target", "asin", "options", "attrs", "price upper", "instuction text"),
    *("category", "product category", "query"),
)


class Node(NamedTuple):
    """One text on a page, unstripped, and what it is."""

    text: str
    kind: Literal["text", "button", "link", "clicked link", "choice", "clicked choice"] = "text"


class Text(Shared):
    """The texts of a page, stripped and joined by " [SEP] ".

    Under "official" nothing shows which options are chosen; under "fixed" the name of an
    option says so: "color (chosen: red)".

    Args:
        shop: whose pages are shown.
    """

    __slots__ = ("_cards", "_items", "_shop")

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        memo = shop.catalog.memo
        self._items: dict[int, str] = memo(("item texts", shop.rules, shop.show_attrs), dict)
        self._cards: dict[int, str] = memo("card texts", dict)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the caches."""
        return Text, (self._shop,)

    def __call__(self, state: State) -> str:
        """Return the page that `state` stands on."""
        shop = self._shop
        if state.page == "results":
            body = f"Page {state.number} (Total results: {len(state.rows)})"
            if state.number > 1:
                body += " [SEP] < Prev"
            if shop.has_next(state):
                body += " [SEP] Next >"
            body = _GAP.join([body, *map(self._card, shop.shown(state))])
        elif state.page == "item":
            if state.options and shop.rules == "fixed":
                body = _joined(_item(shop.view(state), _chosen, say=True))
            else:
                body = self._item(state)
        else:
            return _joined(_nodes(shop.view(state)))
        told = state.instruction.strip()
        gap = _GAP if state.instruction else ""
        return f"Instruction: [SEP] {told}{gap}Back to Search [SEP] {body}"

    def _card(self, row: int) -> str:
        found = self._cards.get(row)
        if found is None:
            if len(self._cards) >= KEPT:
                self._cards.clear()
            found = self._cards[row] = _joined(map(Node, self._shop.catalog.card(row)))
        return found

    def _item(self, state: State) -> str:
        found = self._items.get(state.row)
        if found is None:
            if len(self._items) >= KEPT:
                self._items.clear()
            plain = self._shop.view(replace(state, options={}))
            found = self._items[state.row] = _joined(_item(plain, _chosen))
        return found


class RichText(Shared):
    """One text a line, unstripped, with buttons and what was clicked marked.

    Under "official" a value counts as clicked where it stands between double quotes in the
    url, which values with quotes or beyond ASCII never do; under "fixed" where it is chosen.

    Args:
        shop: whose pages are shown.
    """

    __slots__ = ("_shop",)

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    def __call__(self, state: State) -> str:
        """Return the page that `state` stands on."""
        clicked = _chosen
        if self._shop.rules == "official" and state.page == "item":
            address = urls.url(state)

            def clicked(choice: Choice) -> bool:
                return f'"{choice.value}"' in address

        lines, said = [], []
        for text, kind in _nodes(self._shop.view(state), clicked):
            if not text:
                continue
            if kind == "text":
                lines.append(text)
            elif kind == "button":
                lines.append(f"[button] {text} [button_]")
            elif kind == "link":
                lines.append(f"\n[button] {text} [button_]")
            elif kind == "clicked link":
                lines.append(f"\n[clicked button] {text} [clicked button_]")
            elif kind == "choice":
                lines.append(f"  [button] {text} [button_]")
            else:
                lines.append(f"  [clicked button] {text} [clicked button_]")
                said.append(f"You have clicked {text}.")
        return "\n".join([*reversed(said), *lines, ""])


def _joined(nodes: Iterator[Node]) -> str:
    return _GAP.join([node.text.strip() for node in nodes if node.text])


def _chosen(choice: Choice) -> bool:
    return choice.chosen


def _nodes(view: View, clicked: Callable[[Choice], bool] = _chosen) -> Iterator[Node]:
    """Return the texts of a page in order; empty ones show nowhere."""
    if view.page == "done":
        yield from _receipt(view)
        return
    if view.page == "search":
        yield Node("WebShop")
        yield Node("Instruction: ")
        yield Node(view.instruction)
        yield Node("Search", "button")
        return
    yield Node("Instruction:")
    yield Node(view.instruction)
    yield Node("Back to Search", "button")
    if view.page == "results":
        yield from _results(view)
    elif view.page == "item":
        yield from _item(view, clicked)
    else:
        yield Node("< Prev", "button")
        # A space stands before each of several texts, so that an empty one still shows.
        lead = "" if view.sub == "Description" else " "
        yield from [Node(lead + line) for line in view.lines]
        yield from map(Node, view.facts)


def _results(view: View) -> Iterator[Node]:
    yield Node(f"Page {view.number} (Total results: {view.total})")
    if view.has_prev:
        yield Node("< Prev", "button")
    if view.has_next:
        yield Node("Next >", "button")
    for card in view.cards:
        yield Node(card.asin, "clicked link" if card.visited else "link")
        yield Node(card.title)
        yield Node(card.price_tag)


def _item(view: View, clicked: Callable[[Choice], bool], say: bool = False) -> Iterator[Node]:
    yield Node("< Prev", "button")
    for group in view.groups:
        yield Node(group.name + _mark(group) if say else group.name)
        for choice in group.choices:
            yield Node(choice.label, "clicked choice" if clicked(choice) else "choice")
    if view.product is not None:
        yield Node(view.product.title)
        yield Node(f"Price: {view.product.price_tag}")
    yield Node("Rating: N.A.")
    for name in ("Description", "Features", "Reviews", "Attributes"):
        if view.show_attrs or name != "Attributes":
            yield Node(name, "button")
    yield Node("Buy Now", "button")


def _mark(group: OptionGroup) -> str:
    chosen = next((choice.label for choice in group.choices if choice.chosen), None)
    return "" if chosen is None else f" (chosen: {chosen})"


def _receipt(view: View) -> Iterator[Node]:
    options = json.dumps(dict(view.options), sort_keys=True).translate(_IN_PAGES)
    asin = view.product.asin if view.product else ""
    total = view.score.total if view.score else 0.0
    thanks = ("Thank you for shopping with us!", "Your code: ", "None")
    yield from map(Node, (*thanks, " (Paste it in your MTurk interface.)", "Purchased", "asin"))
    yield from map(Node, (asin, "options", options, *_UNTOLD, *_GOAL, "Goal ", "None", "Reward"))
    score = ("Your score (min 0.0, max 1.0)", repr(total), "Reward Details ", "None")
    yield from map(Node, score)
