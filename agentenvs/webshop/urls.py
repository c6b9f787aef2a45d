"""Urls of the original shop: what a page is called, and which page a url stands for."""

from __future__ import annotations

import json

from agentenvs.webshop.views import State

__all__ = ["BASE", "page_named_in", "url"]

BASE = "http://127.0.0.1:3000"
#: first parts of urls, in the order in which the original looks for them anywhere in one
_NAMES = {
    "search_results": "results",
    "item_page": "item",
    "item_sub_page": "sub",
    "done": "done",
}


def url(state: State, base: str = BASE) -> str:
    """Return the url of a page, as the original's observation mode "url" shows it.

    Nothing is quoted, so that it may hold spaces, slashes and line breaks of a query.
    """
    page, session = state.page, state.session
    if page == "search":
        return f"{base}/{session}"
    if page == "done":
        return f"{base}/done/{session}/{state.asin}/{dict(state.options)!r}"
    query = "+".join(state.keywords)
    if page == "results":
        return f"{base}/search_results/{session}/{query}/{state.number}"
    place = f"{session}/{state.asin}/{query}/{state.number}"
    if page == "item":
        return f"{base}/item_page/{place}/{json.dumps(dict(state.options))}"
    return f"{base}/item_sub_page/{place}/{state.sub}/{dict(state.options)!r}"


def page_named_in(address: str) -> str:
    """Return the page whose name occurs in a url, the first in the original's order.

    "search" where none does.
    """
    return next((page for name, page in _NAMES.items() if name in address), "search")
