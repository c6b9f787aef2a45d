from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.acebench.compare import difference, plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("New York, USA", "new york usa"),
        ("a-b_c/d", "A B C D"),
        ("2023-01-05", "2023/01/05"),
        ("全角\uff0c文本。", "全角,文本"),
        ("\uff21\uff22\uff11", "ab1"),
        ("it's “so”", "it\u2019s 'so'"),
        ("The end.", "the end"),
        ("5 km", "5km"),
    ],
)
def test_what_counts_as_the_same_text(one: str, other: str) -> None:
    assert plain(one) == plain(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("-5", "5"),
        ("1.5", "15"),
        ("1 5", "15"),
        ("1,500", "1500"),
        ("20230105", "2023-01-05"),
        ("1+i", "1-i"),
        ("-i", "i"),
        ("a@b", "ab"),
        ("z^2", "z2"),
        ("not so", "so"),
        ("so extra", "so"),
        ("wait!", "wait?"),
        ("", "x"),
    ],
)
def test_what_does_not(one: str, other: str) -> None:
    assert plain(one) != plain(other)


@pytest.mark.parametrize(
    ("value", "wanted", "found"),
    [
        (1, 1.0, ""),
        (True, 1, "a.b: expected a number, got true or false: True"),
        ("1", 1, "a.b: expected a number, got a text: '1'"),
        (None, "x", "a.b: expected a text, got nothing: None"),
        ({1}, [], "a.b: expected a list, got something else: {1}"),
        ((1, 2), [1, 2], ""),
        ([1], [1, 2], "a.b: expected 2 items, got 1"),
        ([1, 2], [2, 1], "a.b.0: expected 2, got 1"),
        ({"x": {"y": [0]}}, {"x": {"y": [1]}}, "a.b.x.y.0: expected 1, got 0"),
        ({}, {"x": 1}, "a.b.x: missing"),
        ({"x": 1}, {}, "a.b.x: not in the reference"),
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}, ""),
    ],
)
def test_where_two_values_differ(value: Any, wanted: Any, found: str) -> None:
    assert difference(value, wanted, "a.b") == found


def test_values_nested_too_deeply() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    assert difference(deep, deep).endswith("nested too deeply")


data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(data)
def test_a_value_is_equal_to_itself(value: Any) -> None:
    assert difference(value, value) == ""


@given(data, data)
def test_both_ways_agree(one: Any, other: Any) -> None:
    assert bool(difference(one, other)) == bool(difference(other, one))


@given(st.text())
def test_words_around_a_text_count(text: str) -> None:
    assert plain(f"not {text}") != plain(text) != plain(f"{text} extra")
