from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.acebench.literal import decode_by_tree
from agentenvs.acebench.quick import quick_calls
from agentenvs.syntax import UnreadableCall

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
names = st.sampled_from(["f", "a_b", "x1", "λ", "名", "True_", "fi", "notes", "ﬁ", "class", "None"])
calls = st.lists(
    st.tuples(names, st.dictionaries(names, plain, max_size=3)), min_size=1, max_size=3
)


def written(calls: list[tuple[str, dict[str, Any]]]) -> str:
    texts = [
        f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
        for name, arguments in calls
    ]
    return f"[{', '.join(texts)}]"


def agree(text: str) -> bool:
    """Whether the text was read quickly, and then as the other reader reads it."""
    quick = quick_calls(text)
    if quick is not None:
        assert repr(quick) == repr(decode_by_tree(text))
    return quick is not None


@pytest.mark.parametrize(
    "text",
    [
        "[f(a='x', b=1, c=-2.5, d=True, e=None, g=[1, {'k': False}])]",
        '[f(a="it\'s", b=\'say "x"\')]',
        "[a.b(), c(x='')]",
        "[\n  f(a = 1)\n]".replace(" = ", "="),
        "[接口(名='值')]",
        "[f(a={'b': 1, 'b': 2}, a=3)]",
        "[f(a='(=[True')]",
    ],
)
def test_what_is_read_quickly(text: str) -> None:
    assert agree(text)


@pytest.mark.parametrize(
    "text",
    [
        "[f(x={'a':[1), y=2]}]",
        "[f(x=1]}, g(y=2)]",
        "[f(x',[1,'=2])]",
        "[f(a=b)]",
        "[f(a=true)]",
        "[f(a=NaN)]",
        "[f(a='x' 'y')]",
        "[f(a='\\n')]",
        "[f(a=(1))]",
        "[f(class=1)]",
        "[True(a=1)]",
        "[f(ﬁ=1)]",
        "[f({'a': 1})]",
        "[f(a=g(b=1))]",
        "[f(a=1)] # x",
        "[f(1)]",
        "[{'f': ['a', 1]}]",
        "['f', [1]]",
        "[f(a='x)]",
        "[f(a='x', b=\"y)]",
        "[f(a='\ud800')]",
        "[f(a='\ue001')]",
        "[f(a=1e5)]",
        "[f(a=1_000)]",
        "[f(a='" + "x" * 3_900 + "')]",
        "[f(a=" + "[" * 61 + "]" * 61 + ")]",
        "f(a=1)",
        "[]",
        "[1]",
        "",
    ],
)
def test_what_is_left_to_the_other_reader(text: str) -> None:
    assert quick_calls(text) is None


def test_an_argument_given_twice() -> None:
    assert quick_calls("[f(a=1, a=2)]") == [("f", {"a": 2})]
    assert quick_calls("[f(a=1, a=2)]", once=True) is None


@given(calls)
def test_plain_calls_are_read_alike(calls: list[tuple[str, dict[str, Any]]]) -> None:
    text = written(calls)
    try:
        decode_by_tree(text)
    except UnreadableCall:
        assert quick_calls(text) is None
    else:
        agree(text)


@given(calls, st.data())
def test_damaged_calls_are_read_alike(
    calls: list[tuple[str, dict[str, Any]]], data: st.DataObject
) -> None:
    text = written(calls)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = min(len(text), at + data.draw(st.integers(0, 3)))
        new = data.draw(st.text("[](){},:='\"\\ .-+*0a_\nT", max_size=3))
        text = text[:at] + new + text[end:]
    agree(text)
