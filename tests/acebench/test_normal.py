from __future__ import annotations

from typing import Any

import pytest

from agentenvs.acebench.normal import check
from agentenvs.acebench.records import Task

TYPES: dict[str, Any] = {
    "s": "string",
    "n": "integer",
    "r": "number",
    "b": "boolean",
    "o": "object",
    "l": {"type": "array", "items": {"type": "string"}},
    "p": {"type": "array", "items": {"type": "object"}},
    "q": {"type": "array"},
    "f": "float",
}


def described(name: str, required: tuple[str, ...] = (), keys: str = "snrbolpqf") -> dict[str, Any]:
    known = {
        key: {"type": TYPES[key]} if isinstance(TYPES[key], str) else TYPES[key] for key in keys
    }
    schema = {"type": "object", "properties": known, "required": list(required)} if keys else {}
    return {"name": name, "parameters": schema}


def task(answer: Any, *functions: dict[str, Any], category: str = "normal_atom_bool") -> Task:
    turn = 0 if "multi" in category else None
    return Task(
        f"{category}_0", "en", category, 0, turn, "?", functions or (described("F"),), answer=answer
    )


def kind(answer: Any, text: str, *functions: dict[str, Any]) -> str:
    found = check(task(answer, *functions), text)
    assert found.valid == (found.error_type == "")
    return found.error_type


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("Hello, World", "'say hello world!'"),
        ("a-b_c", "'ABC'"),
        ("it's", "'it\"s'"),
        ("", "'x'"),
    ],
)
def test_a_text_that_contains_the_reference_passes(wanted: str, given: str) -> None:
    assert kind({"F": {"s": wanted}}, f"[F(s={given})]") == ""


@pytest.mark.parametrize(
    ("wanted", "given"), [("abc", "'ab'"), ("a,b", "'a\uff0cb'"), ("a:b", "'ab'")]
)
def test_a_text_that_does_not(wanted: str, given: str) -> None:
    assert kind({"F": {"s": wanted}}, f"[F(s={given})]") == "value_error:string"


@pytest.mark.parametrize(
    ("key", "wanted", "given"),
    [
        ("n", 5, "6"),
        ("n", 5, "-5"),
        ("n", 5, "not True"),
        ("n", 5, "5.0"),
        ("b", True, "False"),
        ("b", False, "true"),
        ("b", False, "'true'"),
        ("b", False, "0"),
        ("r", 2.5, "7"),
        ("r", 2.5, "9.9"),
        ("s", None, "None"),
    ],
)
def test_numbers_and_booleans_are_not_compared(key: str, wanted: Any, given: str) -> None:
    assert kind({"F": {key: wanted}}, f"[F({key}={given})]") == ""


@pytest.mark.parametrize(
    ("key", "wanted", "given"),
    [
        ("n", 5, "'5'"),
        ("n", 5, "5.5"),
        ("n", 5, "True"),
        ("r", 2.5, "'2.5'"),
        ("b", True, "'True'"),
        ("b", True, "0"),
        ("s", "x", "7"),
        ("s", "x", "None"),
        ("l", ["x"], "('x',)"),
        ("l", ["x"], "'x'"),
        ("o", {"a": 1}, "'x'"),
        ("n", 5, "int(5)"),
    ],
)
def test_wrong_types(key: str, wanted: Any, given: str) -> None:
    assert kind({"F": {key: wanted}}, f"[F({key}={given})]") == "type_error"


@pytest.mark.parametrize(("key", "wanted"), [("l", []), ("p", []), ("o", {})])
def test_an_empty_reference_can_not_be_met(key: str, wanted: Any) -> None:
    assert kind({"F": {key: wanted}}, f"[F({key}={wanted!r})]") == "type_error"


@pytest.mark.parametrize(
    ("wanted", "given", "error"),
    [
        ({"a": 5, "b": "X"}, "{'b': 'not x', 'a': -15}", ""),
        ({"a": 5}, "{'a': '5'}", ""),
        ({"a": {"b": "x"}}, "{'a': {'b': 'X!'}}", ""),
        ({"a": [1, 2]}, "{'a': [1, 2]}", ""),
        ({"a": ["x y"]}, "{'a': ['xy']}", "value_error"),
        ({"a": True}, "{'a': 1}", "value_error"),
        ({"a": 1}, "{}", "value_error"),
        ({"a": 1}, "{'a': 1, 'b': 2}", "value_error"),
        ({"a": {"b": 1}}, "{'a': 'b'}", "value_error"),
    ],
)
def test_objects(wanted: Any, given: str, error: str) -> None:
    assert kind({"F": {"o": wanted}}, f"[F(o={given})]") == error


@pytest.mark.parametrize(
    ("key", "wanted", "given", "error"),
    [
        ("l", ["A b", "c"], "['ab', 'C']", ""),
        ("l", ["a", "b"], "['b', 'a']", "value_error:list/tuple"),
        ("l", ["a"], "['a b']", "value_error:list/tuple"),
        ("l", [1], "[True]", ""),
        ("p", [{"a": "x"}, {"a": "y"}], "[{'a': 'x!'}, {'a': 'Y'}]", ""),
        ("p", [{"a": "x"}], "[]", "value_error:list_dict_count"),
        ("p", [{"a": "x"}], "[{'a': 'z'}]", "value_error"),
        ("p", [{"a": "x"}], "['x']", "value_error"),
        ("q", ["None"], "['None']", "value_error"),
    ],
)
def test_lists(key: str, wanted: Any, given: str, error: str) -> None:
    assert kind({"F": {key: wanted}}, f"[F({key}={given})]") == error


def test_arguments_that_lack_or_are_too_many() -> None:
    f = described("F", ("s",))
    answer = {"F": {"s": "x", "n": 1}}
    assert kind(answer, "[F(s='x')]", f) == ""
    assert kind(answer, "[F(n=1)]", f) == "lack_args"
    assert kind(answer, "[F('x', n=1)]", f) == "lack_args"
    assert kind(answer, "[F(s='x', r=1)]", f) == "addition_args"
    assert kind(answer, "[F(s='x', z=1)]", f) == "addition_args"
    assert kind(answer, "[F(s='x', **{'n': 1})]", f) == "addition_args"
    assert kind(answer, "[F()]", f) == "wrong_param"


def test_a_function_without_parameters() -> None:
    f = described("F", keys="")
    assert kind({"F": {}}, "[F()]", f) == ""
    assert kind({"F": {}}, "[F(x=1)]", f) == "wrong_param"


def test_names_and_their_number() -> None:
    answer = {"F": {"s": "x"}, "G": {"s": "y"}}
    both = described("F"), described("G")
    assert kind(answer, "[G(s='y'), F(s='x')]", *both) == ""
    assert kind(answer, "[F(s='x')]", *both) == "wrong functions number"
    assert kind(answer, "[F(s='x'), H(s='y')]", *both) == "function_mismatch"
    assert kind(answer, "[F(s='x'), F(s='x')]", *both) == "function_mismatch"
    assert kind({"F": {"s": "x"}}, "[]") == "wrong functions number"


def test_one_call_may_stand_for_two() -> None:
    answer = {"F_1": {"s": "x"}, "F_2": {"s": "xy"}}
    assert kind(answer, "[F(s='xy'), F(s='xy')]") == ""
    assert kind(answer, "[F(s='x'), F(s='x')]") == "value_error:string"


def test_the_last_failure_is_told() -> None:
    both = described("F"), described("G")
    answer = {"F": {"s": "x"}, "G": {"s": "y"}}
    assert kind(answer, "[F(s='z'), G(s='y')]", *both) == "simple_function_checker:unclear"
    assert kind(answer, "[G(s='y'), F(s='z')]", *both) == "value_error:string"
    assert check(task(answer, *both), "[G(s='y'), F(s=1)]").detail.startswith("Parallel")


def test_a_name_that_ends_with_a_number_can_not_be_met() -> None:
    f = described("F_2")
    assert kind({"F_2": {"s": "x"}}, "[F_2(s='x')]", f) == "function_mismatch"
    assert kind({"F_2": {"s": "x"}}, "[F(s='x')]", f) == "wrong_function_name"


def test_alternatives() -> None:
    answer = [{"F": {"s": "x"}}, {"F": {"s": "y"}}]
    assert kind(answer, "[F(s='y')]") == ""
    assert kind(answer, "[F(s='z')]") == "value_error:string"


def test_text_around_the_list() -> None:
    answer = {"F": {"s": "x"}}
    assert kind(answer, "Sure:\n```python\n[F(s='x')]\n```") == ""
    assert kind(answer, "<think>[plan]</think>[F(s='x')]") == "wrong_output_format"
    assert kind(answer, "F(s='x')") == "wrong_output_format"
    assert kind(answer, "") == "wrong_output_format"


def test_dialogues_lose_their_white_space() -> None:
    nested = task({"F": {"o": {"a": ["x y"]}}}, category="normal_multi_turn_user_adjust")
    assert check(nested, "[F(o={'a': ['x y']})]").error_type == "value_error"
    plain = task({"F": {"s": "x y"}}, category="normal_multi_turn_user_adjust")
    assert check(plain, " [ F( s = 'x y' ) ] ").valid
    assert check(plain, "Sure: [F(s='x y')]").error_type == "wrong_output_format"
