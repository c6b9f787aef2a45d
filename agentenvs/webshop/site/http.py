"""A small HTTP server on the standard library: one handler function, everything bounded."""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from agentenvs.webshop.site.wire import BoundedReader, TooMuch

__all__ = ["Request", "Response", "Server", "plain"]

_LOG = logging.getLogger(__name__)
_METHODS = ("GET", "HEAD", "POST")
_FORM = "application/x-www-form-urlencoded"
_FIELDS = 20
#: a name or an address, or one in brackets, and perhaps a port
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:\s]+))(?::[0-9]{0,5})?", re.ASCII)
#: nothing but the page itself, its own style and the one script of the site
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; "
    "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request: the path as it was sent, and the fields of its query and form, decoded."""

    method: str
    path: str
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """One response; `location` makes it a redirect."""

    status: int
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    location: str = ""
    lasting: bool = False


def plain(status: int, text: str = "") -> Response:
    """Return a short response of plain text, by default the status in words."""
    body = f"{text or HTTPStatus(status).phrase}\n".encode("utf-8", "replace")
    return Response(status, body, "text/plain; charset=utf-8")


class Server(socketserver.TCPServer):
    """Serves `answer` on a thread a connection.

    Args:
        address: host and port; port 0 takes a free one.
        answer: makes the response to a request; called from many threads at once.
        names: host names, beside localhost and plain addresses, under which requests may
            come. A page of another site can make a browser resolve its own name to this
            machine; such a request bears that name, and is refused.
        connections: how many may be open; further ones are turned away with a 503.
        idle: seconds that a connection may stay quiet between requests.
        whole: seconds that one request or one response may take.
        line: the most bytes of a request line.
        body: the most bytes of a form.
    """

    # On Windows the option would let two servers listen on one port.
    allow_reuse_address = os.name == "posix"
    request_queue_size = 512

    def __init__(
        self,
        address: tuple[str, int],
        answer: Callable[[Request], Response],
        *,
        names: Collection[str] = (),
        connections: int = 1_024,
        idle: float = 30.0,
        whole: float = 20.0,
        line: int = 65_536,
        body: int = 65_536,
    ) -> None:
        self.answer = answer
        self.names = frozenset({"localhost", *(name.lower() for name in names)})
        self.idle, self.whole, self.line, self.body = idle, whole, line, body
        self._limit = connections
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._busy: set[socket.socket] = set()
        self._accepting: threading.Thread | None = None
        self.stopping = False
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self.server_address[1])

    def start(self) -> None:
        """Begin to accept connections, on a thread of its own."""
        self._accepting = threading.Thread(
            target=self.serve_forever, args=(0.05,), name="agentenvs-site", daemon=True
        )
        self._accepting.start()

    def stop(self, patience: float = 2.0) -> None:
        """Stop accepting, let responses under way finish within `patience` seconds, close all."""
        self.stopping = True
        if self._accepting is not None:
            self.shutdown()
            self._accepting.join()
        self.server_close()
        end = time.monotonic() + patience
        with self._lock:
            threads = list(self._open.items())
            for connection, _ in threads:
                if connection not in self._busy:
                    _hang_up(connection)
        for connection, thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
            if thread.is_alive():
                _hang_up(connection)
                thread.join(0.5)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Hand an accepted connection to a thread, or turn it away."""
        thread = threading.Thread(
            target=self._converse, args=(request, client_address), daemon=True
        )
        with self._lock:
            full = len(self._open) >= self._limit
            if not full:
                self._open[request] = thread
        if full:
            request.settimeout(1.0)
            body = b"too many connections\n"
            head = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: %d"
            request.sendall(head % len(body) + b"\r\n\r\n" + body)
            self.shutdown_request(request)
            return
        try:
            thread.start()
        except RuntimeError:
            # No further thread can be had; what is not served must not count as open.
            with self._lock:
                self._open.pop(request, None)
            raise

    def _converse(self, request: socket.socket, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError as problem:
            _LOG.debug("connection lost: %s", problem)
        except Exception:
            _LOG.exception("a connection failed")
        finally:
            self.shutdown_request(request)
            with self._lock:
                self._open.pop(request, None)
                self._busy.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log what went wrong while a connection was being accepted."""
        _LOG.debug("a connection could not be taken", exc_info=True)

    def mark(self, connection: socket.socket, busy: bool) -> None:
        """Note that a connection is in the midst of a request, or between two."""
        with self._lock:
            (self._busy.add if busy else self._busy.discard)(connection)


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        _LOG.debug("a connection was gone already")


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        server = self.server
        # As many header lines as `http.client` reads, of ordinary length.
        limit = server.line + server.body + 65_536
        reader = BoundedReader(self.connection, server.idle, server.whole, limit)
        self.rfile = reader  # type: ignore[assignment]
        self._reader = reader

    def handle_one_request(self) -> None:
        self.close_connection = True
        if self.server.stopping or not self._reader.begin():
            return
        self.server.mark(self.connection, True)
        try:
            self._one_request()
        except TooMuch:
            self._send(plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE), close=True)
        except TimeoutError:
            self._send(plain(HTTPStatus.REQUEST_TIMEOUT), close=True)
        finally:
            self.server.mark(self.connection, False)

    def _one_request(self) -> None:
        self.command, self.requestline, self.request_version = "", "", "HTTP/1.1"
        self.raw_requestline = self._reader.readline(self.server.line + 1)
        if len(self.raw_requestline) > self.server.line:
            self._send(plain(HTTPStatus.REQUEST_URI_TOO_LONG), close=True)
        elif self.parse_request():
            self._serve()

    def _serve(self) -> None:
        refusal = self._refusal()
        if refusal is not None:
            self._send(refusal, close=True)
            return
        try:
            request = self._read_request()
        except ValueError as problem:
            self._send(plain(HTTPStatus.BAD_REQUEST, str(problem)), close=True)
            return
        try:
            response = self.server.answer(request)
        except Exception:
            _LOG.exception("no answer to %.200r", self.path)
            response = plain(HTTPStatus.INTERNAL_SERVER_ERROR)
        self._send(response)

    def _refusal(self) -> Response | None:
        """Return why a well-formed request is not served at all."""
        headers = self.headers
        if self.request_version not in ("HTTP/1.0", "HTTP/1.1"):
            return plain(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
        if self.command not in _METHODS:
            return plain(HTTPStatus.METHOD_NOT_ALLOWED)
        hosts = headers.get_all("Host", [])
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return plain(HTTPStatus.MISDIRECTED_REQUEST, "this site goes by another name")
        lengths = headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in headers or (self.command == "POST" and not lengths):
            return plain(HTTPStatus.LENGTH_REQUIRED)
        if len(lengths) > 1 or not all(n.isascii() and n.isdigit() for n in lengths):
            return plain(HTTPStatus.BAD_REQUEST, "not a length")
        if lengths and (len(lengths[0]) > 9 or int(lengths[0]) > self.server.body):
            return plain(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if lengths and int(lengths[0]) and self.command != "POST":
            return plain(HTTPStatus.BAD_REQUEST, "a body where none belongs")
        if self.command == "POST" and headers.get_content_type() != _FORM:
            return plain(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        return None

    def _is_ours(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found[1] or found[2]
        if name.lower() in self.server.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _read_request(self) -> Request:
        if not self.path.startswith("/"):
            raise ValueError("a path was expected")
        parts = urlsplit(self.path)
        sent = parts.query
        if self.command == "POST":
            body = self._reader.read(int(self.headers["Content-Length"]))
            sent += ("&" if sent else "") + body.decode("ascii", "replace")
        fields = parse_qsl(sent, keep_blank_values=True, errors="replace", max_num_fields=_FIELDS)
        return Request(self.command, parts.path, dict(fields))

    def _send(self, response: Response, close: bool = False) -> None:
        self.close_connection = close or self.close_connection or self.server.stopping
        lines = [
            f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
            f"Date: {self.date_time_string()}",
            f"Content-Type: {response.content_type}",
            f"Content-Length: {len(response.body)}",
            f"Cache-Control: {'max-age=86400, immutable' if response.lasting else 'no-store'}",
            *(f"{name}: {value}" for name, value in _HEADERS.items()),
        ]
        if response.location:
            lines.append(f"Location: {response.location}")
        if response.status == HTTPStatus.METHOD_NOT_ALLOWED:
            lines.append(f"Allow: {', '.join(_METHODS)}")
        if self.close_connection:
            lines.append("Connection: close")
        # One write: with two, a delayed acknowledgement of the first can hold back the second.
        head = "\r\n".join(lines).encode("ascii") + b"\r\n\r\n"
        self.connection.settimeout(self.server.whole)
        self.wfile.write(head if self.command == "HEAD" else head + response.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what `http.server` itself refuses like everything else here."""
        self._send(plain(code), close=True)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the terminal quiet."""
        _LOG.debug(format, *args)
