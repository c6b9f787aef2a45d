"""From a request to a page: the original's routes over the state machine of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from importlib import resources
from zlib import crc32

import numpy as np

from agentenvs.core import MAX_ACTION
from agentenvs.errors import UnknownName
from agentenvs.webshop.html import Renderer, links
from agentenvs.webshop.layout import BUY, PREV
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.paths import Place, path, read
from agentenvs.webshop.site.breakdown import breakdown
from agentenvs.webshop.site.http import Request, Response, plain
from agentenvs.webshop.site.pictures import Pictures
from agentenvs.webshop.site.sessions import Assigned, Sessions
from agentenvs.webshop.views import State, View

__all__ = ["App"]

_SAMPLES = 10
_LONGEST = 60_000
#: what browsers ask for by themselves, and no session is called
_UNASKED = frozenset({"/favicon.ico", "/robots.txt", "/apple-touch-icon.png"})


class App:
    """Answers requests; holds no state of a shopper, so any number may shop at once.

    Args:
        shop: the state machine.
        sessions: which goal a session has.
        details: whether the last page may tell how it was scored, and with that the goal.
    """

    def __init__(self, shop: Shop, sessions: Sessions, details: bool = False) -> None:
        self._shop = shop
        self._sessions = sessions
        self._details = details
        self._pictures = Pictures()
        self._renderer = Renderer(styled=True)
        script = resources.files("agentenvs.assets").joinpath("webshop", "shop.js")
        self._script = script.read_bytes()

    def __call__(self, request: Request) -> Response:
        """Return the response to a request."""
        if request.path == "/":
            return self._start(request.fields)
        if request.path == "/static/shop.js":
            return Response(200, self._script, "text/javascript; charset=utf-8", lasting=True)
        if request.path in _UNASKED:
            return plain(HTTPStatus.NOT_FOUND)
        place = read(request.path)
        if place is None:
            return self._error(HTTPStatus.NOT_FOUND, "There is no such page in this shop.")
        try:
            return self._page(place, request.fields)
        except UnknownName as problem:
            return self._error(HTTPStatus.NOT_FOUND, str(problem))

    def _page(self, place: Place, fields: Mapping[str, str]) -> Response:
        settled = self._sessions.of(place.session)
        query = fields.get("search_query", "")
        if len(query) > MAX_ACTION or sum(map(len, place.keywords)) > MAX_ACTION:
            return self._error(HTTPStatus.REQUEST_URI_TOO_LONG, "The query is too long.")
        if place.page == "search" and query:
            place = Place("results", place.session, tuple(query.lower().split(" ")), 1)
            state = self._state(place, settled)
            # Many clients read no header of more than 64 KiB.
            if not isinstance(state, str) and len(path(place)) < _LONGEST:
                return _redirect(path(place))
        else:
            state = self._state(place, settled)
        notice = ""
        if isinstance(state, str):
            notice = state
            state = self._shop.start(settled.goal.instruction_text, place.session)
        view = self._shop.view(state)
        to = links(view, place.session, self._prev(state, settled))
        extras = {}
        if view.page == "done":
            asked = self._details and fields.get("details") == "1"
            target = path(Place("item", place.session, ("",), 1, settled.goal.asin))
            found = breakdown(view, settled.goal, self._shop.rules, target) if asked else None
            extras = {"details": found, "may_ask": self._details and not asked}
        drawn = self._draw(view)
        return _html(200, self._renderer.page(view, to, drawn, notice=notice, **extras))

    def _state(self, place: Place, settled: Assigned) -> State | str:
        """Return the state that a path stands for, or why its search is not possible.

        Raises:
            UnknownName: there is no such product, option or page of results.
        """
        shop, goal = self._shop, settled.goal
        state = shop.start(goal.instruction_text, place.session)
        if place.page == "search":
            return state
        rng = self._generator(place)
        if place.page == "results":
            problem = shop.search(state, " ".join(place.keywords), rng)
            if problem:
                return f"{problem[:1].upper()}{problem[1:]}."
            if settled.rows is not None and settled.keywords == place.keywords:
                state.rows = settled.rows
            state.number = place.number
            return state
        row = shop.catalog.row(place.asin)
        if row < 0:
            raise UnknownName(f"There is no product {place.asin[:80]!r} in this shop.")
        offered = shop.catalog.product(row).options
        for name, value in place.options.items():
            if value not in offered.get(name, ()):
                raise UnknownName(f"The product has no option {name[:80]!r}: {value[:80]!r}.")
        state.page, state.asin, state.row = "item", place.asin, row
        state.keywords, state.number, state.options = place.keywords, place.number, place.options
        if place.page == "sub":
            if place.sub == "Attributes" and not shop.show_attrs:
                raise UnknownName("This shop does not tell attributes.")
            state.page, state.sub = "sub", place.sub
        elif place.page == "done":
            shop.click(state, BUY, goal, rng)
        return state

    def _prev(self, state: State, settled: Assigned) -> str:
        """Return where the shop's own "< Prev" leads from a product."""
        if state.page not in ("item", "sub"):
            return ""
        after = state.copy()
        rng = self._generator(Place.of(state))
        return "" if self._shop.click(after, PREV, settled.goal, rng) else path(Place.of(after))

    def _generator(self, place: Place) -> np.random.Generator:
        """Return the generator of a page: a random search is the same when it is shown again."""
        number = place.number if self._shop.rules == "official" else 0
        name = f"{place.session}\n{' '.join(place.keywords)}\n{number}"
        return np.random.default_rng(crc32(name.encode("utf-8", "surrogatepass")))

    def _draw(self, view: View) -> list[str]:
        if view.page == "results":
            catalog = self._shop.catalog
            rows = (catalog.row(card.asin) for card in view.cards)
            return [self._pictures.draw(catalog.product(row)) for row in rows]
        return [] if view.product is None else [self._pictures.draw(view.product, view.options)]

    def _start(self, fields: Mapping[str, str]) -> Response:
        sessions = self._sessions
        if "goal" in fields:
            wanted = fields["goal"]
            number = (
                int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else -1
            )
            try:
                sessions.numbered(number)
            except UnknownName as problem:
                return self._error(HTTPStatus.NOT_FOUND, str(problem))
            return _redirect(f"/fixed_{number}")
        samples = [
            {
                "number": number,
                "href": f"/fixed_{number}",
                "text": sessions.told(sessions.numbered(number)),
            }
            for number in range(min(_SAMPLES, len(sessions)))
        ]
        catalog = self._shop.catalog
        values = {
            "products": len(catalog),
            "goals": len(sessions),
            "catalog": catalog.name,
            "rules": self._shop.rules,
            "surprise": path(Place("search", sessions.fresh_name())),
            "samples": samples,
        }
        return _html(200, self._renderer.template("start.html", values))

    def _error(self, status: int, message: str) -> Response:
        values = {"status": int(status), "message": message}
        return _html(status, self._renderer.template("error.html", values))


def _html(status: int, text: str) -> Response:
    return Response(status, text.encode("utf-8", "replace"))


def _redirect(location: str) -> Response:
    return Response(HTTPStatus.SEE_OTHER, location=location)
