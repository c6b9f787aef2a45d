from __future__ import annotations

import json
import math

import pytest

from agentenvs.errors import UnknownName
from agentenvs.harness.ptgs.selftest import Check, Report

ROWS = (
    Check("samples", "passed", "as it should be", {"draws": 4.0}),
    Check("scores", "failed", " ".join(["words"] * 30), {"error": math.inf}),
    Check("rows", "not run", "nothing was seen"),
)


def test_the_table() -> None:
    lines = str(Report(ROWS)).splitlines()
    assert lines[0] == "samples  passed   as it should be"
    assert lines[1].startswith("scores   failed   words")
    assert lines[2].startswith(" " * 18 + "words")
    assert lines[-2] == "rows     not run  nothing was seen"
    assert lines[-1] == "NOT PASSED: 1 passed, 1 failed, 1 not run"
    assert max(map(len, lines)) <= 100


def test_what_was_not_run_did_not_pass() -> None:
    assert Report(ROWS[:1]).passed
    undecided = Report((ROWS[0], ROWS[2]))
    assert not undecided.passed
    assert not undecided.failed
    assert str(undecided).splitlines()[-2] == "UNDECIDED: 1 passed, 1 not run"
    left = Report((ROWS[0], Check("loss", "left out", "as asked for")))
    assert left.passed
    assert str(left).splitlines()[-2] == "PASSED: 1 passed, 1 left out"


def test_nothing_but_left_out_is_not_passed() -> None:
    report = Report((Check("loss", "left out", "as asked for"),))
    assert not report.passed
    assert str(report).splitlines()[-2] == "NOT PASSED: 1 left out"


def test_what_no_check_sees_is_said_where_nothing_failed() -> None:
    unseen = "Not seen: whether `step` draws by the code of `sample`."
    assert str(Report(ROWS[:1])).endswith("\n" + unseen)
    assert str(Report((ROWS[0], ROWS[2]))).endswith("\n" + unseen)
    assert unseen not in str(Report(ROWS))


def test_a_report_without_checks_says_so() -> None:
    assert str(Report(())) == "no checks"
    assert not Report(()).passed


def test_checks_by_name() -> None:
    report = Report(ROWS)
    assert report["rows"] is ROWS[2]
    assert report.failed == ("scores",)
    assert list(report) == list(ROWS)
    with pytest.raises(UnknownName, match="Did you mean 'scores'"):
        report["score"]


def test_json() -> None:
    told = json.loads(json.dumps(Report(ROWS, seed=4).as_dict(), allow_nan=False))
    assert told["seed"] == 4
    assert told["passed"] is False
    assert told["checks"][1]["numbers"] == {"error": None}
