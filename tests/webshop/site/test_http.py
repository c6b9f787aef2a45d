from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus

import pytest

from agentenvs.webshop.site.http import Request, Response, Server, plain


def answer(request: Request) -> Response:
    if request.path == "/fail":
        raise RuntimeError("inside")
    if request.path == "/slow":
        time.sleep(0.3)
    if request.path == "/away":
        return Response(HTTPStatus.SEE_OTHER, location="/there")
    return plain(200, f"{request.method} {request.path} {sorted(request.fields.items())}")


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(
        ("127.0.0.1", 0), answer, connections=8, idle=2.0, whole=0.5, line=2_000, body=1_000
    )
    made.start()
    yield made
    made.stop()


def say(server: Server, *parts: bytes, pause: float = 0.0) -> bytes:
    """Send bytes as they are and return everything that comes back until the end."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        got = b""
        try:
            while chunk := connection.recv(65_536):
                got += chunk
        except ConnectionResetError:
            pass
        return got


def status(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1]) if reply else 0


HOST = b"Host: localhost\r\n"


def test_requests_share_a_connection(server: Server) -> None:
    one = b"GET /a?b=1&c=%20x HTTP/1.1\r\n" + HOST + b"\r\n"
    form = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\nb=2&d=+"
    two = b"POST /a?b=1 HTTP/1.1\r\n" + HOST + form
    reply = say(server, one + two + one)
    assert reply.count(b"HTTP/1.1 200 OK") == 3
    assert b"GET /a [('b', '1'), ('c', ' x')]" in reply
    assert b"POST /a [('b', '2'), ('d', ' ')]" in reply


def test_head_has_no_body(server: Server) -> None:
    reply = say(server, b"HEAD /a HTTP/1.1\r\n" + HOST + b"\r\n")
    assert status(reply) == 200
    assert reply.endswith(b"\r\n\r\n")


def test_old_clients_are_served_once(server: Server) -> None:
    reply = say(server, b"GET /a HTTP/1.0\r\n" + HOST + b"\r\n")
    assert status(reply) == 200
    assert b"Connection: close" in reply


def test_every_answer_says_what_browsers_may_do(server: Server) -> None:
    for sent in (b"GET /a HTTP/1.1\r\n" + HOST + b"\r\n", b"nonsense\r\n\r\n"):
        reply = say(server, sent)
        for header in (b"Content-Security-Policy: default-src 'none'", b"nosniff", b"no-referrer"):
            assert header in reply
        assert b"Python" not in reply


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"PUT /a HTTP/1.1\r\n" + HOST + b"\r\n", 405),
        (b"TRACE /a HTTP/1.1\r\n" + HOST + b"\r\n", 405),
        (b"CONNECT evil.example:80 HTTP/1.1\r\n" + HOST + b"\r\n", 405),
        (b"GET\r\n\r\n", 400),
        (b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /a HTTP/9.9\r\n" + HOST + b"\r\n", 505),
        (b"GET /a HTTP/x\r\n" + HOST + b"\r\n", 400),
        (b"GET /a\r\n\r\n", 505),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET http://evil.example/a HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET a HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /" + b"x" * 3_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
        (b"GET /a HTTP/1.1\r\n" + HOST + b"X: " + b"y" * 70_000 + b"\r\n\r\n", 431),
        (b"GET /a HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 200 + b"\r\n", 431),
        (b"GET /a HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\n\r\nabc", 400),
        (b"POST /a HTTP/1.1\r\n" + HOST + b"\r\n", 411),
        (b"POST /a HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n", 400),
        (b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 1_0\r\n\r\n", 400),
        (b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
        (b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 5000\r\n\r\n", 413),
        (b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", 413),
        (b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\n{}", 415),
        (b"GET /a?" + b"a=1&" * 50 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /a HTTP/1.1\r\n\r\n", 421),
        (b"GET /a HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 421),
    ],
)
def test_what_is_no_request_of_ours_is_refused(server: Server, sent: bytes, expected: int) -> None:
    assert status(say(server, sent)) == expected


@pytest.mark.parametrize(
    "path", [b"/%00", b"/\x00", b"/%ff%fe", b"/\xff", b"/..//..", b"/%0d%0aX:y"]
)
def test_odd_paths_reach_the_answer_as_they_are(server: Server, path: bytes) -> None:
    reply = say(server, b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    assert status(reply) == 200
    assert b"\r\nX:y" not in reply


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (b"localhost", 200),
        (b"LOCALHOST:3000", 200),
        (b"127.0.0.1:1", 200),
        (b"[::1]:80", 200),
        (b"192.168.1.5", 200),
        (b"evil.example", 421),
        (b"localhost.evil.example", 421),
        (b"127.0.0.1.evil.example", 421),
        (b"[::1].evil", 421),
        (b"", 421),
    ],
)
def test_other_hosts_names_are_refused(server: Server, host: bytes, expected: int) -> None:
    assert status(say(server, b"GET /a HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")) == expected


def test_a_redirect_says_where_to(server: Server) -> None:
    reply = say(server, b"GET /away HTTP/1.1\r\n" + HOST + b"\r\n")
    assert status(reply) == 303
    assert b"\r\nLocation: /there\r\n" in reply


def test_a_failure_inside_tells_nothing_to_the_client(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        reply = say(server, b"GET /fail HTTP/1.1\r\n" + HOST + b"\r\n")
    assert status(reply) == 500
    assert b"inside" not in reply
    assert "RuntimeError: inside" in caplog.text


def test_a_request_that_drips_is_given_up(server: Server) -> None:
    drip = [bytes([byte]) for byte in b"GET /abcdefgh"]
    began = time.monotonic()
    assert status(say(server, *drip, pause=0.1)) == 408
    assert time.monotonic() - began < 4


def test_nothing_is_printed(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    say(server, b"GET /a HTTP/1.1\r\n" + HOST + b"\r\n")
    say(server, b"nonsense\r\n\r\n")
    say(server, b"GET /fail HTTP/1.1\r\n")
    assert capfd.readouterr() == ("", "")


def test_connections_beyond_the_limit_are_turned_away(server: Server) -> None:
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=5) for _ in range(8)]
    try:
        for connection in held:
            connection.sendall(b"GET /a HTTP/1.1\r\n" + HOST + b"\r\n")
            assert b"200 OK" in connection.recv(65_536)
        assert status(say(server)) == 503
    finally:
        for connection in held:
            connection.close()
    for _ in range(50):
        if status(say(server, b"GET /a HTTP/1.1\r\n" + HOST + b"\r\n")) == 200:
            return
        time.sleep(0.02)
    pytest.fail("the places of closed connections were not given free")


def test_stopping_ends_idle_connections_and_lets_answers_finish() -> None:
    server = Server(("127.0.0.1", 0), answer)
    server.start()
    idle = socket.create_connection(("127.0.0.1", server.port), timeout=5)
    idle.sendall(b"GET /a HTTP/1.1\r\n" + HOST + b"\r\n")
    assert b"200 OK" in idle.recv(65_536)
    replies: list[bytes] = []
    asking = threading.Thread(
        target=lambda: replies.append(say(server, b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\n"))
    )
    asking.start()
    time.sleep(0.1)
    before = threading.active_count()
    server.stop()
    asking.join()
    assert status(replies[0]) == 200
    assert idle.recv(10) == b""
    idle.close()
    assert threading.active_count() < before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=1)


def test_a_connection_that_gets_no_thread_does_not_count_as_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server(("127.0.0.1", 0), answer, connections=1)
    server.start()
    try:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", _no_thread)
            assert say(server, b"GET / HTTP/1.1\r\n" + HOST + b"\r\n") == b""
        assert status(say(server, b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")) == 200
    finally:
        server.stop()


def _no_thread(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
