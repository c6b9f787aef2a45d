from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.actions import MAX_CALLS, canonical, depth_of, read_json_action
from agentenvs.core import ToolCall

CALL = {"name": "f", "arguments": {"a": 1}}


def test_list_of_calls() -> None:
    action = read_json_action(json.dumps([CALL, CALL]))
    assert action is not None
    assert (action.status, action.calls) == ("calls", (ToolCall("f", {"a": 1}),) * 2)


def test_words_beside_calls() -> None:
    action = read_json_action(json.dumps({"content": "well", "tool_calls": [CALL]}))
    assert action is not None
    assert (action.status, action.content) == ("calls", "well")


@pytest.mark.parametrize(
    "text", ["[]", " [ ] ", '{"content": null, "tool_calls": []}', '{"tool_calls": null}']
)
def test_no_calls_are_words(text: str) -> None:
    action = read_json_action(text)
    assert action is not None
    assert action.status == "words"


@pytest.mark.parametrize(
    "text", ["", "hello", "[1, 2]", '{"a": 1}', "[f(a=1)]", '[{"name": "f"', "[NaN]", "{}", "null"]
)
def test_other_texts_are_not_for_this_reader(text: str) -> None:
    assert read_json_action(text) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([{"arguments": {}}], "a call has no name"),
        ([{"name": ""}], "a call has no name"),
        ([{"name": "f", "arguments": [1]}], "arguments of f are no object"),
        ([{"name": "f", "arguments": "{}"}], "arguments of f are no object"),
        ([{"name": "f", "args": {}}], "unknown key 'args' in the call of f"),
        ({"tool_calls": [1]}, "a call is not an object"),
        ({"tool_calls": "x"}, "tool_calls is not a list"),
        ({"content": 3, "tool_calls": []}, "content is neither text nor null"),
        ({"tool_calls": [], "more": 1}, "unknown key 'more' beside tool_calls"),
        ([CALL] * (MAX_CALLS + 1), f"more than {MAX_CALLS} calls"),
    ],
)
def test_malformed_says_why(value: object, reason: str) -> None:
    action = read_json_action(json.dumps(value))
    assert action is not None
    assert (action.status, action.calls, action.reason) == ("malformed", (), reason)


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, '[{"a":' * 50_000 + "}]"])
def test_deep_nesting_is_refused(text: str) -> None:
    assert read_json_action(text) is None


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(
    st.lists(
        st.builds(ToolCall, st.text(min_size=1), st.dictionaries(st.text(), json_values)),
        min_size=1,
        max_size=5,
    ),
    st.none() | st.text(),
)
def test_canonical_text_reads_back(calls: list[ToolCall], content: str | None) -> None:
    action = read_json_action(canonical(calls, content))
    assert action is not None
    assert (action.calls, action.content) == (tuple(calls), content)


@given(st.text() | st.text(alphabet='[]{}":,aname\\ 1'))
def test_never_raises(text: str) -> None:
    read_json_action(text)


def test_brackets_in_strings_are_not_nesting() -> None:
    said = "(" * 100 + '\\"' + "['" * 100
    call = {"name": "f", "arguments": {"a": said}}
    action = read_json_action(json.dumps([call]))
    assert action is not None
    assert action.calls == (ToolCall("f", {"a": said}),)


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("", 0),
        ("[({})]", 3),
        ("]][", 0),
        ('["[", "\\"[[", \'[[\']', 1),
        ("f('''[ ' [ \\''' ['''[[", 3),
        ("['[[\n[[']", 3),
        ('"""[[', 0),
        ('["\\', 1),
    ],
)
def test_depth(text: str, depth: int) -> None:
    assert depth_of(text) == depth


def test_numbers_that_no_float_holds_are_refused() -> None:
    action = read_json_action(
        '{"content": "so", "tool_calls": [{"name": "f", "arguments": {"a": [1e999]}}]}'
    )
    assert action is not None
    assert (action.status, action.content) == ("malformed", "so")
    assert action.reason == "a number too large for a float: 1e999"
    assert read_json_action('{"a": 1e999}') is None
