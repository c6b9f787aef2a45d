from __future__ import annotations

from typing import Any

import pytest

from agentenvs.acebench.records import Task
from agentenvs.acebench.special import BEYOND, MISSING, WRONG_VALUE, check


def task(kind: str, answer: Any) -> Task:
    return Task(f"special_{kind}_0", "en", f"special_{kind}", 0, None, "?", (), answer=answer)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"{MISSING} (a, b) for the api (Api)", ""),
        (f"b a Api {MISSING}", ""),
        (f"{MISSING} abc ApiX", ""),
        (f"{MISSING} (a) for the api (Api)", "error_correction"),
        (f"{MISSING} (a, b) for the api (api)", "error_correction"),
        (f"{MISSING.lower()} (a, b) for the api (Api)", "error_detection"),
        ("Missing necessary parameter (a, b) for the api (Api)", "error_detection"),
        ("", "error_detection"),
    ],
)
def test_incomplete(text: str, error: str) -> None:
    assert check(task("incomplete", {"Api": ["a", "b"]}), text).error_type == error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"{WRONG_VALUE} (x@y) for the parameters (other)", ""),
        (f"x@y: {WRONG_VALUE}s", ""),
        (f"{WRONG_VALUE} (X@y)", "error_correction"),
        ("There are incorrect values (x@y)", "error_detection"),
    ],
)
def test_error_param(text: str, error: str) -> None:
    assert check(task("error_param", {"p": ["x@y"]}), text).error_type == error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"Due to {BEYOND}s, no.", ""),
        ("Due to limitations of the function", "error_detection"),
        (BEYOND.upper(), "error_detection"),
    ],
)
def test_irrelevant(text: str, error: str) -> None:
    assert check(task("irrelevant", "..."), text).error_type == error


def test_all_phrases_at_once_pass_everywhere() -> None:
    text = f"{MISSING} {WRONG_VALUE} {BEYOND} Api a x@y"
    assert check(task("incomplete", {"Api": ["a"]}), text).valid
    assert check(task("error_param", {"p": ["x@y"]}), text).valid
    assert check(task("irrelevant", "..."), text).valid
