from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core import ToolCall
from agentenvs.toollab.design import CHANNELS, CODES
from agentenvs.toollab.grammar import TOOLS, read, schemas, write

CALL = {"tag": "k3", "label": "boxed", "count": "two"}


def as_json(*calls: tuple[str, dict[str, Any]], content: str | None = None) -> str:
    items = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return json.dumps({"content": content, "tool_calls": items})


@pytest.mark.parametrize(
    "text", ["find lamp", "mail k3 boxed two", "mail", "mail k3 boxed two now", "\t mail\n k3 "]
)
def test_commands(text: str) -> None:
    assert read(text) == read(text.strip())
    assert read(text).commands == (tuple(text.split()),)
    assert read(text).parse == {"status": "calls", "reason": ""}


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "find", "find the lamp", "Find lamp", "lamp", "Mail k3", "signed"),
        *("signed it", "[mail]", '{"tag": 1}', '["mail"]', "find\x00lamp"),
    ],
)
def test_anything_else_is_closing_words(text: str) -> None:
    reading = read(text)
    assert (reading.status, reading.commands) == ("words", ())
    assert reading.words == tuple(text.split())


@pytest.mark.parametrize("text", ["[]", '{"tool_calls": []}', '{"tool_calls": null}'])
def test_no_calls_and_no_content_are_empty_words(text: str) -> None:
    assert read(text).status == "words"
    assert read(text).words == ()


def test_content_alone_is_closing_words_whatever_it_says() -> None:
    assert read(as_json(content="mail k3 boxed two")).words == ("mail", "k3", "boxed", "two")
    assert read(as_json(content="signed")).words == ("signed",)


def test_calls_are_read_as_the_command_that_says_the_same() -> None:
    assert read(as_json(("find", {"item": "lamp"}))).commands == (("find", "lamp"),)
    assert read(as_json(("mail", CALL))).commands == read("mail k3 boxed two").commands
    both = read(as_json(("find", {"item": "lamp"}), ("mail", CALL), content="signed"))
    assert both.commands == (("find", "lamp"), ("mail", "k3", "boxed", "two"))
    assert both.words == ()


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"tag": "k3", "label": "boxed"},
        {**CALL, "more": "x"},
        {**CALL, "tag": 3},
        {**CALL, "tag": "k3 k3"},
        {**CALL, "tag": ""},
        {**CALL, "count": None},
        {**CALL, "label": ["boxed"]},
    ],
)
def test_wrong_arguments_leave_the_name_alone(arguments: dict[str, Any]) -> None:
    assert read(as_json(("mail", arguments))).commands == (("mail",),)


def test_a_tool_that_does_not_exist_is_a_command_of_no_effect() -> None:
    assert read(as_json(("sign", {"word": "noted"}))).commands == (("sign",),)
    assert read(as_json(("find", {"name": "lamp"}))).commands == (("find",),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"tool_calls": "mail"}', "tool_calls is not a list"),
        ('[{"arguments": {}}]', "a call has no name"),
        ('[{"name": "mail", "arguments": "k3"}]', "arguments of mail are no object"),
        ('{"tool_calls": [], "then": 1}', "unknown key 'then' beside tool_calls"),
    ],
)
def test_malformed_calls_say_why(text: str, reason: str) -> None:
    reading = read(text)
    assert reading.parse == {"status": "malformed", "reason": reason}
    assert reading.commands == ((),)


def test_a_single_call_is_written_as_a_command_line() -> None:
    assert write([ToolCall("mail", dict(reversed(CALL.items())))]) == "mail k3 boxed two"
    assert write([ToolCall("find", {"item": "lamp"})], "Let me see.") == "find lamp"


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [ToolCall("find", {"item": "lamp"}), ToolCall("mail", CALL)],
        [ToolCall("find", {"item": "the lamp"})],
        [ToolCall("mail", {})],
        [ToolCall("sign", {"word": "noted"})],
    ],
)
def test_what_no_command_line_says_is_written_as_json(calls: list[ToolCall]) -> None:
    text = write(calls, "so")
    assert [call["name"] for call in json.loads(text)["tool_calls"]] == [c.name for c in calls]
    assert json.loads(text)["content"] == "so"


@given(
    st.lists(
        st.builds(
            ToolCall,
            st.sampled_from(["find", *CHANNELS, "sign"]),
            st.dictionaries(
                st.sampled_from(["item", "tag", "label", "count"]),
                st.sampled_from(["k3", "boxed", "two", "", "a b", 3, None, "mail"]),
            ),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_what_is_written_reads_as_the_calls(calls: list[ToolCall]) -> None:
    canonical = as_json(*((call.name, call.arguments) for call in calls))
    assert read(write(calls)) == read(canonical)


@given(st.text())
def test_any_text_reads(text: str) -> None:
    reading = read(text)
    assert bool(reading.commands) == (reading.status != "words")


def test_tools() -> None:
    assert [tool.name for tool in TOOLS] == ["find", *CHANNELS]
    assert not set(CODES) & {tool.name for tool in TOOLS}
    for tool in TOOLS:
        assert list(tool.parameters["properties"]) == tool.parameters["required"]


def test_schemas_are_those_of_the_tools_and_fresh() -> None:
    assert schemas() == [tool.schema() for tool in TOOLS]
    schemas()[1]["parameters"]["required"].clear()
    assert schemas() == [tool.schema() for tool in TOOLS]
