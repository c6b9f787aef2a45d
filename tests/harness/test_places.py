from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentenvs.harness import make_policy
from agentenvs.harness.places import place_of


def caught(call: object) -> BaseException:
    try:
        call()  # type: ignore[operator]
    except Exception as error:
        return error
    raise AssertionError("it was to fail")


def test_the_innermost_frame_in_a_file_of_the_callers_own(tmp_path: Path) -> None:
    file = tmp_path / "flaky.py"
    file.write_text("import json\n\n\ndef answer(prompt):\n    return json.loads('{')\n")
    space: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), space)  # noqa: S102
    answer = space["answer"]
    assert place_of(caught(lambda: answer("x"))) == "flaky.py, line 5"  # type: ignore[operator]


def test_own_code_within_ours_counts_and_ours_does_not() -> None:
    error = caught(lambda: make_policy(5))  # type: ignore[arg-type]
    # The innermost frame is ours, the lambda is not.
    assert place_of(error).startswith(f"{Path(__file__).name}, line ")


def test_where_nothing_is_the_callers_own_the_innermost_of_others() -> None:
    error = caught(lambda: json.loads("{"))
    assert error.__traceback__ is not None
    inner = error.__traceback__.tb_next
    assert inner is not None
    assert inner.tb_next is not None
    error.__traceback__ = inner.tb_next
    assert place_of(error).startswith("decoder.py, line ")


def test_an_error_that_was_raised_nowhere_has_no_place() -> None:
    assert place_of(ValueError("x")) == ""


@pytest.mark.parametrize("room", ["site-packages", "dist-packages"])
def test_installed_packages_are_not_the_callers_own(room: str) -> None:
    space: dict[str, object] = {}
    code = "def fail():\n    raise ValueError('x')\n"
    exec(compile(code, os.path.join("/venv", room, "other.py"), "exec"), space)  # noqa: S102
    fail = space["fail"]
    error = caught(lambda: fail())  # type: ignore[operator]
    assert place_of(error).startswith(f"{Path(__file__).name}, line ")
    error.__traceback__ = error.__traceback__.tb_next.tb_next  # type: ignore[union-attr]
    assert place_of(error) == "other.py, line 2"
