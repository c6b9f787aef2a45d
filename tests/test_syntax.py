from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core import Tool, ToolCall
from agentenvs.syntax import (
    CallNode,
    IndexNode,
    StrNode,
    UnreadableCall,
    bind,
    parse_call_list,
    read_call_list,
)

TOOLS = {
    "f": Tool("f", "", {"type": "object", "properties": {"a": {}, "b": {}}}),
    "g": Tool("g"),
}


def test_one_call_a_list_and_a_tuple() -> None:
    f, g = CallNode("f", (), (("a", 1),)), CallNode("g")
    assert parse_call_list("f(a=1)") == (f,)
    assert parse_call_list(" [f(a=1), g()] ") == (f, g)
    assert parse_call_list("(f(a=1), g())") == (f, g)
    assert parse_call_list("[]") == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-1.5", -1.5),
        ("+2", 2),
        ("'it''s'", "its"),
        ("'\\n'", "\n"),
        ("True", True),
        ("None", None),
        ("[1, (2, 'x')]", [1, (2, "x")]),
        ("{'k': [{}], 2: None}", {"k": [{}], 2: None}),
    ],
)
def test_literals(text: str, value: Any) -> None:
    assert parse_call_list(f"f(a={text})")[0].kwargs == (("a", value),)


@pytest.mark.parametrize(
    "text",
    [
        "f(a=1+1)",
        "f(a=9**9**9)",
        "f(a=~5)",
        "f(a=not True)",
        "f(a=b)",
        "f(a=g())",
        "f(a=[x for x in y])",
        "f(a=f'{1}')",
        "f(a=lambda: 1)",
        "f(a=b'x')",
        "f(a=...)",
        "f(a=1j)",
        "f(a={*()})",
        "f(*a)",
        "f(**{'a': 1})",
        "f(a={**{}})",
        "f(a=__import__('os').getpid())",
        "(lambda: 1)()",
        "f()()",
        "x[0]()",
        "1",
        "'f()'",
        "[f(), 1]",
        "[[f()]]",
        "f(); g()",
        "f()\ng()",
        "",
        "f(",
        "f(a=1",
        "[f()",
        "f(class=1)",
        "f(a=1, a=2)",
        "f(a={[]: 1})",
        "f(a=-'x')",
        "f(a=-True)",
        "f(a=1e999)",
        "f(a=[-1e999])",
        "f(a=x[0])",
        "f(a=y:=1)",
        "await f()",
        "\0",
        "f(a='\ud800')",
    ],
)
def test_everything_else_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableCall):
        parse_call_list(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 5000,
        "f(" * 5000,
        "f(a=" + "-" * 50_000 + "1)",
        "f(a=" + "not " * 20_000 + "1)",
        "f(a=" + "[" * 65 + "]" * 65 + ")",
        "f(a='" + "x" * 200_000 + "')",
        "f(a=" + "9" * 90_000 + ")",
        "[" + "g()," * 300 + "]",
        "f(a=" + "1 if 1 else " * 5000 + "1)",
        "f" + ".x" * 40_000 + "()",
        "f(a=" + "lambda:" * 10_000 + "1)",
        "f(a=" + "await " * 15_000 + "1)",
        "f(a=1" + "+1" * 40_000 + ")",
        "f(a=x" + ".x" * 40_000 + ")",
        "f(a=" + "x:=" * 10_000 + "1)",
        "f(a=1" + "<1" * 40_000 + ")",
    ],
)
def test_hostile_sizes_are_refused_without_a_crash(text: str) -> None:
    with pytest.raises(UnreadableCall):
        parse_call_list(text)
    with pytest.raises(UnreadableCall):
        parse_call_list(text, nested=True)


def test_nested_values_only_where_asked() -> None:
    inner = CallNode("g")
    for text, node in [
        ("g()", inner),
        ("g()['k']", IndexNode(inner, "k")),
        ("g()[0]", IndexNode(inner, 0)),
        ("str(g())", StrNode(inner)),
    ]:
        assert parse_call_list(f"f(a={text})", nested=True)[0].kwargs == (("a", node),)
        with pytest.raises(UnreadableCall):
            parse_call_list(f"f(a={text})")


def test_brackets_in_strings_are_not_nesting() -> None:
    said = "[(" * 100
    assert parse_call_list(f"[f(a={said!r})]") == (CallNode("f", (), (("a", said),)),)


def test_warnings_of_the_parser_stay_inside() -> None:
    assert parse_call_list(r"f(a='\d')")[0].kwargs == (("a", "\\d"),)


def test_threads_leave_the_filters_of_warnings_alone() -> None:
    def read() -> None:
        for number in range(2_000):
            parse_call_list(f"f(a='{number}\\d')")

    before, interval = list(warnings.filters), sys.getswitchinterval()
    threads = [threading.Thread(target=read) for _ in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert list(warnings.filters) == before


def test_bind_by_the_order_of_parameters() -> None:
    assert bind(CallNode("f", (1,), (("b", 2),)), TOOLS) == ToolCall("f", {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (CallNode("f", (1, 2, 3)), "f takes at most 2 arguments"),
        (CallNode("f", (1,), (("a", 2),)), "f got a twice"),
        (CallNode("h", (1,)), "unknown function h"),
    ],
)
def test_bind_refuses(node: CallNode, text: str) -> None:
    with pytest.raises(UnreadableCall, match=text):
        bind(node, TOOLS)


def test_read_call_list_reads_a_bracketed_list_alone() -> None:
    action = read_call_list("[f(1), h(x='y')]", TOOLS)
    assert action is not None
    assert action.calls == (ToolCall("f", {"a": 1}), ToolCall("h", {"x": "y"}))


@pytest.mark.parametrize(
    "text", ["hello", "f(a=1)", "[1, 2]", "[see above]", "I call [f()]", '[{"name": "f"}]']
)
def test_read_call_list_leaves_words_alone(text: str) -> None:
    assert read_call_list(text, TOOLS) is None


def test_an_empty_list_is_words() -> None:
    action = read_call_list(" [] ", TOOLS)
    assert action is not None
    assert action.status == "words"


@pytest.mark.parametrize(
    "text", ["[f(a=1]", "[f(a=1)", "[f(a=1)] and then", "[f(1, 2, 3)]", "[f(a=g())]"]
)
def test_an_attempt_that_does_not_read_is_malformed(text: str) -> None:
    action = read_call_list(text, TOOLS)
    assert action is not None
    assert (action.status, action.calls) == ("malformed", ())
    assert action.reason


literals = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "some_name"]), literals))
def test_calls_written_by_repr_read_back(arguments: dict[str, Any]) -> None:
    text = f"[f({', '.join(f'{k}={v!r}' for k, v in arguments.items())})]"
    action = read_call_list(text, TOOLS)
    assert action is not None
    assert action.calls == (ToolCall("f", arguments),)


@given(st.text() | st.text(alphabet="f()[]{}'\"=,:*-+.a1\\\n #"))
def test_never_raises_anything_else(text: str) -> None:
    read_call_list(text, TOOLS)
    with contextlib.suppress(UnreadableCall):
        parse_call_list(text, nested=True)
