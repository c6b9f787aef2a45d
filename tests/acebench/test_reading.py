from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentenvs.acebench.literal import Call, decode
from agentenvs.acebench.reading import _read_plain, checked, read_message, settled
from agentenvs.syntax import UnreadableCall


@pytest.mark.parametrize(
    "text",
    [
        "[f(a='x')]",
        " [f(a='x')]",
        "f(a='x')",
        "[[f(a='x')]]",
        "['f(a=\"x\")']",
        "[f('lost', a='x')]",
        "[f(a='x') ]",
        "[f(a=x)]",
        '[f(\na="x")]',
        "[f(a='x')\n]",
        "[f(a='x') # said]",
        "[f(a='x'),]",
        "[(f(a='x'))]",
        "\n[f(a='x')]\n",
    ],
)
def test_a_message_that_reads(text: str) -> None:
    assert read_message(text) == [("f", {"a": "x"})]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "hello",
        "[done]",
        "[f(a='x')] ",
        "[f(a='x')]\n",
        "\n[f(a='x')]",
        "  [f(a='x')]",
        "[ f(a='x')]",
        "[\n f(a='x')]",
        "Sure! [f(a='x')]",
        "[f(a='x'), 1]",
        "[f(a='x'), g]",
        "[f(a='x'),\ng()]",
        "[f(a='it's')]",
        "[f(a={})]",
        "[f(a={'b': 1})]",
        "[f(a=g(b={'c': 1}))]",
        "[x = f()]",
        "()",
    ],
)
def test_a_message_that_does_not_read(text: str) -> None:
    with pytest.raises(UnreadableCall):
        read_message(text)


def test_several_calls_keep_their_order() -> None:
    text = "[f(), g(b=[1, -2.5, {'c': None}], d=(True, 'é')), a.h()]"
    assert read_message(text) == [
        ("f", {}),
        ("g", {"b": [1, -2.5, {"c": None}], "d": (True, "é")}),
        ("a.h", {}),
    ]
    assert read_message("f(), g(),") == [("f", {}), ("g", {})]


def test_of_a_repeated_argument_the_last_counts() -> None:
    assert read_message("[f(a=1, a=2)]") == [("f", {"a": 2})]


def test_sums_of_literals_are_worked_out() -> None:
    assert read_message("[f(a=[{'n': 2+1}])]") == [("f", {"a": [{"n": 3}]})]


plain = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**19), 10**19),
        st.floats(allow_nan=False),
        st.text(max_size=8),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
names = st.from_regex(r"[a-z_]{1,4}", fullmatch=True)
arguments = st.dictionaries(names, plain, max_size=4)
messages = st.lists(st.tuples(names, arguments), min_size=1, max_size=3)


def written(calls: list[tuple[str, dict[str, Any]]]) -> str:
    return ", ".join(
        f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
        for name, given in calls
    )


def outcome(text: str) -> list[Call] | None:
    try:
        return decode(f"{text},")
    except UnreadableCall:
        return None


@given(calls=messages)
def test_the_fast_reader_agrees_on_calls(calls: list[Any]) -> None:
    text = written(calls)
    found = _read_plain(text)
    assert found is None or repr(found) == repr(outcome(text))


@given(text=st.text("fg_a1.2=(),:[]{}'\" -\\\n#Tré", max_size=16))
@example("None()")
@example("f(if=1)")
@example("f(a='''')")
@example("f(a='b''c')")
@example("f(a=01)")
@example("f(a=1 b=2)")
@example("f(a=1_0)")
@example("f(a=1.)")
@example("f(a='b'[0])")
@example("f(a=[1,])")
@example("f(),")
@example("f()g()")
@example("f(a=-0)")
@example("f(a={'b':1,'b':2})")
@example("f(a==1)")
@example("f(a=1if 1else 2)")
@example("f(a=Trueish)")
def test_the_fast_reader_agrees_on_anything(text: str) -> None:
    found = _read_plain(text)
    assert found is None or repr(found) == repr(outcome(text))


def test_the_usual_shapes_are_read_fast() -> None:
    text = "f(a='安', b=[{'c': 'it', \"d\": 2}], e=-1.5, g=None), h()"
    assert _read_plain(text) is not None


def test_a_dict_is_taken_for_a_call() -> None:
    assert settled({"dict": {"a": {"dict": {"b": [1]}}}}) == {"a": {"b": [1]}}
    for value in ({"open": {"file": "x"}}, {"dict": 1}, {}, {"dict": {"a": {"f": {}}}}):
        with pytest.raises(ValueError, match="is not defined"):
            settled(value)


@pytest.mark.parametrize(
    "value",
    [1e999, [float("nan")], b"x", 1j, 1 << 20_000, {"a": [b"x"]}, {(1, 2): 3}, [{b"x": 1}]],
    ids=range(8),
)
def test_what_no_state_can_hold_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        checked(value)


@pytest.mark.parametrize("value", ["x", None, True, 3, 2.5, (1, "a"), [{"a": {1: None}}]])
def test_what_a_state_can_hold_is_kept(value: Any) -> None:
    assert checked(value) is value
