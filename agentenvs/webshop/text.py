"""Pages as text: the original's observation modes "text" and "text_rich"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from agentenvs.core import Shared
from agentenvs.webshop import urls
from agentenvs.webshop.kept import Kept
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.views import Choice, OptionGroup, State, View

__all__ = ["RichText", "Text"]

_GAP = " [SEP] "
#: what the original's page writes otherwise than `json.dumps`
_IN_PAGES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"})
_THANKS = (
    *("Thank you for shopping with us!", "Your code: ", "None"),
    *(" (Paste it in your MTurk interface.)", "Purchased", "asin"),
)
#: the record of a purchase shows nothing of the product but its asin
_UNTOLD = ("attrs", "None", "category", "None", "query", "None", "product category", "None")
_GOAL = (
    *("Target", "asin", "options", "attrs", "price upper", "instuction text"),
    *("category", "product category", "query", "Goal ", "None"),
)
_SCORE = ("Reward", "Your score (min 0.0, max 1.0)")
_END = ("Reward Details ", "None")


class Node(NamedTuple):
    """One text on a page, unstripped, and what it is."""

    text: str
    kind: Literal["text", "button", "link", "clicked link", "choice"] = "text"


class Text(Shared):
    """The texts of a page, stripped and joined by " [SEP] ".

    Under "official" nothing shows which options are chosen; under "fixed" the name of an
    option says so: "color (chosen: red)".

    Args:
        shop: whose pages are shown.
    """

    __slots__ = ("_bodies", "_cards", "_shop")

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        kept = shop.catalog.kept
        #: row -> the texts of a product on a page of results
        self._cards: Kept[int, str] = kept("card texts")
        #: (row, sub-page or "") -> the texts below the header, nothing chosen
        self._bodies: Kept[tuple[int, str], str] = kept(("texts", shop.rules, shop.show_attrs))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the caches."""
        return Text, (self._shop,)

    def __call__(self, state: State) -> str:
        """Return the page that `state` stands on."""
        shop, page = self._shop, state.page
        if page == "results":
            body = f"Page {state.number} (Total results: {len(state.rows)})"
            if state.number > 1:
                body += " [SEP] < Prev"
            if shop.has_next(state):
                body += " [SEP] Next >"
            cards = self._cards
            body += "".join([cards.get(row) or self._card(row) for row in shop.shown(state)])
        elif page == "item" and state.options and shop.rules == "fixed":
            body = _joined(_item(shop.view(state), say=True))
        elif page in ("item", "sub"):
            body = self._body(state)
        elif page == "done":
            return _GAP.join([text.strip() for text in _receipt(shop.view(state))])
        told = state.instruction.strip()
        gap = _GAP if state.instruction else ""
        if page == "search":
            return f"WebShop [SEP] Instruction: [SEP] {told}{gap}Search"
        return f"Instruction: [SEP] {told}{gap}Back to Search [SEP] {body}"

    def _card(self, row: int) -> str:
        texts = self._shop.catalog.card(row)
        return self._cards.keep(row, "".join([_GAP + text.strip() for text in texts if text]))

    def _body(self, state: State) -> str:
        key = (state.row, state.sub)
        found = self._bodies.get(key)
        if found is None:
            view = self._shop.view(replace(state, options={}))
            nodes = _sub(view) if state.sub else _item(view)
            found = self._bodies.keep(key, _joined(nodes))
        return found


class RichText(Shared):
    """One text a line, unstripped, with buttons and what was clicked marked.

    Under "official" a value counts as clicked where it stands between double quotes in the
    url, which values with quotes or beyond ASCII never do; under "fixed" where it is chosen.

    Args:
        shop: whose pages are shown.
    """

    __slots__ = ("_items", "_shop")

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        #: row -> the lines below the header, nothing chosen, and which of them are choices
        self._items: Kept[int, tuple[list[str], list[tuple[int, Choice, str]]]]
        self._items = shop.catalog.kept(("lines", shop.rules, shop.show_attrs))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the caches."""
        return RichText, (self._shop,)

    def __call__(self, state: State) -> str:
        """Return the page that `state` stands on."""
        if state.page != "item":
            return "\n".join([*map(_line, _nodes(self._shop.view(state))), ""])
        lines, choices = self._items.get(state.row) or self._item(state)
        lines, said = lines.copy(), []
        official = self._shop.rules == "official"
        address = urls.url(state) if official else ""
        if state.options or '"' in address:
            for at, choice, name in choices:
                if (
                    f'"{choice.value}"' in address
                    if official
                    else state.options.get(name) == choice.value
                ):
                    lines[at] = f"  [clicked button] {choice.label} [clicked button_]"
                    said.append(f"You have clicked {choice.label}.")
        told = [state.instruction] if state.instruction else []
        head = ["Instruction:", *told, "[button] Back to Search [button_]"]
        return "\n".join([*reversed(said), *head, *lines, ""])

    def _item(self, state: State) -> tuple[list[str], list[tuple[int, Choice, str]]]:
        view = self._shop.view(replace(state, options={}))
        nodes = [node for node in _item(view) if node.text]
        places = [at for at, node in enumerate(nodes) if node.kind == "choice"]
        choices = [
            (choice, group.name)
            for group in view.groups
            for choice in group.choices
            if choice.label
        ]
        found = [(at, *choice) for at, choice in zip(places, choices, strict=True)]
        return self._items.keep(state.row, ([_line(node) for node in nodes], found))


def _line(node: Node) -> str:
    text, kind = node
    if kind == "text":
        return text
    if kind == "button":
        return f"[button] {text} [button_]"
    if kind == "choice":
        return f"  [button] {text} [button_]"
    if kind == "link":
        return f"\n[button] {text} [button_]"
    return f"\n[clicked button] {text} [clicked button_]"


def _joined(nodes: Iterator[Node]) -> str:
    return _GAP.join([node.text.strip() for node in nodes if node.text])


def _nodes(view: View) -> Iterator[Node]:
    """Return the texts of any page but a product's, in order, without empty ones."""
    return (node for node in _all_nodes(view) if node.text)


def _all_nodes(view: View) -> Iterator[Node]:
    if view.page == "done":
        yield from map(Node, _receipt(view))
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
    else:
        yield from _sub(view)


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


def _sub(view: View) -> Iterator[Node]:
    yield Node("< Prev", "button")
    # A space stands before each of several texts, so that an empty one still shows.
    lead = "" if view.sub == "Description" else " "
    yield from [Node(lead + line) for line in view.lines]
    yield from map(Node, view.facts)


def _item(view: View, say: bool = False) -> Iterator[Node]:
    yield Node("< Prev", "button")
    for group in view.groups:
        yield Node(group.name + _mark(group) if say else group.name)
        for choice in group.choices:
            yield Node(choice.label, "choice")
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


def _receipt(view: View) -> list[str]:
    options = json.dumps(dict(view.options), sort_keys=True).translate(_IN_PAGES)
    asin = view.product.asin if view.product else ""
    total = view.score.total if view.score else 0.0
    return [*_THANKS, asin, "options", options, *_UNTOLD, *_GOAL, *_SCORE, repr(total), *_END]
