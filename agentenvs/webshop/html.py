"""Pages as HTML, with the ids and classes of the original's pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from agentenvs.core import Shared
from agentenvs.webshop.layout import SUB_PAGES
from agentenvs.webshop.paths import Place, path
from agentenvs.webshop.views import View

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Links", "Renderer", "links", "render"]


@dataclass(frozen=True, slots=True)
class Links:
    """Paths of what a page offers, empty where it offers nothing of the kind.

    Attributes:
        back: the search page.
        prev: what "< Prev" leads to.
        next: the next page of results.
        buy: the purchase.
        subs: name and path of each sub-page.
        cards: the products of a page of results, in its order.
        choices: the option values, group by group.
    """

    back: str = ""
    prev: str = ""
    next: str = ""
    buy: str = ""
    subs: Sequence[tuple[str, str]] = ()
    cards: Sequence[str] = ()
    choices: Sequence[Sequence[str]] = ()


def links(view: View, session: str, prev: str = "") -> Links:
    """Return where everything on a page leads.

    Args:
        view: the page.
        session: the name that its paths show.
        prev: what "< Prev" leads to where the shop says otherwise: the original sometimes takes
            one page for another (see `Shop.click`).
    """
    back = path(Place("search", session))
    if view.page == "search" or (view.page == "done" and view.product is None):
        return Links(back)
    listing = partial(Place, "results", session, view.keywords)
    if view.page == "results":
        item = partial(Place, "item", session, view.keywords, view.number)
        return Links(
            back,
            prev or path(listing(view.number - 1)),
            path(listing(view.number + 1)),
            cards=[path(item(card.asin)) for card in view.cards],
        )
    asin = view.product.asin if view.product else ""
    options = view.options
    place = partial(Place, session=session, keywords=view.keywords, number=view.number, asin=asin)
    at_product = path(place("item", options=options))
    names = [name for name in SUB_PAGES.values() if view.show_attrs or name != "Attributes"]
    return Links(
        back,
        prev or (at_product if view.page == "sub" else path(listing(view.number))),
        "",
        path(Place("done", session, asin=asin, options=options)),
        [(name, path(place("sub", sub=name, options=options))) for name in names],
        (),
        [
            [
                path(place("item", options={**options, group.name: choice.value}))
                for choice in group.choices
            ]
            for group in view.groups
        ],
    )


class Renderer(Shared):
    """Renders pages; its templates are read and compiled once.

    Args:
        styled: make pages to be looked at, with a style, pictures and all that goes with them;
            else they hold what the original's pages say and nothing else. The texts that a
            client reads are the same.
    """

    def __init__(self, styled: bool = False) -> None:
        self._styled = styled
        self._templates = _environment()
        self._style = _read("shop.css") if styled else ""

    def page(
        self,
        view: View,
        to: Links,
        drawn: Sequence[str] = (),
        **extras: Any,
    ) -> str:
        """Return a page of the shop.

        Args:
            view: what it shows.
            to: where it leads.
            drawn: a picture for each product on it, as markup.
            extras: `notice`, words above the search bar; `details` and `may_ask`, see the
                template of the last page.
        """
        from markupsafe import Markup

        many = len(view.cards) if view.page == "results" else 1
        pictures = [Markup(svg) for svg in drawn] or [Markup("")] * many  # noqa: S704
        return self.template(
            f"{view.page}.html",
            {
                "view": view,
                "links": to,
                "options": dict(view.options),
                "pictures": pictures,
                "notice": "",
                "details": None,
                "may_ask": False,
                **extras,
            },
        )

    def template(self, name: str, values: Mapping[str, Any]) -> str:
        """Return one of the templates, filled in; every value is escaped."""
        from markupsafe import Markup

        css = Markup(self._style)  # noqa: S704
        return self._templates.get_template(name).render(values, styled=self._styled, css=css)


def render(view: View, session: str = "") -> str:
    """Return a page as bare HTML, without style, script and pictures.

    Args:
        view: what it shows.
        session: the name that its links show.
    """
    return _bare().page(view, links(view, session or view.session))


@lru_cache(maxsize=1)
def _bare() -> Renderer:
    return Renderer()


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        autoescape=True,
        loader=FunctionLoader(_read),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.policies["json.dumps_kwargs"] = {"sort_keys": True}
    return made


def _read(name: str) -> str:
    return resources.files("agentenvs.assets").joinpath("webshop", name).read_text("utf-8")
