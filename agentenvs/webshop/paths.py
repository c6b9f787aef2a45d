"""Paths of the site: the original's routes with every part quoted, and how they are read back.

`agentenvs.webshop.urls` writes urls as the original's observations show them, with nothing
quoted. A browser needs them quoted, and clients of the original send several forms.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from agentenvs.syntax import UnreadableCall, parse_expression
from agentenvs.webshop.layout import SUB_PAGES
from agentenvs.webshop.views import Page, State

__all__ = ["MAX_SESSION", "Place", "path", "read"]

MAX_SESSION = 200
_MAX_OPTIONS = 20_000
#: how many brackets after a number are tried as the beginning of the options
_GUESSES = 8
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,6})", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SUBS = frozenset(SUB_PAGES.values())


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: the part of a `State` that stands in it."""

    page: Page
    session: str
    keywords: tuple[str, ...] = ()
    number: int = 0
    asin: str = ""
    sub: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, state: State) -> Place:
        """Return the part of `state` that its path shows."""
        page, session, keywords = state.page, state.session, state.keywords
        if page == "search":
            return cls(page, session)
        if page == "results":
            return cls(page, session, keywords, state.number)
        if page == "done":
            return cls(page, session, asin=state.asin, options=dict(state.options))
        return cls(
            page, session, keywords, state.number, state.asin, state.sub, dict(state.options)
        )


def path(place: Place) -> str:
    """Return the path of a page, every part of it quoted."""
    session = _quoted(place.session)
    if place.page == "search":
        return f"/{session}"
    options = _quoted(json.dumps(dict(place.options), ensure_ascii=False))
    if place.page == "done":
        return f"/done/{session}/{_quoted(place.asin)}/{options}"
    query = "+".join(map(_quoted, place.keywords))
    looks_like_a_list = query.startswith("%5B") and _keywords(query) != place.keywords
    if looks_like_a_list or query in (".", ".."):
        # A part of dots is a folder to browsers, however it is quoted.
        query = _quoted(repr([" ".join(place.keywords)]))
    if place.page == "results":
        return f"/search_results/{session}/{query}/{place.number}"
    where = f"{session}/{_quoted(place.asin)}/{query}/{place.number}"
    if place.page == "item":
        return f"/item_page/{where}/{options}"
    return f"/item_sub_page/{where}/{place.sub}/{options}"


def read(sent: str) -> Place | None:
    """Return where a path leads, or None where it leads nowhere.

    The query may be words joined by "+", plain text, or a list as Python writes it; the
    options a flat object of JSON or a flat dict as Python writes it. Slashes may stand
    unquoted in the query and in the options.

    Args:
        sent: the path as it was sent, still quoted.
    """
    parts = sent.removeprefix("/").split("/")
    if len(parts) == 1:
        return _checked(Place("search", unquote(parts[0])))
    name, session = parts[0], unquote(parts[1])
    if name == "search_results" and len(parts) >= 4:
        return _checked(_listing("results", session, parts[2:]))
    if name == "done" and len(parts) >= 4:
        options = _options("/".join(parts[3:]))
        if options is not None:
            return _checked(Place("done", session, asin=unquote(parts[2]), options=options))
    if name in ("item_page", "item_sub_page"):
        return _checked(_product(name == "item_sub_page", session, parts[2:]))
    return None


def _listing(page: Page, session: str, parts: Sequence[str]) -> Place | None:
    if len(parts) < 2 or not _NUMBER.fullmatch(parts[-1]):
        return None
    return Place(page, session, _keywords("/".join(parts[:-1])), int(parts[-1]))


def _product(has_sub: bool, session: str, parts: Sequence[str]) -> Place | None:
    """Read asin, query, number, perhaps the sub-page, and options."""
    width = 2 if has_sub else 1
    starts = [
        start
        for start in range(2 + width, len(parts))
        if parts[start].startswith(("{", "%7B", "%7b")) and _NUMBER.fullmatch(parts[start - width])
    ]
    for start in starts[:_GUESSES]:
        listing = _listing("results", session, parts[1 : start - width + 1])
        options = _options("/".join(parts[start:]))
        if listing is None or options is None:
            continue
        sub = unquote(parts[start - 1]) if has_sub else ""
        if has_sub and sub not in _SUBS:
            return None
        page: Page = "sub" if has_sub else "item"
        asin = unquote(parts[0])
        return Place(page, session, listing.keywords, listing.number, asin, sub, options)
    return None


def _checked(place: Place | None) -> Place | None:
    if place is None or not place.session or len(place.session) > MAX_SESSION:
        return None
    return None if _CONTROL.search(place.session) else place


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def _unquoted(text: str) -> str:
    try:
        return unquote(text, errors="surrogatepass")
    except UnicodeDecodeError:
        return unquote(text)


def _keywords(sent: str) -> tuple[str, ...]:
    text = _unquoted(sent)
    if text.startswith("["):
        words = _python(text)
        if isinstance(words, list):
            return tuple(" ".join(words).lower().split(" "))
    return tuple(" ".join(_unquoted(part) for part in sent.split("+")).lower().split(" "))


def _options(sent: str) -> dict[str, str] | None:
    text = _unquoted(sent)
    if len(text) > _MAX_OPTIONS:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = _python(text)
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        return None
    return found


def _python(text: str) -> list[str] | dict[str, str] | None:
    """Read a flat list of texts, or a flat dict of texts, as Python writes them."""
    try:
        node = parse_expression(text)
    except UnreadableCall:
        return None
    if isinstance(node, ast.List):
        words = [_text(item) for item in node.elts]
        return [word for word in words if word is not None] if None not in words else None
    if isinstance(node, ast.Dict):
        keys = [_text(key) for key in node.keys]
        values = [_text(value) for value in node.values]
        if None in keys or None in values:
            return None
        return {str(k): str(v) for k, v in zip(keys, values, strict=True)}
    return None


def _text(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None
