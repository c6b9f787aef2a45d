from __future__ import annotations

import pytest

from agentenvs.wrappers import Toolset, parse_tool_calls
from agentenvs.wrappers.reader import Reader
from agentenvs.wrappers.scanner import MAX_ITEMS

UNITS = {
    "open lists": "[",
    "open calls": "[ls(",
    "open objects": '{"a":',
    "open strings": "[cat('",
    "openers": "<tool_call>",
    "openers with names": "<tool_call>ls ",
    "openers with half objects": '<tool_call>{"name": "ls", "arguments": {"a": "',
    "stray thoughts": "[cat(' </think>",
    "thoughts": "<think>",
    "fences": "```",
    "python fences": "```python\n[cat('\n```\n",
    "backslashes": "\\",
    "escaped quotes": "[cat('\\'",
    "quotes": "'",
    "triple quotes": "[cat('''",
    "double quotes": '{"',
    "blanks": " ",
    "lines": "\n",
    "labels": "Thought: x\n",
    "actions": "Action: x\n",
    "inputs": "Action: ls\nAction Input: x\n",
    "half elements": "<function=cat><parameter=file_name>",
    "elements": "<function=cat><parameter=file_name>a</parameter>b</function>",
    "half keys": "<tool_call>cat<arg_key>",
    "closers": "</parameter>",
    "brackets": "search[",
    "calls": "ls()\n",
    "bullets": "- (1. ls(\n",
    "channels": "<|channel|>",
    "analysis": "<|channel|>analysis<|message|>",
    "escapes": "<start_function_call>call:cat{file_name:<escape>",
    "names": "a" * 7 + ".",
    "digits": "[ls(1",
    "prose": "I used ls (the tool) [1], see {a}. ",
}


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("head", ["", "[cat(file_name='", "<tool_call>", '{"name": "'])
def test_work_grows_with_length_alone(tools: Toolset, head: str, unit: str) -> None:
    spent = []
    for size in (2_000, 8_000):
        reader = Reader(head + unit * (size // len(unit) + 1), tools)
        reader.run()
        spent.append(reader.scan.spent)
        assert reader.scan.spent <= 24 * (size + len(unit) + len(head)) + 16_384
    assert spent[1] <= 8 * spent[0] + 16_384


def test_deep_nesting_is_refused_with_its_kind(tools: Toolset) -> None:
    for text in ("[" * 5000, "[ls(a=" + "[" * 200 + "]" * 200 + ")]", '{"a":' * 5000):
        assert parse_tool_calls(text, tools).calls == []
    deep = '{"name": "edit_ticket", "arguments": {"updates": ' + "[" * 90 + "]" * 90 + "}}"
    assert parse_tool_calls(deep, tools).reason.startswith("too_deep")


def test_a_text_beyond_the_limit_is_refused(tools: Toolset) -> None:
    parse = parse_tool_calls("[ls()]" + " " * 2_000_000, tools)
    assert (parse.status, parse.reason[:9]) == ("malformed", "too_large")


def test_a_number_beyond_the_digit_limit_is_refused(tools: Toolset) -> None:
    parse = parse_tool_calls(f"[tail(file_name='a', lines={'9' * 6000})]", tools)
    assert parse.reason.startswith("too_large")


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("head", ["", "[cat(file_name='", '[{"name": "f", "arguments": {"x": ['])
def test_items_are_bounded_whatever_the_length(tools: Toolset, head: str, unit: str) -> None:
    reader = Reader(head + unit * (100_000 // len(unit) + 1), tools)
    reader.run()
    assert reader.scan.items <= MAX_ITEMS + 16


def test_thousands_of_calls_and_values_read(tools: Toolset) -> None:
    assert len(parse_tool_calls("[" + "ls(), " * 2_000 + "pwd()]", tools).calls) == 2_001
    numbers = list(range(3_000))
    for text in (f"[mean(numbers={numbers})]", f"[mean(numbers={tuple(numbers)})]"):
        assert parse_tool_calls(text, tools).calls[0].arguments == {"numbers": numbers}
    said = "it's so; " * 1_000
    assert parse_tool_calls(f"[echo(content='{said}')]", tools).calls[0].arguments == {
        "content": said
    }
    parse = parse_tool_calls("[" + "ls(), " * 20_000 + "pwd()]", tools)
    assert (parse.status, parse.reason.split(":")[0]) == ("malformed", "too_large")
