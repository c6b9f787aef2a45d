from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.site import Site

MARKUP = "<script>alert(1)</script>"


def buy(client: Any, session: str, query: str, *choices: str) -> str:
    """Search, open the first product, choose, buy; return the last page."""
    page = client.get(f"/{session}", search_query=query)
    page = client.get(client.links(page, "/item_page/")[0])
    for choice in choices:
        wanted = [link for link in client.links(page, "/item_page/") if quote(choice) in link]
        page = client.get(wanted[-1])
    (done,) = client.links(page, "/done/")
    last: str = client.get(done)
    return last


def test_the_start_page_offers_goals(client: Any, site: Site) -> None:
    page = client.get("/")
    assert "/fixed_0" in client.links(page)
    for link in client.links(page):
        assert client.ask(link)[0] == 200
    assert site.sessions.told(site.sessions.numbered(0))[:20] in page


def test_a_goal_is_chosen_by_number(client: Any) -> None:
    assert client.ask("/?goal=1")[2]["location"] == "/fixed_1"
    for wrong in ("99999", "-1", "x", "", "9" * 30, "\N{SUPERSCRIPT TWO}"):
        status, text, _ = client.ask(f"/?goal={quote(wrong)}")
        assert (status, "There is no goal" in text) == (404, True)


def test_shopping_from_the_search_to_the_reward(client: Any, odd_shop: Catalog) -> None:
    goal = odd_shop.goals("synthetic").goal(0)
    row = odd_shop.row(goal.asin)
    product = odd_shop.product(row)
    assert goal.instruction_text.split(",")[0] in client.get("/fixed_0").replace("&#39;", "'")
    last = buy(client, "fixed_0", product.query)
    assert 0.0 <= client.score(last) <= 1.0
    assert f">{goal.asin}</pre>" in last


def test_a_query_may_come_by_get(client: Any) -> None:
    status, _, headers = client.ask("/s?search_query=Tall%20MUG")
    assert (status, headers["location"]) == (303, "/search_results/s/tall+mug/1")


def test_an_empty_query_searches_nothing(client: Any) -> None:
    assert 'id="search_input"' in client.get("/s?search_query=")


def test_pages_turn(client: Any) -> None:
    page = client.get("/search_results/s/mug/2")
    assert "Page 2 (Total results: 23)" in page
    assert "/search_results/s/mug/1" in client.links(page)
    assert "/search_results/s/mug/3" in client.links(page)


def test_an_option_is_chosen_and_stays_chosen(client: Any) -> None:
    page = client.get("/item_page/s/B000000001/shirt/1/{}")
    chosen = client.get(client.links(page, "/item_page/s/B000000001/shirt/1/%7B%22color")[0])
    assert chosen.count(" checked>") == 1
    sub = client.get(client.links(chosen, "/item_sub_page/")[0])
    back = client.get(client.links(sub, "/item_page/")[0])
    assert back.count(" checked>") == 1


@pytest.mark.parametrize("form", [json.dumps, repr], ids=["json", "python"])
def test_options_in_both_forms_of_the_original(client: Any, form: Any) -> None:
    options = quote(form({"size": "two\nlines", "color": 'say "hi"'}))
    page = client.get(f"/item_page/s/B000000001/['shirt']/1/{options}".replace(" ", "%20"))
    assert page.count(" checked>") == 2
    assert client.get(f"/done/s/B000000001/{options}")


def test_sub_pages_show_their_texts(client: Any) -> None:
    where = "/item_sub_page/s/C000000000/mug/1"
    assert "for &lt;b&gt;two&lt;/b&gt; &amp; more" in client.get(f"{where}/Features/{{}}")
    assert "easy clean" in client.get(f"{where}/Attributes/{{}}")
    assert client.get(f"{where}/Reviews/{{}}")


@pytest.mark.parametrize(
    "path",
    [
        "/item_page/s/NOSUCHASIN/mug/1/{}",
        "/item_page/s/b000000001/mug/1/{}",
        '/item_page/s/B000000001/mug/1/{"color":"gold"}',
        '/item_page/s/B000000001/mug/1/{"colour":"red"}',
        "/done/s/B000000001/{'size': 'gold'}".replace(" ", "%20"),
        "/search_results/fixed_99999/mug/1",
        "/fixed_99999",
        "/static/",
        "/static/shop.css",
        "/static/../shop.js",
        "/static/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd/x/y",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/../../etc/passwd",
        "/favicon.ico",
        "/search_results/s/mug/one",
    ],
)
def test_what_is_not_there_is_a_plain_404(client: Any, path: str) -> None:
    status, text, _ = client.ask(path)
    assert status == 404
    assert "root:" not in text
    assert "Traceback" not in text


def test_sub_pages_of_attributes_are_hidden_where_the_shop_hides_them(
    odd_shop: Catalog, new_client: Any
) -> None:
    with Site(odd_shop) as closed:
        client = new_client(closed.port)
        assert client.ask("/item_sub_page/s/C000000000/mug/1/Attributes/{}")[0] == 404
        assert "Attributes" not in client.get("/item_page/s/C000000000/mug/1/{}")
        client.close()


@pytest.mark.parametrize("query", [MARKUP, '"><img src=x onerror=y>', "'-alert(1)-'"])
def test_markup_in_a_query_is_shown_and_never_run(client: Any, query: str) -> None:
    page = client.get("/s", search_query=query)
    assert query not in page
    assert "<img" not in page
    for link in client.links(page, "/search_results/"):
        assert not set(link) & set("<>\"'{}")


def test_a_query_is_no_template(client: Any) -> None:
    assert "10001" not in client.get("/s", search_query="{{73*137}}{%raw%}")


def test_markup_in_names_of_all_kinds_is_escaped(client: Any) -> None:
    for path in (f"/{quote(MARKUP, safe='')}", f"/item_page/s/{quote(MARKUP, safe='')}/q/1/{{}}"):
        assert MARKUP not in client.ask(path)[1]
    page = client.get("/item_page/s/B000000001/shirt/1/{}")
    assert "Plain &lt;Shirt&gt; &amp; &#39;Tie&#39;" in page


@pytest.mark.parametrize(
    "query", ["\0", "a\0b", "\x1b[31m", "\u202e", "\ud800", "\N{OX}", " ", "%"]
)
def test_odd_characters_in_a_query(client: Any, query: str) -> None:
    assert "Total results" in client.get("/s", search_query=query)


def test_a_query_of_100_kilobytes(client: Any) -> None:
    page = client.get("/s", search_query="mug " * 25_000)
    assert "Total results: 23" in page


def test_a_longer_query_is_refused(client: Any) -> None:
    status, text, _ = client.ask("/s", search_query="mug " * 25_001)
    assert (status, "The query is too long." in text) == (414, True)
    assert client.ask("/search_results/s/" + "mug+" * 25_001 + "/1")[0] == 200
    assert client.ask("/search_results/s/" + "mugs+" * 25_001 + "/1")[0] == 414


def test_a_search_that_the_original_crashes_on_says_so(client: Any) -> None:
    page = client.get("/s", search_query="<r>")
    assert 'role="alert"' in page
    assert 'id="search_input"' in page


def test_details_are_told_only_where_they_may_be(
    client: Any, odd_shop: Catalog, new_client: Any
) -> None:
    done = "/done/fixed_0/C000000000/{}"
    assert "How it was scored" not in client.get(done)
    assert "?details=1" in client.get(done)
    told = client.get(f"{done}?details=1")
    assert "How it was scored" in told
    assert "paid $12.50" in told
    with Site(odd_shop) as closed:
        other = new_client(closed.port)
        assert "How it was scored" not in other.get(f"{done}?details=1")
        assert "?details=1" not in other.get(done)
        other.close()


def test_no_page_asks_for_anything_elsewhere(client: Any) -> None:
    paths = [
        "/",
        "/s",
        "/search_results/s/mug/1",
        "/search_results/s/nothing/1",
        "/item_page/s/B000000001/shirt/1/{}",
        "/item_sub_page/s/B000000001/shirt/1/Description/{}",
        "/done/s/B000000001/{}",
        "/done/s/B000000001/{}?details=1",
        "/no/such/page",
    ]
    for path in paths:
        _, page, headers = client.ask(path)
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "example.org" not in page
        found = [link for link in client.links(page, "") if not link.startswith(("/", "?"))]
        assert all(link.startswith("data:image/svg+xml,") for link in found), found
        assert not [link for link in client.links(page) if link.startswith("//")]


def test_the_script_of_the_site_is_served(client: Any) -> None:
    status, script, headers = client.ask("/static/shop.js")
    assert status == 200
    assert headers["content-type"].startswith("text/javascript")
    assert "data-url" not in script.split("\n", 1)[0]


def test_a_random_search_stays_the_same_page(new_client: Any) -> None:
    with Site("mini") as site:
        client = new_client(site.port)
        first = client.get("/s", search_query="<r>")
        assert client.get("/search_results/s/%3Cr%3E/1") == first
        assert client.get("/search_results/t/%3Cr%3E/1") != first
        client.close()
