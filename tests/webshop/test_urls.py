from __future__ import annotations

from dataclasses import replace

import pytest

from agentenvs.webshop.urls import page_named_in, url
from agentenvs.webshop.views import State

HOME = "http://127.0.0.1:3000"
ITEM = State(
    page="item",
    session="s-1",
    keywords=("red", "", "a/b"),
    number=2,
    asin="B000000001",
    options={"size": 'x "y"', "color": "bl\u00e5"},
)


@pytest.mark.parametrize(
    ("state", "wanted"),
    [
        (State(session="s"), "/s"),
        (State("results", session="s", keywords=("a", "b"), number=3), "/search_results/s/a+b/3"),
        (State("results", session="s", keywords=("", ""), number=1), "/search_results/s/+/1"),
        (
            ITEM,
            "/item_page/s-1/B000000001/red++a/b/2/"
            r'{"size": "x \"y\"", "color": "bl\u00e5"}',
        ),
        (
            replace(ITEM, page="sub", sub="Features"),
            "/item_sub_page/s-1/B000000001/red++a/b/2/Features/"
            "{'size': 'x \"y\"', 'color': 'bl\u00e5'}",
        ),
        (replace(ITEM, page="done", options={}), "/done/s-1/B000000001/{}"),
    ],
)
def test_urls_of_every_page(state: State, wanted: str) -> None:
    assert url(state) == HOME + wanted
    assert url(state, "http://x") == "http://x" + wanted


def test_the_page_is_the_first_name_found_anywhere() -> None:
    assert page_named_in(url(ITEM)) == "item"
    assert page_named_in(url(replace(ITEM, page="sub", sub="Reviews"))) == "sub"
    assert page_named_in(url(replace(ITEM, page="done"))) == "done"
    assert page_named_in(url(State(session="s"))) == "search"
    assert page_named_in(url(replace(ITEM, keywords=("my_search_results!",)))) == "results"
    assert page_named_in(url(replace(ITEM, page="done", session="item_page"))) == "item"
