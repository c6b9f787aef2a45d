from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.env import WebShopEnv
from agentenvs.webshop.html import Renderer, links, render
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.text import Text
from agentenvs.webshop.views import State


class Page(HTMLParser):
    """Reads the texts and the elements of a page, as a client of the original does."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.nodes: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._hidden = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("style", "script", "title"):
            self._hidden = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden and (data.strip() or "\n" not in data):
            self.nodes.append(data)

    def having(self, name: str, value: str) -> list[dict[str, str | None]]:
        return [attrs for _, attrs in self.elements if value in (attrs.get(name) or "").split()]


@pytest.fixture(scope="module")
def styled() -> Renderer:
    return Renderer(styled=True)


def walk(catalog: Catalog, **kwargs: Any) -> list[tuple[Shop, State]]:
    """Return one state of every kind of page."""
    shop, rng = Shop(catalog, **kwargs), np.random.default_rng(0)
    goal = catalog.goals("synthetic").goal(0)
    state = shop.start("buy <this> & 'that'", "s")
    states = [state.copy()]
    shop.search(state, "mug", rng)
    states.append(state.copy())
    for label in ("next >", "c000000010", "features", "< prev", "back to search"):
        assert shop.click(state, label, goal, rng) == ""
        states.append(state.copy())
    shop.search(state, "shirt tie", rng)
    red = "red" if shop.rules == "official" else "size: red"
    steps = ["b000000001", red, 'say "hi"', "description", "< prev", "reviews", "< prev"]
    for label in [*steps, *(["attributes", "< prev"] if shop.show_attrs else []), "buy now"]:
        assert shop.click(state, label, goal, rng) == ""
        states.append(state.copy())
    shop.search(state, "nothing", rng)
    return [(shop, seen) for seen in [*states, state]]


@pytest.mark.parametrize("show_attrs", [False, True])
def test_the_texts_of_every_page_are_the_observation(
    odd_shop: Catalog, styled: Renderer, show_attrs: bool
) -> None:
    for shop, state in walk(odd_shop, show_attrs=show_attrs):
        view = shop.view(state)
        text = Text(shop)(state)
        for source in (render(view, "s"), styled.page(view, links(view, "s"))):
            assert " [SEP] ".join(node.strip() for node in Page(source).nodes) == text


def test_ids_and_classes_of_the_original(odd_shop: Catalog) -> None:
    for shop, state in walk(odd_shop):
        page = Page(render(shop.view(state), "s"))
        if state.page == "search":
            (field,) = page.having("id", "search_input")
            assert field["name"] == "search_query"
        if state.page == "results":
            assert len(page.having("class", "product-link")) == len(shop.shown(state))
        if state.page == "item":
            radios = page.having("type", "radio")
            product = odd_shop.product(state.row)
            pairs = [(name, value) for name in product.options for value in product.options[name]]
            assert [(radio["name"], radio["value"]) for radio in radios] == pairs
            assert all(str(radio["data-url"]).startswith("/item_page/s/") for radio in radios)
            chosen = {radio["name"]: radio["value"] for radio in radios if "checked" in radio}
            assert chosen == dict(state.options)
        if state.page == "done":
            assert page.having("id", "reward")
        else:
            assert page.having("id", "instruction-text")
            assert page.having("class", "btn")


def test_buttons_are_what_can_be_clicked(odd_shop: Catalog) -> None:
    for shop, state in walk(odd_shop, rules="fixed", show_attrs=True):
        source = render(shop.view(state), "s")
        found = [
            node.lower()
            for node in Page(source).nodes
            if f">{node.replace('<', '&lt;').replace('>', '&gt;')}</button>" in source
        ]
        offered = shop.clickables(state)
        assert set(found) <= set(offered)
        assert set(offered) - set(found) <= {
            choice.label for group in shop.view(state).groups for choice in group.choices
        } | {card.asin.lower() for card in shop.view(state).cards}


def test_bare_pages_have_no_style_no_script_and_no_picture(odd_shop: Catalog) -> None:
    for shop, state in walk(odd_shop):
        source = render(shop.view(state), "s")
        assert not {"style", "script", "svg", "link", "img"} & {
            tag for tag, _ in Page(source).elements
        }
        assert "False" not in source
        assert "None" not in source or state.page == "done"


def test_styled_pages_draw_every_product(odd_shop: Catalog, styled: Renderer) -> None:
    drawn = '<svg class="pic"></svg>'
    for shop, state in walk(odd_shop):
        view = shop.view(state)
        count = len(view.cards) if view.page == "results" else view.product is not None
        source = styled.page(view, links(view, "s"), [drawn] * count)
        assert source.count(drawn) == count
        assert "False" not in source


def test_texts_are_escaped(odd_shop: Catalog) -> None:
    for shop, state in walk(odd_shop):
        source = render(shop.view(state), "s")
        assert "buy &lt;this&gt; &amp; &#39;that&#39;" in source or state.page == "done"
        assert "<Shirt>" not in source
        assert "<b>" not in source


def test_every_link_leads_to_a_page(odd_shop: Catalog) -> None:
    from agentenvs.webshop.paths import read

    for shop, state in walk(odd_shop, show_attrs=True):
        for tag, attrs in Page(render(shop.view(state), "s")).elements:
            for name in ("href", "action", "data-url"):
                if name in attrs:
                    assert read(str(attrs[name])) is not None, (tag, attrs)


def test_the_environment_shows_pages_as_html(odd_shop: Catalog) -> None:
    env = WebShopEnv(catalog=odd_shop, observation="html")
    page, _ = env.reset(options={"task": "odd/human/0"})
    assert page.startswith("<!DOCTYPE html>")
    assert 'id="search_input"' in page
    page, *_ = env.step("search[mug]")
    assert "Total results: 23" in page
