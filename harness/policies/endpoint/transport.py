"""Sends requests: one client an event loop, so many at a time, connections kept alive."""

from __future__ import annotations

import asyncio
import queue
import ssl
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2

from agentenvs.errors import PolicyError
from agentenvs.harness.policies.endpoint.address import Address, Key
from agentenvs.harness.policies.endpoint.backoff import read_retry_after
from agentenvs.harness.policies.endpoint.faults import Fault, garbled, of_status, of_transport
from agentenvs.harness.policies.endpoint.replies import read_object
from agentenvs.harness.policies.endpoint.stream import Pieces

__all__ = ["Session", "Transport"]

#: most bytes of a reply, and of one that says what is wrong
_MOST = 32 << 20
_MOST_TOLD = 64 << 10
#: most seconds for an answer that takes no time
_SOON_S = 30.0
#: requests that one client sends at a time
_SEATS = 16


class Session:
    """What requests of one event loop share: clients, and a gate that lets so many through.

    A client looks at all its connections before and after each request. With a few each, many
    clients took a third of the time that one took with 512.

    Args:
        make: makes a client.
        most: most requests at a time.
    """

    def __init__(self, make: Callable[[], httpx2.AsyncClient], most: int) -> None:
        self._make = make
        self._gate = asyncio.Semaphore(most)
        self._ends = AsyncExitStack()
        self._seats: list[httpx2.AsyncClient] = []
        self._guard = self._until_the_end()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx2.AsyncClient]:
        """Wait to be let through, and lend a client; the last one used comes first."""
        async with self._gate:
            if not self._seats:
                made = self._make()
                self._ends.push_async_callback(made.aclose)
                self._seats += [made] * _SEATS
            client = self._seats.pop()
            try:
                yield client
            finally:
                self._seats.append(client)

    async def open(self) -> None:
        """Have the clients closed at the latest when the loop closes."""
        await anext(self._guard)

    async def close(self) -> None:
        """Close the clients."""
        await self._guard.aclose()

    async def _until_the_end(self) -> AsyncGenerator[None]:
        # Loops close the generators that they have begun as they shut down.
        try:
            yield
        finally:
            await self._ends.aclose()


class Transport:
    """Sends requests to one server.

    Args:
        address: of the server.
        key: what to show it.
        concurrency: most requests at a time.
        timeout: seconds for a whole answer.
        read_timeout: seconds without a byte of it.
        connect_timeout: seconds for a connection.
    """

    def __init__(
        self,
        address: Address,
        key: Key,
        concurrency: int,
        timeout: float,
        read_timeout: float,
        connect_timeout: float,
    ) -> None:
        self.address = address
        self.concurrency = concurrency
        self.waits = {
            "timeout": timeout,
            "read_timeout": read_timeout,
            "connect_timeout": connect_timeout,
        }
        self.key = key
        self._timeouts = httpx2.Timeout(read_timeout, connect=connect_timeout, pool=None)
        self._sessions: dict[asyncio.AbstractEventLoop, Session] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what belongs to this process."""
        return {**vars(self), "_sessions": {}}

    async def session(self) -> Session:
        """Return the running loop's session, which ends with the loop or with `close`."""
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            settings = self._settings()
            for ended in [other for other in self._sessions if other.is_closed()]:
                del self._sessions[ended]
            # The gate is the limit; a pool would only make those wait that have passed it.
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=_SEATS)
            session = self._sessions[loop] = Session(
                lambda: httpx2.AsyncClient(**settings, limits=limits), self.concurrency
            )
            await session.open()
        return session

    def _settings(self) -> dict[str, Any]:
        """Return what clients of either kind are made with."""
        # Replies are small; to unpack them costs more than to receive them.
        plain = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        bare = self.address.loopback and self.address.url.startswith("http:")
        return {
            "headers": {**plain, **self.key.headers()},
            "timeout": self._timeouts,
            "trust_env": not self.address.loopback,
            # Once for all clients: to read the machine's certificates takes its time.
            "verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            if bare
            else httpx2.create_ssl_context(),
        }

    async def ask(
        self, client: httpx2.AsyncClient, path: str, body: bytes, max_tokens: int
    ) -> dict[str, Any]:
        """Send one request, once, and return the object that the server answers with.

        Args:
            client: lent by the session.
            path: behind the server's address.
            body: what to post.
            max_tokens: what it asks for.

        Raises:
            Fault: it may be sent again.
            Overflow: the conversation is too long.
            Refused: the server will not answer it.
        """
        url = self.address.url + path
        began = False
        try:
            async with (
                asyncio.timeout(self.waits["timeout"]),
                client.stream("POST", url, content=body) as response,
            ):
                began = True
                status = response.status_code
                if status != 200:
                    told = await _read(response, _MOST_TOLD, whole=False)
                    wait = read_retry_after(response.headers.get("retry-after"))
                    shown = told.decode("utf-8", "replace")
                    raise of_status(status, shown, max_tokens, wait)
                if response.headers.get("content-type", "").startswith("text/event-stream"):
                    return await _gather(response, max_tokens)
                return read_object(await _read(response, _MOST))
        except (TimeoutError, UnicodeError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise of_transport(error, began) from error

    def get(
        self, path: str, of_api: bool = True, within: float | None = None
    ) -> tuple[int, str, float | None]:
        """Ask for something that takes no time to answer, once, without an event loop.

        Args:
            path: behind the server's address.
            of_api: whether it is part of the API, and not of the server as a whole.
            within: seconds for the answer; default 30.

        Returns:
            Status, text, and how many seconds the server asks to be left alone.

        Raises:
            Fault: there was no answer.
            PolicyError: the server cannot be asked.
        """
        url = (self.address.url if of_api else self.address.root) + path
        answer: queue.SimpleQueue[tuple[int, str, float | None] | Exception] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answer.put(self._get(url))
            except Exception as error:
                answer.put(error)

        # A client bounds each wait and not their sum, nor how long a name is looked up.
        threading.Thread(target=ask, name="a question to a server", daemon=True).start()
        limit = min(within or _SOON_S, self.waits["timeout"])
        try:
            found = answer.get(timeout=limit)
        except queue.Empty:
            raise Fault(f"no answer in time (within {limit:g} s)", "timeout") from None
        if isinstance(found, Exception):
            raise found
        return found

    def _get(self, url: str) -> tuple[int, str, float | None]:
        began = False
        try:
            with (
                httpx2.Client(**self._settings()) as client,
                client.stream("GET", url) as response,
            ):
                began = True
                content = bytearray()
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > _MOST:
                        raise garbled(f"of over {_MOST} bytes")
                wait = read_retry_after(response.headers.get("retry-after"))
                return response.status_code, content.decode("utf-8", "replace"), wait
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            fault = of_transport(error, began)
            if isinstance(fault, Fault):
                raise fault from error
            raise PolicyError(self.key.hide(str(fault))) from None

    async def close(self) -> None:
        """Close the connections of the running loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()


async def _read(response: httpx2.Response, most: int, whole: bool = True) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > most:
            if whole:
                raise garbled(f"of over {most} bytes")
            break
    return bytes(content[:most])


async def _gather(response: httpx2.Response, max_tokens: int) -> dict[str, Any]:
    pieces = Pieces(max_tokens)
    async for event in httpx2.EventSource(response, max_event_size=_MOST_TOLD << 4):
        pieces.add(event.data)
        if response.num_bytes_downloaded > _MOST:
            raise garbled(f"of over {_MOST} bytes")
    return pieces.reply()
