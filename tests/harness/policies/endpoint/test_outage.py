from __future__ import annotations

import pickle

import pytest

from agentenvs.harness.policies.endpoint.backoff import Backoff
from agentenvs.harness.policies.endpoint.faults import Fault
from agentenvs.harness.policies.endpoint.outage import Outage
from agentenvs.harness.policies.endpoint.tries import Tries

GONE = Fault("no connection", "connection")
LOADS = Fault("HTTP 503", "http_503", retry_after=7.0)
BROKE = Fault("HTTP 500", "http_500")
LATE = Fault("no answer in time", "timeout")


class Clock:
    """A clock that goes as far as it is told."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outage(clock: Clock) -> Outage:
    return Outage(600.0, quiet=120.0, now=clock)


def tries(outage: Outage, retries: int = 1) -> Tries:
    return Tries(retries, Backoff(0.5, 60.0), outage)


def test_requests_share_one_clock_that_an_answer_stops(clock: Clock, outage: Outage) -> None:
    assert outage.failed() == 600.0
    clock.time += 100.0
    assert outage.failed() == 500.0
    assert outage.lasted == 100.0
    outage.answered()
    assert outage.lasted == 0.0
    assert outage.failed() == 600.0
    assert outage.number == 2


def test_an_outage_that_nobody_has_heard_of_for_long_is_over(clock: Clock, outage: Outage) -> None:
    outage.failed()
    clock.time += 121.0
    assert outage.failed() == 600.0
    assert outage.number == 2


def test_the_waits_double_up_to_the_longest_and_end_with_the_clock(
    clock: Clock, outage: Outage
) -> None:
    began, waits = clock.time, []
    with tries(outage, retries=0) as these:
        while (wait := these.wait_after(GONE)) is not None:
            waits.append(wait)
            clock.time += wait
    assert 0.25 <= waits[0] <= 0.5
    assert 30.0 <= max(waits) <= 60.0
    assert clock.time - began == pytest.approx(600.0)
    assert these.end == "; gone for 600 s, and the policy's `outage` is 600 s"


def test_later_requests_of_an_outage_that_is_over_wait_no_more(
    clock: Clock, outage: Outage
) -> None:
    outage.failed()
    for _ in range(11):
        clock.time += 60.0
        outage.failed()
    with tries(outage, retries=5) as these:
        assert these.wait_after(GONE) is None
    assert "gone for 660 s" in these.end


def test_other_faults_are_counted(outage: Outage) -> None:
    with tries(outage, retries=2) as these:
        assert [these.wait_after(fault) is None for fault in (BROKE, LATE, LOADS)] == [
            False,
            False,
            True,
        ]
    assert these.end == " (tries: 3, as the policy's `retries` allow)"
    with tries(outage, retries=0) as these:
        assert these.wait_after(LATE) is None
    assert these.end == ""


def test_a_server_that_comes_back_and_loads_is_not_there_yet(outage: Outage) -> None:
    with tries(outage, retries=0) as these:
        assert these.wait_after(GONE) is not None
        for _ in range(5):
            wait = these.wait_after(LOADS)
            assert wait is not None
            assert wait >= 7.0
        assert outage.number == 1


def test_an_answer_of_any_other_kind_ends_an_outage_and_silence_does_not(outage: Outage) -> None:
    with tries(outage) as these:
        these.wait_after(GONE)
        these.wait_after(LATE)
        assert outage.told("host") != ""
        these.wait_after(BROKE)
        assert outage.told("host") == ""


def test_outages_between_which_others_are_answered_are_counted(outage: Outage) -> None:
    with tries(outage, retries=2) as these:
        for left in (True, True, True, False):
            assert (these.wait_after(GONE) is not None) is left
            outage.answered()
    assert "(tries: 4" in these.end


def test_without_an_outage_to_wait_for_a_lost_connection_counts(clock: Clock) -> None:
    with tries(Outage(0.0, 120.0, clock)) as these:
        assert these.wait_after(GONE) is not None
        assert these.wait_after(GONE) is None
    assert "(tries: 2" in these.end


def test_whoever_waits_is_told(clock: Clock, outage: Outage) -> None:
    assert outage.told("host:8000") == ""
    with tries(outage) as these:
        these.wait_after(GONE)
        clock.time += 45.0
        assert outage.told("host:8000") == "no answer from host:8000 for 0:45, waiting (1 request)"
        with tries(outage) as others:
            others.wait_after(GONE)
            others.wait_after(GONE)
            assert "(2 requests)" in outage.told("host:8000")
    assert outage.told("host:8000") == ""


def test_another_process_begins_anew(outage: Outage) -> None:
    with tries(outage) as these:
        these.wait_after(GONE)
        there = pickle.loads(pickle.dumps(outage))  # noqa: S301
    assert there.lasted == 0.0
    assert there.waiting == 0
