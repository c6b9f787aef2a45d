# ruff: noqa: RUF001 - models write full-width marks

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core import Tool
from agentenvs.wrappers import PARSE_REASONS, Parse, Toolset, parse_tool_calls

TOOLS = Toolset(
    [
        Tool("echo", "", {"properties": {"content": {"type": "string"}, "n": {"type": "integer"}}}),
        Tool("ls", "", {"properties": {}}),
        Tool("edit", "", {"properties": {"value": {}, "deep": {"type": "object"}}}),
    ]
)

PIECES = [
    *("[", "]", "(", ")", "{", "}", "'", '"', "\\", ",", ":", "=", "\n", " ", "`", "```", "#"),
    *("ls", "echo", "ls()", "echo(content='", "[ls()]", '{"name": "ls", "arguments": {', "1", "-"),
    *("<tool_call>", "</tool_call>", "<think>", "</think>", "<|im_end|>", "\nObservation: "),
    *("Action: ", "Action Input: ", "[TOOL_CALLS]", "[ARGS]", "<function=echo>", "<parameter=n>"),
    *("</parameter>", "</function>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    *("<|channel|>", "<|message|>", "to=functions.ls", "```tool_code\n", "“", "”", "\ud800", "\0"),
    *(
        '<invoke name="echo">',
        "</invoke>",
        "<escape>",
        "call:",
        "True",
        "null",
        "é",
        "日",
        "//",
        "*",
    ),
]
hostile = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))

finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
literals = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | finite | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
calls_strategy = st.lists(
    st.one_of(
        st.just(("ls", {})),
        st.fixed_dictionaries({"content": st.text(max_size=30)}).map(lambda a: ("echo", a)),
        st.fixed_dictionaries({"value": literals}).map(lambda a: ("edit", a)),
        st.fixed_dictionaries(
            {"deep": st.dictionaries(st.text(max_size=5), literals, max_size=3)}
        ).map(lambda a: ("edit", a)),
    ),
    min_size=1,
    max_size=4,
)
Calls = list[tuple[str, dict[str, Any]]]


def as_pylist(calls: Calls) -> str:
    return (
        "["
        + ", ".join(
            f"{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})"
            for name, args in calls
        )
        + "]"
    )


def as_json(calls: Calls) -> str:
    return json.dumps([{"name": name, "arguments": args} for name, args in calls])


def as_openai(calls: Calls) -> str:
    items = [
        {"type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for name, args in calls
    ]
    return json.dumps({"content": None, "tool_calls": items})


def each(before: str, middle: str, after: str) -> Callable[[Calls], str]:
    return lambda calls: "\n".join(
        f"{before}{name}{middle}{json.dumps(args, ensure_ascii=False)}{after}"
        for name, args in calls
    )


def as_hermes(calls: Calls) -> str:
    return "\n".join(
        f"<tool_call>\n{json.dumps({'name': name, 'arguments': args})}\n</tool_call>"
        for name, args in calls
    )


KIMI_ARGUMENTS = "<|tool_call_argument_begin|>"

WRITERS: dict[str, Callable[[Calls], str]] = {
    "pylist": as_pylist,
    "json": as_json,
    "openai": as_openai,
    "hermes": as_hermes,
    "fence": lambda calls: f"```python\n{as_pylist(calls)}\n```",
    "llama": lambda calls: f"<|python_tag|>{as_json(calls)}<|eom_id|>",
    "mistral": each("[TOOL_CALLS]", "[ARGS]", ""),
    "kimi": each(
        "<|tool_call_begin|>functions.", ":0<|tool_call_argument_begin|>", "<|tool_call_end|>"
    ),
    "deepseek": each("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
    "harmony": each(
        "<|start|>assistant<|channel|>commentary to=functions.", "<|message|>", "<|call|>"
    ),
    "react": each("Action: ", "\nAction Input: ", ""),
    "nemotron": lambda calls: f"<TOOLCALL>{as_json(calls)}</TOOLCALL>",
    "function": each("<function=", ">", "</function>"),
}


def pairs(parse: Parse) -> Calls:
    return [(call.name, call.arguments) for call in parse.calls]


@given(hostile, st.sampled_from(["relaxed", "strict"]))
def test_no_text_raises_and_every_result_is_whole(text: str, mode: Any) -> None:
    parse = parse_tool_calls(text, TOOLS, mode)
    assert (parse.status == "calls") == bool(parse.calls)
    if parse.status == "malformed":
        assert parse.reason.partition(":")[0] in PARSE_REASONS
    json.dumps([call.as_dict() for call in parse.calls], allow_nan=False)


@given(hostile)
def test_strict_says_whether_strict_mode_reads_the_same(text: str) -> None:
    relaxed, strict = parse_tool_calls(text, TOOLS), parse_tool_calls(text, TOOLS, "strict")
    same = json.dumps(pairs(relaxed)) == json.dumps(pairs(strict))
    assert relaxed.strict == (same and relaxed.status == strict.status)


@given(hostile)
def test_what_strict_mode_reads_relaxed_mode_reads_too(text: str) -> None:
    strict = parse_tool_calls(text, TOOLS, "strict")
    if strict.status == "calls":
        relaxed = parse_tool_calls(text, TOOLS)
        assert json.dumps(pairs(relaxed)) == json.dumps(pairs(strict))


@pytest.mark.parametrize("form", WRITERS)
@given(calls=calls_strategy)
def test_calls_come_back_from_every_format(form: str, calls: Calls) -> None:
    parse = parse_tool_calls(WRITERS[form](calls), TOOLS)
    assert (parse.status, pairs(parse)) == ("calls", calls)


@pytest.mark.parametrize("form", [form for form in WRITERS if form != "pylist"])
@given(calls=calls_strategy, words=st.sampled_from(["Let me look. ", "First, this:\n"]))
def test_prose_before_does_not_matter(form: str, calls: Calls, words: str) -> None:
    if form in ("react", "fence"):
        words = words.rstrip() + "\n"
    parse = parse_tool_calls(words + WRITERS[form](calls), TOOLS)
    assert pairs(parse) == calls
    assert parse.content == words.strip()


@pytest.mark.parametrize("form", WRITERS)
@given(calls=calls_strategy, data=st.data())
def test_a_cut_text_never_makes_a_value_up(form: str, calls: Calls, data: st.DataObject) -> None:
    text = WRITERS[form](calls)
    cut = text[: data.draw(st.integers(0, len(text)), "cut")]
    for place, (name, arguments) in enumerate(pairs(parse_tool_calls(cut, TOOLS))):
        assert name == calls[place][0]
        for key, value in arguments.items():
            assert calls[place][1][key] == value


#: replies whose cut has a reading of its own: a quote left unescaped, bare text, a join
OWN_READING = ('say "hi', "it's ", "'a''b'", "' '", "Input: reports", "Input: a.txt")
OWN_READING += (
    '("folder"=',
    "a </arg_value> b",
    "<parameter=x> </function>",
    "</think>",
    ": ```",
    '101 "b"',
    "the 'a'",
    "Input: None",
)
LINES = Path(__file__).with_name("formats.jsonl").read_text(encoding="utf-8").splitlines()
WHOLE = [case for case in map(json.loads, LINES) if case["calls"]]


def test_no_recorded_format_makes_a_value_up_when_cut(tools: Toolset) -> None:
    wrong = []
    for case in WHOLE:
        text, calls = case["text"], case["calls"]
        if any(mark in text.replace('\\"', '"') for mark in OWN_READING):
            continue
        for size in range(len(text)):
            for place, call in enumerate(parse_tool_calls(text[:size], tools).calls):
                known = calls[place][1] if place < len(calls) else {}
                made_up = [k for k, v in call.arguments.items() if k not in known or known[k] != v]
                if place >= len(calls) or call.name != calls[place][0] or made_up:
                    wrong.append((text[:size], call))
    assert wrong == []


@given(st.text(max_size=60))
def test_markers_inside_a_string_are_data(text: str) -> None:
    value = f"<|im_end|></tool_call>\nObservation: {text}</think>[ls()]```"
    for form in ("pylist", "json", "hermes", "openai"):
        calls: Calls = [("echo", {"content": value}), ("ls", {})]
        assert pairs(parse_tool_calls(WRITERS[form](calls), TOOLS)) == calls
