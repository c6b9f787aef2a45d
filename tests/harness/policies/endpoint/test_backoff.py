from __future__ import annotations

import email.utils
import time

import pytest

from agentenvs.harness.policies.endpoint.backoff import Backoff, read_retry_after


def test_waits_double_within_their_spans_and_have_an_end() -> None:
    backoff = Backoff(0.5, 8.0)
    waits = [backoff.wait(attempt) for attempt in range(8)]
    for attempt, wait in enumerate(waits):
        span = min(8.0, 0.5 * 2**attempt)
        assert span / 2 <= wait <= span
    assert 4.0 <= backoff.wait(10**9) <= 8.0


def test_the_same_seed_gives_the_same_waits() -> None:
    first, again, other = Backoff(1, 60, 3), Backoff(1, 60, 3), Backoff(1, 60, 4)
    waits = [first.wait(n) for n in range(5)]
    assert waits == [again.wait(n) for n in range(5)]
    assert waits != [other.wait(n) for n in range(5)]


def test_a_server_is_left_alone_for_as_long_as_it_asks_within_bounds() -> None:
    backoff = Backoff(0.5, 60.0)
    assert 7.25 <= backoff.wait(0, 7.0) <= 7.5
    assert backoff.wait(0, 3600.0) == 60.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        ("0.5", 0.5),
        ("-4", 0.0),
        ("soon", None),
        ("nan", None),
        ("", None),
    ],
)
def test_retry_after_as_a_number(value: str | None, seconds: float | None) -> None:
    assert read_retry_after(value) == seconds


def test_retry_after_as_a_date() -> None:
    soon = email.utils.formatdate(time.time() + 30, usegmt=True)
    wait = read_retry_after(soon)
    assert wait is not None
    assert 20 < wait <= 30
    assert read_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
