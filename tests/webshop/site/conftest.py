from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest

from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.site import Site


class Client:
    """A client of a site, on one connection that stays open."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=20)

    def ask(self, path: str, method: str = "GET", **form: str) -> tuple[int, str, dict[str, str]]:
        """Return status, body and headers of one request; with a form it is posted."""
        body = urlencode(form, errors="surrogatepass") if form else None
        kind = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
        self._connection.request("POST" if form else method, path, body, kind)
        reply = self._connection.getresponse()
        text = reply.read().decode()
        return reply.status, text, {k.lower(): v for k, v in reply.getheaders()}

    def get(self, path: str, **form: str) -> str:
        """Return a page, followed through redirects."""
        status, text, headers = self.ask(path, **form)
        if status == 303:
            return self.get(headers["location"])
        assert status == 200, (status, path, text[-300:])
        return text

    @staticmethod
    def links(page: str, beginning: str = "/") -> list[str]:
        """Return the paths that a page leads to, in order."""
        found = re.findall(r'(?:href|src|action|data-url)="([^"]*)"', page)
        return [link for link in map(unescape, found) if link.startswith(beginning)]

    @staticmethod
    def score(page: str) -> float:
        """Return the score that the last page shows."""
        found = re.search(r'id="reward">Your score \(min 0.0, max 1.0\)<pre>([^<]*)</pre>', page)
        assert found is not None
        return float(found[1])

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def site(odd_shop: Catalog) -> Iterator[Site]:
    """Return the open site of the odd shop."""
    with Site(odd_shop, details=True, show_attrs=True) as opened:
        yield opened


@pytest.fixture
def client(site: Site) -> Iterator[Client]:
    """Return a client of that site."""
    made = Client(site.port)
    yield made
    made.close()


@pytest.fixture(scope="session")
def new_client() -> type[Client]:
    """Return how clients of other sites are made."""
    return Client
