"""The site as something to start and to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Self

from agentenvs.core import Rules, check_rules
from agentenvs.errors import BadArgument
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.locate import open_catalog
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.paths import Place, path
from agentenvs.webshop.records import Goal
from agentenvs.webshop.site.app import App
from agentenvs.webshop.site.http import Server
from agentenvs.webshop.site.sessions import Assigned, Sessions
from agentenvs.webshop.tasks import task_ids

__all__ = ["Site", "serve"]

#: a search of as many characters as an action may have, each of four bytes quoted
_LONG = 2_000_000


class Site:
    """The shop as a web site, served while this object is open.

    Example:
        >>> from agentenvs.webshop.site import Site
        >>> with Site("mini") as site:
        ...     site.address("fixed_0").startswith("http://127.0.0.1:")
        True

    Args:
        catalog: what is sold, see `agentenvs.webshop.open_catalog`.
        tasks: a named set or task ids: the goals of its sessions. Default all synthetic goals
            of the catalog, or the bundled set.
        port: where to listen; 0 takes a free port.
        host: the address to listen on. Others than the default let other machines in.
        rules: "official" or "fixed".
        show_attrs: whether products offer a page with their attributes.
        prices: asin -> price in dollars, for products with a price range.
        details: let the last page tell how it was scored, and with that the goal.
        seed: changes which goals the names of sessions draw.
        names: further host names under which the site may be asked for.

    Raises:
        BadArgument: an argument out of range.
        UnknownName: there is no such set or task.
        SourceError: the catalog cannot be had.
        OSError: the port is taken.
    """

    def __init__(
        self,
        catalog: str | PathLike[str] | Catalog | None = None,
        tasks: str | Sequence[str] | None = None,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        rules: Rules = "official",
        show_attrs: bool = False,
        prices: Mapping[str, float] | None = None,
        details: bool = False,
        seed: int = 0,
        names: Collection[str] = (),
    ) -> None:
        check_rules(rules)
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65_536:
            raise BadArgument(f"Expected `port` to be an int from 0 to 65535, got {port!r}.")
        opened = open_catalog(catalog, tasks)
        ids = task_ids(tasks, catalog=None if catalog is None else opened)
        shop = Shop(opened, rules=rules, show_attrs=show_attrs, prices=prices)
        self._open(shop, Sessions(shop, ids, seed), host, port, details, names)

    @classmethod
    def over(cls, shop: Shop, task_ids: Sequence[str]) -> Site:
        """Return the site of a shop that there is already, on a free port."""
        site = cls.__new__(cls)
        site._open(shop, Sessions(shop, task_ids), "127.0.0.1", 0, False, ())
        return site

    def _open(
        self,
        shop: Shop,
        sessions: Sessions,
        host: str,
        port: int,
        details: bool,
        names: Collection[str],
    ) -> None:
        self.shop = shop
        self.sessions = sessions
        app = App(shop, sessions, details)
        self._server = Server((host, port), app, names=(*names, host), line=_LONG, body=_LONG)
        self._host = f"[{host}]" if ":" in host else host
        self._server.start()

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self._server.port

    @property
    def url(self) -> str:
        """The address of the start page, without the slash at its end."""
        return f"http://{self._host}:{self.port}"

    def address(self, session: str) -> str:
        """Return the address of a session's search page."""
        return self.url + path(Place("search", session))

    def assign(self, session: str, goal: Goal) -> None:
        """Give a session a goal of its own, whatever its name says."""
        self.sessions.assign(session, Assigned(goal))

    def close(self) -> None:
        """Stop; pages under way are finished. Harmless when repeated."""
        if not self._server.stopping:
            self._server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def serve(site: Site, stop: threading.Event, ready: Callable[[Site], None] | None = None) -> None:
    """Keep a site open until `stop` is set or the process is interrupted.

    Args:
        site: closed at the end.
        stop: another thread or a signal handler may set it.
        ready: called once at the beginning, to tell the address say.
    """
    with site:
        if ready is not None:
            ready(site)
        while not stop.wait(0.2):
            pass
