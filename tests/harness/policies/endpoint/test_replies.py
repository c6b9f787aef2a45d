from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core import Tool, ToolCall
from agentenvs.harness.exchange import Completion, Request
from agentenvs.harness.policies.endpoint.faults import Fault
from agentenvs.harness.policies.endpoint.replies import read_completion, read_object
from agentenvs.wrappers import parse_tool_calls

ASKED = Request(messages=({"role": "user", "content": "Hi."},), max_tokens=10)
LS = Tool("ls", "List.").schema()


def read(reply: Any, form: Any = "chat", context: int | None = None, **fields: Any) -> Completion:
    return read_completion(reply, form, ASKED._replace(**fields), context)


def called(*calls: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return {"choices": [{"message": message, "finish_reason": "tool_calls"}]}


def function(name: Any, arguments: Any) -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_reply_has_a_text_and_a_count_of_tokens(fake: ModuleType) -> None:
    assert read(fake.chat("Hi!")) == Completion("Hi!", new_tokens=3)
    assert read(fake.completion(" there"), "completion") == Completion(" there")


@pytest.mark.parametrize(
    ("told", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool_calls"),
        ("content_filter", "stop"),
        (None, "stop"),
        ("eos", "stop"),
    ],
)
def test_why_a_reply_ended(fake: ModuleType, told: str | None, finish: str) -> None:
    assert read(fake.chat(choice={"finish_reason": told})).finish_reason == finish


def test_a_reply_that_the_server_gave_up(fake: ModuleType) -> None:
    with pytest.raises(Fault, match="abort") as given_up:
        read(fake.chat(choice={"finish_reason": "abort"}))
    assert given_up.value.reason == "cut_reply"


def test_no_content_is_an_empty_text(fake: ModuleType) -> None:
    assert read(fake.chat(None)).text == ""
    assert read({"choices": [{"message": {}}]}).text == ""


def test_content_in_parts(fake: ModuleType) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    assert read({"choices": [{"message": {"content": parts}}]}).text == "ab"


def test_reasoning_is_no_part_of_the_text(fake: ModuleType) -> None:
    reply = fake.chat("Yes.", message={"reasoning_content": "Let me think.", "reasoning": "Hm."})
    assert read(reply).text == "Yes."


def test_a_text_is_cut_at_every_stop_string(fake: ModuleType) -> None:
    reply = fake.chat("one\nUser: two\nTool: three", choice={"finish_reason": "length"})
    cut = read(reply, stop=("\nTool:", "\nUser:"))
    assert (cut.text, cut.finish_reason) == ("one", "stop")


def test_calls_that_the_server_has_parsed() -> None:
    reply = called(
        function("ls", '{"path": "/home", "deep": [1, {"a": null}]}'), function("ls", "")
    )
    completion = read(reply)
    assert completion.tool_calls == (
        ToolCall("ls", {"path": "/home", "deep": [1, {"a": None}]}),
        ToolCall("ls", {}),
    )
    assert completion.finish_reason == "tool_calls"


def test_arguments_that_are_an_object_already() -> None:
    assert read(called(function("ls", {"path": "/"}))).tool_calls == (
        ToolCall("ls", {"path": "/"}),
    )
    assert read(called(function("ls", None))).tool_calls == (ToolCall("ls"),)


@pytest.mark.parametrize(
    "call",
    [
        function("ls", '{"path": "/tm'),
        function("ls", "[1, 2]"),
        function("ls", '{"x": NaN}'),
        function("ls", '{"x": 1e999}'),
        function("ls", '{"x": ' + "[" * 80 + "]" * 80 + "}"),
        function("ls", ["a"]),
        function(None, "{}"),
        function("", "{}"),
        {"function": None},
        "ls",
    ],
)
def test_calls_that_cannot_be_read_are_text_that_parsers_call_malformed(call: Any) -> None:
    completion = read(called(function("ls", "{}"), call))
    assert completion.tool_calls is None
    parse = parse_tool_calls(completion.text, [LS], mode="strict")
    assert parse.status == "malformed"


def test_too_many_calls_are_malformed() -> None:
    completion = read(called(*[function("ls", "{}")] * 257))
    assert completion.tool_calls is None
    assert parse_tool_calls(completion.text, [LS], mode="strict").status == "malformed"


def test_halves_of_characters_are_joined_or_marked(fake: ModuleType) -> None:
    reply = json.loads(json.dumps(fake.chat("\ud83d\ude00 and \ud83d")))
    assert read(reply).text == "\U0001f600 and \ufffd"
    (call,) = read(called(function("ls", '{"x": "\\ud83d"}'))).tool_calls or ()
    assert call.arguments == {"x": "\ufffd"}


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"choices": []},
        {"choices": None},
        {"choices": ["text"]},
        {"choices": [{}]},
        {"choices": [{"message": "hello"}]},
        {"choices": [{"message": {"content": 5}}]},
        {"choices": [{"message": {"tool_calls": {"name": "ls"}}}]},
        {"choices": [{"message": {"content": ""}, "finish_reason": 3}]},
        {"choices": [{"message": {}}], "usage": {"completion_tokens": -1}},
        {"choices": [{"message": {}}], "usage": {"prompt_tokens": 1.5}},
        {"choices": [{"message": {}, "token_ids": ["a"]}]},
    ],
)
def test_replies_that_are_garbled(reply: Any) -> None:
    with pytest.raises(Fault, match="garbled") as fault:
        read(reply)
    assert fault.value.reason == "garbled_reply"


@pytest.mark.parametrize(
    "text", ["", "<html>", '{"a": NaN}', "[1]", '"x"', "[" * 100_000, b"\xff{"]
)
def test_what_is_no_object(text: str | bytes) -> None:
    with pytest.raises(Fault, match="garbled"):
        read_object(text)


NAMES = """choices message content tool_calls function name arguments text usage logprobs
token_ids finish_reason prompt_tokens"""
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES.split()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(["choices", "usage", "x"]), ANYTHING), st.booleans())
def test_no_reply_raises_anything_but_a_fault(reply: dict[str, Any], chat: bool) -> None:
    try:
        completion = read(reply, "chat" if chat else "completion")
    except Fault:
        return
    completion.text.encode()


@given(ANYTHING)
def test_no_message_raises_anything_but_a_fault(message: Any) -> None:
    try:
        completion = read({"choices": [{"message": message}]})
    except Fault:
        return
    completion.text.encode()


def test_prompt_and_reserved_tokens_together_fill_the_context(fake: ModuleType) -> None:
    assert read(fake.chat("Hi."), context=17).finish_reason == "stop"
    assert read(fake.chat("Hi."), context=16) == Completion(finish_reason="context")
    reply = fake.chat("Hi.", usage=None)
    assert read(reply, context=16).finish_reason == "stop"


def test_token_ids_and_log_probabilities(fake: ModuleType) -> None:
    rows = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1}]
    choice = {"token_ids": [5, 6], "logprobs": {"content": rows}}
    reply = fake.chat("ab", choice=choice, prompt_token_ids=[1, 2, 3])
    completion = read(reply)
    assert completion.token_ids == (5, 6)
    assert completion.prompt_token_ids == (1, 2, 3)
    assert completion.logprobs == (-0.5, -1.0)
    assert completion.new_tokens == 2
    assert read(reply, temperature=0.5).logprobs is None
    assert read(reply, top_p=0.5).logprobs is None
    old = {"token_ids": [5], "logprobs": {"token_logprobs": [-0.25]}, "prompt_token_ids": [1]}
    assert read(fake.completion(choice=old), "completion").logprobs == (-0.25,)


@pytest.mark.parametrize("number", ["9" * 400, "1e999", "null", "true"])
def test_log_probabilities_that_are_no_finite_numbers(fake: ModuleType, number: str) -> None:
    choice = {"token_ids": [5], "logprobs": {"token_logprobs": [json.loads(number)]}}
    with pytest.raises(Fault, match="no finite numbers"):
        read(fake.completion(choice=choice), "completion")


def test_log_probabilities_that_do_not_fit_their_tokens_are_dropped(fake: ModuleType) -> None:
    choice = {"token_ids": [5, 6], "logprobs": {"token_logprobs": [-1.0]}}
    assert read(fake.completion(choice=choice), "completion").logprobs is None
