from __future__ import annotations

from typing import Any

import pytest

from agentenvs.acebench.records import Task
from agentenvs.acebench.strict import check

SCHEMA = {
    "properties": {
        "s": {"type": "string"},
        "n": {"type": "integer", "default": 3},
        "l": {"type": "array"},
    }
}


def kind(answers: Any, text: str, *names: str) -> str:
    functions = [{"name": name, "parameters": SCHEMA} for name in names or ("F",)]
    task = Task("normal_atom_bool_0", "en", "normal_atom_bool", 0, None, "?", functions)
    found = check(task, text, answers if isinstance(answers, list) else [answers])
    assert found.valid == (not found.error_type) == (not found.detail)
    return found.error_type


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[F(s='a B', l=[1, {'x': True}])]", ""),
        ('Sure: [F(s="A b.", l=[1.0, {"x": true}])]', ""),
        ("<think>[F()]</think>\n[F('a b', l=(1, {'x': True}))]", ""),
        ('[{"name": "F", "arguments": {"s": "a b", "l": [1, {"x": true}]}}]', ""),
        ("[F(s='a B', n=3, l=[1, {'x': True}])]", ""),
        ("[F(s='a B', n=4, l=[1, {'x': True}])]", "addition_args"),
        ("[F(s='a B', l=[1, {'x': True}], z=1)]", "addition_args"),
        ("[F(s='a B')]", "lack_args"),
        ("[F(s='a Bc', l=[1, {'x': True}])]", "value_error"),
        ("[F(s='a B', l=[1, {'x': 1}])]", "value_error"),
        ("[F(s='a B', l=[-1, {'x': True}])]", "value_error"),
        ("[G(s='a B', l=[1, {'x': True}])]", "function_mismatch"),
        ("[F(s='a B', l=[1, {'x': True}]), F()]", "wrong functions number"),
        ("[F(s='a B', l=[1+0, {'x': True}])]", "wrong_output_format"),
        ("[F(s='a B', l=[1, {'x': True}], s='a B')]", "wrong_output_format"),
        ("[F(s='a B', l=int(1))]", "wrong_output_format"),
        ("F(s='a B')", "wrong_output_format"),
    ],
)
def test_every_leaf(text: str, error: str) -> None:
    assert kind({"F": {"s": "a b", "l": [1, {"x": True}]}}, text) == error


def test_a_default_may_be_left_out() -> None:
    assert kind({"F": {"n": 3}}, "[F()]") == ""
    assert kind({"F": {"n": 4}}, "[F()]") == "lack_args"


@pytest.mark.parametrize("wanted", [[], {}])
def test_empty_references(wanted: Any) -> None:
    assert kind({"F": {"l": wanted}}, f"[F(l={wanted})]") == ""


def test_each_call_counts_once() -> None:
    answer = {"F_1": {"s": "x"}, "F_2": {"s": "y"}, "F_3": {"s": "y"}}
    assert kind(answer, "[F(s='y'), F(s='y'), F(s='x')]") == ""
    assert kind(answer, "[F(s='y'), F(s='x'), F(s='x')]") == "value_error"
    assert kind(answer, "[F(s='z'), F(s='y'), F(s='y')]") == "value_error"


def test_a_name_that_ends_with_a_number() -> None:
    assert kind({"F_2": {"s": "x"}}, "[F_2(s='x')]", "F_2") == ""
    assert kind({"F_2": {"s": "x"}}, "[F(s='x')]", "F_2") == "function_mismatch"


def test_any_alternative_will_do() -> None:
    assert kind([{"F": {"s": "x"}}, {"F": {"s": "y"}}], "[F(s='y')]") == ""
    assert kind([{"F": {"s": "x"}}, {"F": {}}], "[F(s='z')]") == "value_error"
