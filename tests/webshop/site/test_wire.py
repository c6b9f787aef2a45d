from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from agentenvs.webshop.site.wire import BoundedReader, TooMuch

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ends = socket.socketpair()
    yield ends
    for end in ends:
        end.close()


def reader(pair: Pair, idle: float = 5.0, whole: float = 5.0, limit: int = 100) -> BoundedReader:
    return BoundedReader(pair[0], idle, whole, limit)


def test_lines_then_bytes(pair: Pair) -> None:
    pair[1].sendall(b"one\r\ntwo\nthree")
    mine = reader(pair)
    assert mine.begin()
    assert (mine.readline(), mine.readline(2), mine.readline(99)) == (b"one\r\n", b"tw", b"o\n")
    assert mine.read(2) == b"th"
    pair[1].close()
    assert (mine.readline(), mine.read(3), mine.readline()) == (b"ree", b"", b"")


def test_nothing_begins_where_the_client_left_or_is_quiet(pair: Pair) -> None:
    assert not reader(pair, idle=0.01).begin()
    pair[1].close()
    assert not reader(pair).begin()


def test_a_request_may_not_have_more_bytes_than_the_limit(pair: Pair) -> None:
    pair[1].sendall(b"x" * 500)
    mine = reader(pair)
    mine.begin()
    with pytest.raises(TooMuch):
        mine.readline()


def test_the_limit_is_for_each_request(pair: Pair) -> None:
    mine = reader(pair)
    for _ in range(5):
        pair[1].sendall(b"x" * 59 + b"\n")
        assert mine.begin()
        assert len(mine.readline()) == 60


def test_one_deadline_covers_a_request(pair: Pair) -> None:
    pair[1].sendall(b"x")
    mine = reader(pair, whole=0.02)
    assert mine.begin()
    with pytest.raises(TimeoutError):
        mine.readline()
