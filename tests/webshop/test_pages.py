from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from agentenvs.core import Rules
from agentenvs.webshop import engine
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.views import State

RULES = ("official", "fixed")


class Shopper:
    """One shopper in a shop, for short tests."""

    def __init__(self, catalog: Catalog, rules: Any = "official", **kwargs: Any) -> None:
        self.shop = Shop(catalog, rules=rules, **kwargs)
        self.goal = catalog.goals("synthetic").goal(0)
        self.rng = np.random.default_rng(0)
        self.state = self.shop.start("buy it", "s")

    def search(self, query: str) -> str:
        return self.shop.search(self.state, query, self.rng)

    def click(self, *labels: str) -> list[str]:
        return [self.shop.click(self.state, label, self.goal, self.rng) for label in labels]

    @property
    def offered(self) -> list[str]:
        return self.shop.clickables(self.state)


@pytest.mark.parametrize("rules", RULES)
def test_each_page_offers_its_clickables_in_order(odd_shop: Catalog, rules: Rules) -> None:
    me = Shopper(odd_shop, rules)
    assert me.shop.available(me.state) == {"has_search_bar": True, "clickables": ["search"]}
    assert me.search("MUGS") == ""
    mugs = [f"c{at:09}" for at in range(23)]
    assert me.offered == ["back to search", "next >", *mugs[:10]]
    assert me.click("Next >") == [""]
    assert me.offered == ["back to search", "< prev", "next >", *mugs[10:20]]
    assert me.click("C000000012") == [""]
    subs = ["description", "features", "reviews"]
    assert me.offered == ["back to search", "< prev", *subs, "buy now"]
    assert me.click("Reviews") == [""]
    assert me.offered == ["back to search", "< prev"]
    assert me.click("< prev", "buy now") == ["", ""]
    assert me.shop.available(me.state) == {"has_search_bar": False, "clickables": []}
    assert me.click("back to search") == ["the shopping is over"]


def test_attributes_are_offered_when_asked_for(odd_shop: Catalog) -> None:
    me = Shopper(odd_shop, show_attrs=True)
    me.search("mugs")
    me.click("c000000000")
    assert me.offered[2:7] == ["description", "features", "reviews", "attributes", "buy now"]
    assert me.click("attributes") == [""]
    view = me.shop.view(me.state)
    assert view.lines == ("easy clean",)
    assert view.facts == ("garden", "mugs", "Home \u203a Kitchen \u203a Mugs")


@pytest.mark.parametrize("rules", RULES)
def test_what_is_not_offered_changes_nothing(odd_shop: Catalog, rules: Rules) -> None:
    me = Shopper(odd_shop, rules)
    wrong = ["nothing", "", "buy now", "c000000020", "description", "attributes", "B000000001"]
    for step in ([], ["c000000001"], ["features"]):
        me.click(*step)
        before = copy.deepcopy(me.state)
        for label in wrong:
            if label not in me.offered:
                assert me.click(label)[0]
                assert me.state == before
        if not step:
            assert me.click("search", "< prev")[0]
            me.search("mugs")


def test_options_are_kept_below_a_product_and_lost_above_it(odd_shop: Catalog) -> None:
    me = Shopper(odd_shop)
    me.search("shirt")
    me.click("b000000001", "bl\u00e5", "red", 'say "hi"', "red")
    assert me.state.options == {"color": 'say "hi"', "size": "red"}
    me.click("features", "< prev")
    assert me.state.options == {"color": 'say "hi"', "size": "red"}
    me.click("< prev")
    assert (me.state.page, me.state.options, me.state.asin) == ("results", {}, "")


def test_products_count_as_visited_until_the_search_page(odd_shop: Catalog) -> None:
    me = Shopper(odd_shop)
    me.search("mugs")
    me.click("c000000003", "< prev")
    assert [card.asin for card in me.shop.view(me.state).cards if card.visited] == ["C000000003"]
    me.search("tall")
    assert me.state.visited == {"C000000003"}
    me.click("back to search")
    assert me.state == State(instruction="buy it", session="s")


def test_w3_a_value_of_two_options_reaches_the_last_or_each_by_name(odd_shop: Catalog) -> None:
    official, fixed = Shopper(odd_shop), Shopper(odd_shop, "fixed")
    for me in (official, fixed):
        me.search("shirt")
        me.click("b000000001")
    assert official.click("red") == [""]
    assert official.state.options == {"size": "red"}
    assert fixed.click("red")[0]
    assert fixed.click("color: red", "Size: Red") == ["", ""]
    assert fixed.state.options == {"color": "red", "size": "red"}


def test_w4_values_called_like_buttons_are_chosen_by_name(odd_shop: Catalog) -> None:
    official, fixed = Shopper(odd_shop), Shopper(odd_shop, "fixed")
    for me in (official, fixed):
        me.search("shirt")
        me.click("b000000001")
    assert official.offered.count("buy now") == 1
    assert fixed.click("color: buy now") == [""]
    assert fixed.state.options == {"color": "buy now"}
    assert official.click("buy now") == [""]
    assert official.state.page == "done"


def test_fixed_labels_reach_every_value_once(odd_shop: Catalog) -> None:
    me = Shopper(odd_shop, "fixed")
    me.search("shirt")
    me.click("b000000001")
    layout = me.shop.layout(me.state.row)
    pairs = {(n, v) for n, values in layout.product.options.items() for v in values}
    assert {layout.targets[label] for label in layout.clickables[6:]} == pairs
    assert len(layout.clickables) == 6 + len(pairs)
    assert all(label == label.lower() and "\n" not in label for label in layout.clickables)


def test_w5_search_needs_a_search_bar_under_fixed(odd_shop: Catalog) -> None:
    official, fixed = Shopper(odd_shop), Shopper(odd_shop, "fixed")
    for me in (official, fixed):
        me.search("mugs")
        me.click("c000000000")
    assert official.search("shirt") == ""
    assert official.state.page == "results"
    assert "search bar" in fixed.search("shirt")
    assert fixed.state.page == "item"


def test_w6_results_end_under_fixed(odd_shop: Catalog) -> None:
    official, fixed = Shopper(odd_shop), Shopper(odd_shop, "fixed")
    for me in (official, fixed):
        me.search("mugs")
        me.click("next >", "next >")
        assert me.state.number == 3
    assert official.click("next >", "next >") == ["", ""]
    assert official.offered == ["back to search", "< prev", "next >"]
    assert "next >" not in fixed.offered
    assert fixed.click("next >")[0]
    fixed.click("back to search")
    fixed.search("nothing at all like it")
    assert fixed.offered == ["back to search"]


def test_w7_modes_that_crash_the_original_stay_put(odd_shop: Catalog) -> None:
    me = Shopper(odd_shop)
    for query in ("<r>", "<a> easy clean", "<c>"):
        assert "fails" in me.search(query)
        assert me.state.page == "search"
    fixed = Shopper(odd_shop, "fixed")
    for query, count in (("<r>", 25), ("<a> easy clean", 24), ("<c> fashion wear", 1)):
        assert fixed.search(query) == ""
        assert len(fixed.state.rows) == count
        fixed.click("back to search")


def test_random_results_are_drawn_anew_only_where_the_original_does(
    odd_shop: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter([[3, 4], [5], [6], [7]])
    monkeypatch.setattr(engine, "hits", lambda *_: next(drawn))
    official, fixed = Shopper(odd_shop), Shopper(odd_shop, "fixed")
    official.search("<r>")
    official.click("next >", "< prev")
    assert official.state.rows == [6]
    fixed.search("<r>")
    fixed.click("c000000005", "< prev")
    assert fixed.state.rows == [7]


@pytest.mark.parametrize(
    ("query", "page", "number"),
    [("search_results mugs", "results", 0), ("item_page mugs", "results", 1)],
)
def test_w14_words_of_the_query_are_taken_for_the_page(
    odd_shop: Catalog, query: str, page: str, number: int
) -> None:
    official, fixed = Shopper(odd_shop), Shopper(odd_shop, "fixed")
    for me in (official, fixed):
        me.search(query)
        me.click("c000000000", "description", "< prev")
    assert (official.state.page, official.state.number) == (page, number)
    assert (fixed.state.page, fixed.state.number) == ("item", 1)
    if number == 0:
        assert official.offered == ["back to search", "next >"]


def test_prices_count_for_ranged_products_alone(odd_shop: Catalog) -> None:
    prices = {"B000000002": 7.0, "C000000000": 1.0, "unknown": 3.0}
    me = Shopper(odd_shop, prices=prices)
    me.search("<q> lamps")
    me.click("b000000002", "buy now")
    assert me.state.price == 7.0
    me = Shopper(odd_shop, prices=prices)
    me.search("<q> mugs")
    me.click("c000000000", "buy now")
    assert me.state.price == 12.5


def test_a_purchase_is_scored_with_the_nouns_of_the_goal(odd_shop: Catalog) -> None:
    me = Shopper(odd_shop)
    me.goal = odd_shop.goals("human").goal(0)
    me.search("mugs")
    me.click(me.goal.asin, "buy now")
    assert me.state.score is not None
    assert me.state.score.total == 1.0


def test_states_copy_and_shops_are_shared(odd_shop: Catalog) -> None:
    me = Shopper(odd_shop)
    me.search("shirt")
    me.click("b000000001")
    before = copy.deepcopy(me.state)
    twin = me.state.copy()
    me.click("red", "features")
    assert twin == before
    assert copy.deepcopy(me.shop) is me.shop
    again = pickle.loads(pickle.dumps(me.shop))  # noqa: S301 - made here
    assert again.clickables(me.state) == me.offered
    assert again.catalog.digest == odd_shop.digest


def test_shops_of_one_catalog_share_caches(odd_shop: Catalog) -> None:
    first, second = Shop(odd_shop), Shop(odd_shop)
    assert first.layout(0) is second.layout(0)
    assert Shop(odd_shop, rules="fixed").layout(0) is not first.layout(0)
