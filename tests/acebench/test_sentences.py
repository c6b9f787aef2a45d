from __future__ import annotations

from typing import Any

import pytest

from agentenvs.acebench.records import Task
from agentenvs.acebench.sentences import check

LACKS = "Missing necessary parameters (a, b) for the api (Api)"
WRONG = "There is incorrect value (x,1) for the parameters (p) in the conversation history."
BEYOND = "Due to the limitations of the function, I cannot solve this problem."


def kind(category: str, answer: Any, text: str) -> str:
    task = Task(f"special_{category}_0", "en", f"special_{category}", 0, None, "?", ())
    return check(task, text, [answer]).error_type


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f'["{LACKS}"]', ""),
        (LACKS, ""),
        (LACKS.lower().replace("(api)", "(Api)"), ""),
        (f"<think>[{BEYOND}]</think>I reply: ['{LACKS}.']", ""),
        ("Missing necessary parameter (b,  a)\nfor the function ('Api')", ""),
        (f'["{LACKS}", "{BEYOND}"]', "error_detection"),
        (f"{LACKS} {WRONG} {BEYOND}", "error_detection"),
        (f"[Api()] {LACKS}", "error_detection"),
        ("Missing necessary parameters (a) for the api (Api)", "error_correction"),
        ("Missing necessary parameters (a, b, c) for the api (Api)", "error_correction"),
        ("Missing necessary parameters (a, b) for the api (ApiX)", "error_correction"),
        ("", "error_detection"),
        ("[]", "error_detection"),
        ("x" * 100_001, "error_detection"),
    ],
)
def test_incomplete(text: str, error: str) -> None:
    assert kind("incomplete", {"Api": ["a", "b"]}, text) == error


def test_two_sentences_of_one_function() -> None:
    one = "Missing necessary parameters ({}) for the api (Api)"
    text = str([one.format("a"), one.format("b")])
    assert kind("incomplete", {"Api": ["b", "a"]}, text) == ""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f'["{WRONG}"]', ""),
        ("There are incorrect values (X, 1) for the parameter (p)", ""),
        (WRONG.replace("(p)", "(q)"), "error_correction"),
        (WRONG.replace("x,1", "x"), "error_correction"),
        (f"{WRONG} {WRONG}", "error_correction"),
        (BEYOND, "error_detection"),
    ],
)
def test_error_param(text: str, error: str) -> None:
    assert kind("error_param", {"p": ["x,1"]}, text) == error


def test_two_wrong_values() -> None:
    one = "There is incorrect value ({}) for the parameters ({})"
    answer = {"p": ["x"], "q": ["y(1)"]}
    assert kind("error_param", answer, str([one.format("y(1)", "q"), one.format("x", "p")])) == ""
    assert kind("error_param", answer, one.format("y(1), x", "q, p")) == ""
    assert kind("error_param", answer, one.format("x, y(1)", "q, p")) == "error_correction"
    assert kind("error_param", answer, one.format("x", "p")) == "error_correction"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (BEYOND, ""),
        (f"Well: ['{BEYOND}']", ""),
        ("due to the limitations of the functions, I can't solve this problem", ""),
        ("Due to the limitations of the function, this cannot be done.", ""),
        ("the limitations of the function", "error_detection"),
        (f"Not {BEYOND}", "error_detection"),
        (f"{BEYOND} Or so.", "error_detection"),
        (f"{BEYOND} [f()]", "error_detection"),
    ],
)
def test_irrelevant(text: str, error: str) -> None:
    assert kind("irrelevant", "...", text) == error
