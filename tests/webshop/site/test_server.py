from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from http.client import HTTPConnection
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument, UnknownName
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.records import Goal
from agentenvs.webshop.site import Site, serve

SESSIONS = 200


def test_two_hundred_sessions_at_once_do_not_mix(new_client: Any) -> None:
    """Every one shops by itself through pages, options and purchase, all of them in step."""
    with Site("mini", "synthetic") as site:
        catalog, shop = site.shop.catalog, Shop(site.shop.catalog)
        gate = threading.Barrier(SESSIONS, timeout=60)

        def go_shopping(number: int) -> tuple[str, float, float]:
            rng = random.Random(number)
            session = f"fixed_{number}"
            goal = site.sessions.of(session).goal
            client = new_client(site.port)
            gate.wait()
            page = client.get(f"/{session}", search_query=goal.query)
            page = client.get(rng.choice(client.links(page, "/item_page/")))
            for _ in range(2):
                choices = client.links(page, "/item_page/")
                if choices:
                    page = client.get(rng.choice(choices))
                assert goal.instruction_text in unescape(page)
            (done,) = client.links(page, "/done/")
            assert done.startswith(f"/done/{session}/")
            score = client.score(client.get(done))
            client.close()
            return done, score, _worth(shop, catalog, done, goal)

        with ThreadPoolExecutor(SESSIONS) as pool:
            results = list(pool.map(go_shopping, range(SESSIONS)))
    assert len({done for done, _, _ in results}) == SESSIONS
    assert [score for _, score, _ in results] == [worth for _, _, worth in results]
    assert len({score for _, score, _ in results}) > 3


def _worth(shop: Shop, catalog: Catalog, done: str, goal: Goal) -> float:
    """Return what a purchase is worth by the state machine alone."""
    from agentenvs.webshop.paths import read

    place = read(done)
    assert place is not None
    state = shop.start()
    state.page, state.asin, state.row = "item", place.asin, catalog.row(place.asin)
    state.options = place.options
    assert shop.click(state, "buy now", goal, np.random.default_rng(0)) == ""
    assert state.score is not None
    return state.score.total


def test_a_session_can_be_given_a_goal(odd_shop: Catalog, new_client: Any) -> None:
    record = odd_shop.goals("human").goal(0).as_record() | {"instruction_text": "just this"}
    with Site(odd_shop) as site:
        site.assign("me", Goal.of(record))
        client = new_client(site.port)
        assert "just this" in client.get("/me")
        assert "just this" not in client.get("/you")
        client.close()


def test_address_and_port(odd_shop: Catalog) -> None:
    with Site(odd_shop) as site:
        assert site.url == f"http://127.0.0.1:{site.port}"
        assert site.address("a/b") == f"{site.url}/a%2Fb"


def test_a_name_that_is_allowed(odd_shop: Catalog) -> None:
    with Site(odd_shop, names=["Shop.Test"]) as site:
        for host, expected in (("shop.test", 200), ("other.test", 421)):
            connection = HTTPConnection("127.0.0.1", site.port, timeout=5)
            connection.request("GET", "/", headers={"Host": host})
            assert connection.getresponse().status == expected
            connection.close()


def test_closing_twice_is_harmless_and_frees_the_port(odd_shop: Catalog) -> None:
    site = Site(odd_shop)
    port = site.port
    site.close()
    site.close()
    with Site(odd_shop, port=port) as again:
        assert again.port == port
        with pytest.raises(OSError, match="in use"):
            Site(odd_shop, port=port)


@pytest.mark.parametrize("port", [-1, 65_536, "3000", True])
def test_a_port_out_of_range(odd_shop: Catalog, port: Any) -> None:
    with pytest.raises(BadArgument, match="Expected `port` to be an int from 0 to 65535"):
        Site(odd_shop, port=port)


def test_bad_rules_tasks_and_prices(odd_shop: Catalog) -> None:
    with pytest.raises(BadArgument, match="Expected `rules`"):
        Site(odd_shop, rules="none")  # type: ignore[arg-type]
    with pytest.raises(UnknownName):
        Site(odd_shop, tasks="nothing")
    with pytest.raises(BadArgument, match="0 or more, got 'cheap'"):
        Site(odd_shop, prices={"B000000002": "cheap"})  # type: ignore[dict-item]


def test_serve_ends_when_it_is_told(odd_shop: Catalog) -> None:
    stop, seen = threading.Event(), []

    def ready(site: Site) -> None:
        seen.append(site)
        threading.Thread(target=lambda: (time.sleep(0.05), stop.set())).start()

    serve(Site(odd_shop), stop, ready)
    assert len(seen) == 1
    with pytest.raises(ConnectionRefusedError):
        HTTPConnection("127.0.0.1", seen[0].port, timeout=1).connect()
