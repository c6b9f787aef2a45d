from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.bfcl.calls import read_call, read_plain, rewritten
from agentenvs.syntax import CallNode, UnreadableCall, call_text, parse_call_list

plain: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
) | st.text(max_size=20)
values = plain | st.lists(plain, max_size=3) | st.dictionaries(st.text(max_size=5), plain)
names = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda x: x not in KEYWORDS)
KEYWORDS = {"as", "if", "in", "is", "or", "and", "def", "del", "for", "not", "try", "from", "None"}
KEYWORDS |= {"elif", "else", "pass", "with", "async", "await", "break", "class", "raise", "while"}
KEYWORDS |= {"yield", "return", "except", "global", "import", "lambda", "assert", "finally"}
KEYWORDS |= {"continue", "nonlocal"}
PIECES = "f ( ) a = , 'x' \"y\" ' \" 1 - 2.5 . 007 0 [ ] True None nan class \\ é 1e5 { } 'a''b'"
fragments = st.lists(st.sampled_from([*PIECES.split(), " ", "\n"]), max_size=16)


@given(names, st.dictionaries(names, values, max_size=4), st.lists(values, max_size=2))
def test_reads_what_call_text_writes(name: str, arguments: dict[str, Any], args: list[Any]) -> None:
    node = read_call(call_text(name, arguments, args), nested=False)
    assert node == CallNode(name, tuple(args), tuple(arguments.items()))


@given(fragments.map("".join).map(lambda tail: "f(" + tail))
def test_the_fast_path_agrees_with_the_parser(text: str) -> None:
    fast = read_plain(text)
    if fast is not None:
        name, args, kwargs = fast
        node = CallNode(name, tuple(args), tuple(kwargs.items()))
        assert repr((node,)) == repr(parse_call_list(text))


@given(st.text(max_size=60))
def test_any_text_reads_or_is_unreadable(text: str) -> None:
    try:
        node = read_call(text, nested=True)
    except UnreadableCall:
        return
    assert node.name


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("ls(", "'(' was never closed (<string>, line 1)"),
        ("add(a=1, a=2)", "keyword argument repeated: a (<string>, line 1)"),
        ("mean(numbers=[1, 2)", "closing parenthesis ')' does not match opening parenthesis '['"),
    ],
)
def test_python_says_what_is_no_python(text: str, python: str) -> None:
    with pytest.raises(UnreadableCall) as caught:
        read_call(text, nested=True)
    assert caught.value.python.startswith(python)


@pytest.mark.parametrize("text", ["[ls()]", "(ls(), ls())", "1", "f(a=1)(b=2)", "f(*[1])"])
def test_other_expressions_are_refused(text: str) -> None:
    with pytest.raises(UnreadableCall):
        read_call(text, nested=True)


def test_names_are_rewritten_inside_strings_and_lose_white_space() -> None:
    known = {"ls": "x.ls", "cd": "x.cd"}.get
    assert rewritten("echo(content='call ls() then cd (x)')", known) == (
        "echo(content='call x.ls() then x.cd(x)')"
    )
    assert rewritten("f(a='NVDA (Nvidia)')", known) == "f(a='NVDA(Nvidia)')"


def test_brackets_around_a_call_are_no_list() -> None:
    assert read_call("(f(a=1))", nested=True) == CallNode("f", (), (("a", 1),))
    for text in ("(f(),)", "[f()]", "()"):
        with pytest.raises(UnreadableCall, match="where a call was expected"):
            read_call(text, nested=True)
