from __future__ import annotations

import io
import math
import time

import pytest

from agentenvs.harness.progress import Progress, Reporter, reporter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_rate_counts_this_call_alone() -> None:
    state = Progress(total=100, done=60, resumed=50, successes=30)
    state.started -= 10.0
    assert 0.0 < state.per_second < 10 / 10.0
    assert state.pass_at_1 == 0.5
    assert state.eta_s == pytest.approx(40 / state.per_second, rel=0.01)


def test_nothing_is_known_before_the_first_rollout() -> None:
    state = Progress(total=10)
    assert math.isnan(state.pass_at_1)
    assert math.isinf(state.eta_s)
    assert state.line().startswith("0/10 rollouts")


def test_a_finished_run_has_no_time_to_go() -> None:
    state = Progress(total=10, done=10, resumed=10, successes=10)
    assert state.eta_s == 0.0
    assert "took" in state.line()


def test_a_log_gets_plain_lines() -> None:
    stream = io.StringIO()
    shown = reporter(True, stream)
    state = Progress(total=4, done=1, resumed=1)
    shown.start(state)
    state.done = 3
    shown.tick(state)
    shown.stop(state, "Stopped.")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "4 rollouts (1 done before)"
    assert lines[1].startswith("3/4 rollouts")
    assert lines[-1] == "Stopped."


def test_a_log_gets_the_last_line_once() -> None:
    stream = io.StringIO()
    shown = reporter(True, stream)
    state = Progress(total=4, done=4)
    shown.tick(state)
    shown.stop(state)
    assert stream.getvalue().count("4/4 rollouts") == 1


def test_a_terminal_gets_a_bar() -> None:
    stream = Terminal()
    shown = reporter(True, stream)
    state = Progress(total=4)
    shown.start(state)
    state.done = 2
    shown.tick(state)
    shown.stop(state, "Stopped with 2.")
    assert "2/4 rollouts" in stream.getvalue()
    assert "Stopped with 2." in stream.getvalue()


def test_a_function_is_called_as_each_rollout_ends() -> None:
    seen: list[int] = []
    shown = reporter(lambda state: seen.append(state.done))
    shown.ended(Progress(total=2, done=1))
    assert seen == [1]


def test_no_progress_shows_nothing() -> None:
    assert type(reporter(False)) is Reporter


def test_no_time_to_go_is_told_from_a_few_rollouts() -> None:
    state = Progress(total=1000, done=103, resumed=100, started=time.perf_counter() - 20.0)
    assert state.line().endswith("ETA ?")
    state.done = 116
    assert "ETA ?" not in state.line()
    short = Progress(total=10, done=9, started=time.perf_counter() - 9.0)
    assert short.line().endswith("ETA ?")


def test_slow_rollouts_are_told_by_the_minute_and_foretell_from_the_first() -> None:
    state = Progress(total=10, started=time.perf_counter() - 45.0)
    assert state.line() == "0/10 rollouts  none ended in 0:45  ETA ?"
    state.done = state.successes = 1
    state.started = time.perf_counter() - 60.0
    told = "1/10 rollouts  pass@1 1.000 so far  1.0/min  ETA "
    assert state.line().startswith(told)
    assert "ETA ?" not in state.line()
    state.done, state.successes = 10, 1
    assert state.line() == "10/10 rollouts  pass@1 0.100  0.2/s  took 1:00"


def test_a_run_that_was_done_before_has_no_rate() -> None:
    assert "/s" not in Progress(total=4, done=4, resumed=4, started=time.perf_counter()).line()


def test_void_tries_are_shown_where_there_are_some() -> None:
    state = Progress(total=10, done=3)
    assert "void" not in state.line()
    state.void = 12
    assert "  12 void  " in state.line()


def test_what_is_waited_for_stands_in_place_of_the_time_to_go() -> None:
    state = Progress(total=10, done=3)
    state.waiting = "no answer from host:8000 for 0:45, waiting (8 requests)"
    assert state.line().endswith(f"  {state.waiting}")
    assert "ETA" not in state.line()
    state.done = 10
    assert "no answer" not in state.line()
