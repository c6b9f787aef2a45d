from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest

import agentenvs.wrappers as wrappers
from agentenvs.core import Tool, ToolCall
from agentenvs.errors import BadArgument
from agentenvs.wrappers import PARSE_REASONS, Parse, Toolset, parse_tool_calls
from agentenvs.wrappers.trouble import ParseReason

FLAT = {"name": "cd", "parameters": {"properties": {"folder": {"type": "string"}}}}


@pytest.mark.parametrize(
    "tools",
    [
        [FLAT],
        [{"type": "function", "function": FLAT}],
        [Tool("cd", "", FLAT["parameters"])],  # type: ignore[arg-type]
        Toolset([FLAT]),
        (tool for tool in [FLAT]),
    ],
)
def test_tools_come_in_every_shape(tools: Any) -> None:
    assert parse_tool_calls("[cd('a')]", tools).calls == [ToolCall("cd", {"folder": "a"})]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[cat(file_name='repo", "cut"),
        ("[cd(folder='a', folder='b')]", "ambiguous"),
        ("[cd(folder=pwd())]", "not_literal"),
        ("[ls]", "not_called"),
        ("[cd('a', 'b')]", "arguments"),
        ("<tool_call>{}</tool_call>", "no_call"),
        ("<think>hm", "no_answer"),
        ("[" * 100, "too_deep"),
        ("[tail(lines=1e999)]", "too_large"),
        ("[cd(folder='a', 3)]", "ambiguous"),
        ("[ls(),, pwd()]", "syntax"),
    ],
)
def test_every_kind_of_refusal(read: Callable[..., Parse], text: str, kind: str) -> None:
    parse = read(text)
    assert (parse.status, parse.reason.partition(":")[0]) == ("malformed", kind)
    assert kind in PARSE_REASONS
    assert parse.format == "malformed"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("[ls()]", "pylist"),
        ('{"name": "ls", "arguments": {}}', "json"),
        ('<tool_call>{"name": "ls"}</tool_call>', "hermes"),
        ("<function=ls></function>", "xml"),
        ("[TOOL_CALLS]ls[ARGS]{}", "mistral"),
        ("Action: ls()", "react"),
        ("search[shoes]", "webshop"),
        ("```\n[ls()]\n```", "fence"),
        ("Hello!", "words"),
    ],
)
def test_the_format_is_named(read: Callable[..., Parse], text: str, form: str) -> None:
    assert read(text).format == form


@pytest.mark.parametrize(
    ("text", "strict"),
    [
        ("[ls()]", True),
        (" [cat('a'), ls(a=True)]\n", True),
        ('[{"name": "ls", "arguments": {}}]', True),
        ('{"content": "hi", "tool_calls": [{"name": "ls", "arguments": {}}]}', True),
        ("Hello (there)!", True),
        ("[]", True),
        ("[cd('a', 'b')]", True),
        ('[{"name": "ls", "parameters": {}}]', False),
        ("[ls(a=true)]", False),
        ("ls()", False),
        ("Sure: [ls()]", False),
        ("[ls()", False),
    ],
)
def test_strict_says_whether_strict_mode_agrees(
    read: Callable[..., Parse], text: str, strict: bool
) -> None:
    assert read(text).strict is strict


def test_words_beside_calls_are_kept(read: Callable[..., Parse]) -> None:
    parse = read("<think>hm</think>I will look. [ls()] Then I stop.<|im_end|>")
    assert parse.content == "I will look.  Then I stop."


def test_calls_before_a_cut_say_what_was_dropped(read: Callable[..., Parse]) -> None:
    parse = read('<tool_call>ls</tool_call><tool_call>{"name": "cat", "arguments": {"file')
    assert (len(parse.calls), parse.repairs, parse.reason[:3]) == (1, ["truncated"], "cut")


@pytest.mark.parametrize("mode", ["relaxed", "strict"])
def test_values_are_plain_data(read: Callable[..., Parse], mode: str) -> None:
    parse = read("[mean(numbers=((1, 2), [3]))]", mode)
    assert parse.calls == [ToolCall("mean", {"numbers": [[1, 2], [3]]})]


@pytest.mark.parametrize(
    ("text", "tools", "mode", "message"),
    [
        (3, [], "relaxed", "Expected `text` to be a str"),
        ("", [3], "relaxed", "Expected a tool"),
        ("", "ls", "relaxed", "Expected `tools` to be a list"),
        ("", [], "loose", "'relaxed' or 'strict', got 'loose'"),
    ],
)
def test_wrong_arguments_are_errors(text: Any, tools: Any, mode: Any, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        parse_tool_calls(text, tools, mode)


@pytest.mark.parametrize("size", [10, 8_000, 9_000, 40_000])
@pytest.mark.parametrize("value", ["short", "long " * 4_000])
def test_calls_far_into_a_text_are_found(read: Callable[..., Parse], size: int, value: str) -> None:
    call = f'{{"name": "echo", "arguments": {{"content": "{value}"}}}}'
    parse = read("Some {words} and\n" * (size // 17) + call)
    assert parse.calls == [ToolCall("echo", {"content": value})]


def test_every_kind_of_reason_has_a_meaning() -> None:
    assert set(PARSE_REASONS) == set(get_args(ParseReason))


def test_public_names_are_listed() -> None:
    for name in wrappers.__all__:
        assert hasattr(wrappers, name)
