from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.acebench.literal import MAX_CALLS, cut, decode, decode_by_tree, squeeze
from agentenvs.syntax import UnreadableCall


def argument(text: str) -> Any:
    [(_, arguments)] = decode(f"[f(a={text})]")
    return arguments["a"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'x'", "x"),
        ("True", True),
        ("true", "true"),
        ("some.dotted.name", "some.dotted.name"),
        ("+5", -5),
        ("-5", -5),
        ("not True", -1),
        ("~2.5", -2.5),
        ("49+1", 50),
        ("(1, 'a')", (1, "a")),
        ("{'a': [1, {}]}", {"a": [1, {}]}),
        ("{a: b}", {"a": "b"}),
        ("x[0]['k']", "x[0]['k']"),
        ("int(3, base=n)", {"int": {"base": "n"}}),
        ("...", "..."),
        ("'a' 'b'", "ab"),
        ("None", None),
    ],
)
def test_values(text: str, value: Any) -> None:
    found = argument(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "{1, 2}",
        "f'{x}'",
        "1 < 2",
        "a and b",
        "1 if x else 2",
        "lambda: 0",
        "(y := 1)",
        "[i for i in x]",
        "-[1]",
        "-'a'",
        "- -1",
        "f().x",
        "{**a}",
        "{[]: 1}",
        "await x",
        "*a",
        "1+x",
    ],
)
def test_values_that_are_refused(text: str) -> None:
    with pytest.raises(UnreadableCall):
        argument(text)


def test_calls() -> None:
    assert decode("[a.b(x=1, x=2), c('gone', y=3), d(**{'z': 1})]") == [
        ("a.b", {"x": 2}),
        ("c", {"y": 3}),
        ("d", {None: {"z": 1}}),
    ]
    assert decode("(f(), g())") == [("f", {}), ("g", {})]
    assert decode("[]") == []
    assert decode("['s'.f(), x[0].g(), h()()]") == [("f", {}), ("g", {}), ("", {})]


@pytest.mark.parametrize(
    "text",
    ["f()", "'f()'", "['f()']", "[[f()]]", "[f]", "{f()}", "[f(", "x = [f()]", "", "[f()];[g()]"],
)
def test_what_is_no_list_of_calls(text: str) -> None:
    with pytest.raises(UnreadableCall):
        decode(text)


def test_no_text_at_all() -> None:
    with pytest.raises(UnreadableCall, match="no list of calls"):
        decode(None)


def test_too_many_calls() -> None:
    with pytest.raises(UnreadableCall, match=f"more than {MAX_CALLS} calls"):
        decode_by_tree("[" + "f()," * (MAX_CALLS + 1) + "]")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[f(a=[1])] [g()]", "[f(a=[1])]"),
        ("words [f()] words", "[f()]"),
        ("<think>[plan]</think>[f()]", "[plan]"),
        ("] [f()]", None),
        ("] [f(a=[1])]", "[1]"),
        ("[f(", None),
        ("[f(a=']')]", "[f(a=']"),
        ("", None),
        ("]", None),
    ],
)
def test_the_first_balanced_list(text: str, found: str | None) -> None:
    assert cut(text) == found


@given(st.text("[]a", max_size=40))
def test_cutting_as_counting_does(text: str) -> None:
    depth, start, expected = 0, None, None
    for at, char in enumerate(text):
        if char == "[":
            start = at if depth == 0 else start
            depth += 1
        elif char == "]":
            depth -= 1
            if depth == 0 and start is not None:
                expected = text[start : at + 1]
                break
    assert cut(text) == expected


def test_all_white_space_goes() -> None:
    assert squeeze(" [f(a='x y',\n\tb=\u3000not True)] ") == "[f(a='xy',b=notTrue)]"
