from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.text import RichText, Text
from agentenvs.webshop.views import State

TOLD = "Instruction: [SEP] buy it [SEP] Back to Search"


def walk(
    catalog: Catalog, render: Callable[[Shop], Any], *actions: str, rules: Any = "official"
) -> str:
    """Return the page after a search and some clicks."""
    shop = Shop(catalog, rules=rules, show_attrs=True)
    state, rng = shop.start("buy it", "s"), np.random.default_rng(0)
    goal = catalog.goals("synthetic").goal(0)
    for at, action in enumerate(actions):
        problem = (
            shop.search(state, action, rng) if at == 0 else shop.click(state, action, goal, rng)
        )
        assert problem == ""
    page: str = render(shop)(state)
    return page


def test_text_of_the_search_page(odd_shop: Catalog) -> None:
    assert walk(odd_shop, Text) == "WebShop [SEP] Instruction: [SEP] buy it [SEP] Search"
    empty = State(instruction="")
    assert Text(Shop(odd_shop))(empty) == "WebShop [SEP] Instruction: [SEP] Search"
    spaces = State(instruction=" ")
    assert Text(Shop(odd_shop))(spaces) == "WebShop [SEP] Instruction: [SEP]  [SEP] Search"


def test_text_of_results_leaves_out_empty_titles(odd_shop: Catalog) -> None:
    page = walk(odd_shop, Text, "<q> lamps")
    tag = "$5.0 to $1005.0"
    head = f"{TOLD} [SEP] Page 1 (Total results: 1)"
    assert page == f"{head} [SEP] Next > [SEP] B000000002 [SEP] {tag}"
    page = walk(odd_shop, Text, "<q> lamps", rules="fixed")
    assert page == f"{head} [SEP] B000000002 [SEP] {tag}"


def test_text_of_a_product_hides_what_is_chosen_under_official(odd_shop: Catalog) -> None:
    page = walk(odd_shop, Text, "shirt", "b000000001")
    assert page == (
        f'{TOLD} [SEP] < Prev [SEP] color [SEP] red [SEP] buy now [SEP] say "hi" [SEP] bl\u00e5 '
        "[SEP] size [SEP] red [SEP] large [tall] [SEP] two\nlines [SEP] Plain <Shirt> & 'Tie' "
        "[SEP] Price: $12.5 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews "
        "[SEP] Attributes [SEP] Buy Now"
    )
    assert walk(odd_shop, Text, "shirt", "b000000001", "bl\u00e5") == page


def test_w11_text_shows_what_is_chosen_under_fixed(odd_shop: Catalog) -> None:
    page = walk(odd_shop, Text, "shirt", "b000000001", "color: red", "large [tall]", rules="fixed")
    nodes = page.split(" [SEP] ")
    assert "color (chosen: color: red)" in nodes
    assert "size (chosen: large [tall])" in nodes
    page = walk(odd_shop, Text, "shirt", "b000000001", rules="fixed")
    assert "chosen" not in page
    assert " [SEP] size: two lines [SEP] size: [SEP] Plain" in page


def test_text_of_sub_pages_keeps_empty_bullets_and_drops_other_empty_texts(
    odd_shop: Catalog,
) -> None:
    mug = ("mugs", "c000000000")
    bullets = "holds tea [SEP]  [SEP] for <b>two</b> & more"
    assert walk(odd_shop, Text, *mug, "features") == f"{TOLD} [SEP] < Prev [SEP] {bullets}"
    assert walk(odd_shop, Text, *mug, "description") == f"{TOLD} [SEP] < Prev"
    assert walk(odd_shop, Text, *mug, "reviews") == f"{TOLD} [SEP] < Prev"
    facts = "easy clean [SEP] garden [SEP] mugs [SEP] Home \u203a Kitchen \u203a Mugs"
    assert walk(odd_shop, Text, *mug, "attributes") == f"{TOLD} [SEP] < Prev [SEP] {facts}"
    shirt = ("shirt", "b000000001", "description")
    assert walk(odd_shop, Text, *shirt).endswith("< Prev [SEP] Worn\nsoft.")


def test_the_receipt_escapes_options_and_tells_no_goal(odd_shop: Catalog) -> None:
    bought = ("shirt", "b000000001", "red", 'say "hi"', "bl\u00e5", "buy now")
    page = walk(odd_shop, Text, *bought)
    nodes = page.split(" [SEP] ")
    assert nodes[5:9] == ["asin", "B000000001", "options", '{"color": "bl\\u00e5", "size": "red"}']
    assert "easy clean" not in page
    assert nodes[-4:-2] == ["Your score (min 0.0, max 1.0)", repr(float(nodes[-3]))]
    rich = walk(odd_shop, RichText, *bought)
    assert "Your code: \nNone\n (Paste it in your MTurk interface.)\n" in rich
    assert rich.endswith(f"{nodes[-3]}\nReward Details \nNone\n")


def test_the_receipt_escapes_marks_of_html() -> None:
    from agentenvs.webshop.text import _receipt
    from agentenvs.webshop.views import View

    view = View("done", "", "", options={"b": "<&>'", "a": '"'})
    texts = _receipt(view)
    assert '{"a": "\\"", "b": "\\u003c\\u0026\\u003e\\u0027"}' in texts


def test_rich_text_is_unstripped_and_marks_buttons(odd_shop: Catalog) -> None:
    assert walk(odd_shop, RichText) == (
        "WebShop\nInstruction: \nbuy it\n[button] Search [button_]\n"
    )
    page = walk(odd_shop, RichText, "mugs", "c000000000", "features")
    head = "Instruction:\nbuy it\n[button] Back to Search [button_]\n[button] < Prev [button_]\n"
    assert page == head + " holds tea \n \n  for <b>two</b> & more\n"
    assert walk(odd_shop, RichText, "mugs", "c000000000", "description") == head
    page = walk(odd_shop, RichText, "mugs", "next >", "c000000010", "< prev")
    assert "\n\n[clicked button] C000000010 [clicked button_]\nTall mug number 10\n$12.5\n" in page
    assert "[button] < Prev [button_]\n[button] Next > [button_]\n\n[clicked" in page


def test_rich_text_puts_the_last_choice_of_the_page_on_top(odd_shop: Catalog) -> None:
    page = walk(odd_shop, RichText, "shirt", "b000000001", "large [tall]", "red", "large [tall]")
    assert page.startswith("You have clicked large [tall].\nInstruction:\nbuy it\n")
    assert "  [clicked button] large [tall] [clicked button_]\n" in page
    chosen = ("color: red", "large [tall]")
    page = walk(odd_shop, RichText, "shirt", "b000000001", *chosen, rules="fixed")
    assert page.startswith("You have clicked large [tall].\nYou have clicked color: red.\nInstr")


def test_rich_text_takes_for_clicked_what_the_url_holds_in_quotes(odd_shop: Catalog) -> None:
    for value in ("bl\u00e5", 'say "hi"'):
        page = walk(odd_shop, RichText, "shirt", "b000000001", value)
        assert "clicked" not in page
        page = walk(odd_shop, RichText, "shirt", "b000000001", value, rules="fixed")
        assert page.startswith(f"You have clicked {value}.\n")
    page = walk(odd_shop, RichText, 'plain shirt "red"', "b000000001")
    assert page.startswith("You have clicked red.\nYou have clicked red.\nInstruction:")
    page = walk(odd_shop, RichText, 'plain shirt "red"', "b000000001", rules="fixed")
    assert "clicked" not in page


@pytest.mark.parametrize("kind", [Text, RichText])
def test_renderers_pickle_without_their_caches(odd_shop: Catalog, kind: Any) -> None:
    shop = Shop(odd_shop)
    render, state = kind(shop), State("item", "buy it", row=0, asin="B000000001", number=1)
    page = render(state)
    packed = pickle.dumps(render)
    assert len(packed) < 1_000
    assert pickle.loads(packed)(state) == page  # noqa: S301 - made here
