from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentenvs.webshop.actions import TOOLS, Call, read

ORIGINAL = re.compile(r"(.+)\[(.+)\]")
GRAMMAR = st.text(alphabet="search click[]\n\r\u2028 {}a", max_size=40)


@given(GRAMMAR)
@example("search[a][b]")
@example("click[large [tall]]")
@example("click[buy now]]")
@example("click[x]\n]")
@example("[]")
@example("a[]]")
def test_official_reads_what_the_original_pattern_matches(text: str) -> None:
    found = ORIGINAL.match(text)
    reading = read(text)
    if found is not None and found[1] in ("search", "click"):
        assert reading.status == "calls"
        assert reading.calls == (Call(found[1], found[2]),)
    else:
        assert reading.status != "calls"
        assert reading.calls == ()
        assert reading.reason


@pytest.mark.parametrize(
    ("text", "official", "fixed"),
    [
        ("search[red shoes]", Call("search", "red shoes"), Call("search", "red shoes")),
        ("click[buy now] now", Call("click", "buy now"), Call("click", "buy now")),
        ("search[ ]", Call("search", " "), Call("search", " ")),
        ("search[a][b]", None, Call("search", "a][b")),
        ("click[large [tall]]", None, Call("click", "large [tall]")),
        ("click[a]]", Call("click", "a]"), Call("click", "a]")),
        ("click[a]\nclick[b]", Call("click", "a"), Call("click", "a")),
        ("search[]", None, None),
        (" click[a]", None, None),
        ("\nclick[a]", None, None),
        ("Click[a]", None, None),
        ("think[hm]", None, None),
        ("click[a", None, None),
        ("click a]", None, None),
        ("", None, None),
    ],
)
def test_brackets_under_both_rules(text: str, official: Call | None, fixed: Call | None) -> None:
    assert read(text).calls == (() if official is None else (official,))
    assert read(text, "fixed").calls == (() if fixed is None else (fixed,))


def test_json_calls_are_read_first_and_in_order() -> None:
    calls = [
        {"name": "search", "arguments": {"query": "a [b]"}},
        {"name": "click", "arguments": {"element": "Next >"}},
    ]
    wanted = (Call("search", "a [b]"), Call("click", "Next >"))
    for text in (json.dumps(calls), json.dumps({"content": "so", "tool_calls": calls})):
        reading = read(text)
        assert (reading.status, reading.calls, reading.native) == ("calls", wanted, False)


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("buy", {}, "no action 'buy'"),
        ("search", {}, "'query', a text"),
        ("search", {"query": 3}, "'query', a text"),
        ("search", {"query": ""}, "not to be empty"),
        ("search", {"query": "a", "k": 3}, "not 'k'"),
        ("click", {"query": "a"}, "not 'query'"),
        ("click", {"element": None}, "'element', a text"),
    ],
)
def test_calls_that_cannot_be_carried_out_say_why(
    name: str, arguments: dict[str, Any], problem: str
) -> None:
    reading = read(json.dumps([{"name": name, "arguments": arguments}]))
    assert reading.status == "calls"
    assert problem in reading.calls[0].problem


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("I would rather not.", "words"),
        ("I like [this] one", "words"),
        ('{"content": "hello", "tool_calls": []}', "words"),
        ("think[hm]", "malformed"),
        ("  Search [shoes]", "malformed"),
        ('[{"name": "search", "arguments": {"query": "a"}', "malformed"),
        ('{"tool_calls": 3}', "malformed"),
        ('[{"name": "search", "arguments": []}]', "malformed"),
    ],
)
def test_words_are_told_from_attempts(text: str, status: str) -> None:
    for rules in ("official", "fixed"):
        reading = read(text, rules)  # type: ignore[arg-type]
        assert (reading.status, reading.calls) == (status, ())
        assert reading.reason


@given(st.text())
def test_no_text_raises(text: str) -> None:
    for rules in ("official", "fixed"):
        assert read(text, rules).status in ("calls", "words", "malformed")  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", ["[", "]", "a[", "[a]", "search[", " ", '{"name"', "[{"])
def test_hostile_lines_are_read_in_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    before = time.thread_time()
    for rules in ("official", "fixed"):
        read(text, rules)  # type: ignore[arg-type]
    assert time.thread_time() - before < 1.0


def test_the_two_tools_want_one_text_each() -> None:
    for tool, argument in zip(TOOLS, ("query", "element"), strict=True):
        assert tool.parameters["required"] == [argument]
        assert list(tool.parameters["properties"]) == [argument]
