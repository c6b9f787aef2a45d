from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument, PolicyError
from agentenvs.harness.exchange import Request
from agentenvs.harness.policies.endpoint.body import Body, Names, seed_of
from agentenvs.harness.policies.endpoint.servers import KINDS

SAID = ({"role": "user", "content": "Hi."},)
TOOL = {"name": "ls", "description": "List.", "parameters": {"type": "object", "properties": {}}}


def written(kind: str = "openai", form: Any = "chat", settings: Any = None, **fields: Any) -> Any:
    body = Body("m", form, KINDS[kind], **(settings or {}))
    asked = {"messages": SAID} if form == "chat" else {"prompt": "Hi"}
    return json.loads(body.write(Request(**{**asked, **fields})))


def test_every_field_of_openai_is_sent() -> None:
    assert written(seed=5, temperature=0.5, top_p=0.9, max_tokens=20, stop=("\nUser:",)) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi."}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 20,
        "seed": 5,
        "stop": ["\nUser:"],
        "n": 1,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "stream": False,
    }


def test_no_stop_and_no_seed_are_left_out() -> None:
    assert {"stop", "seed", "tools", "stream_options"}.isdisjoint(written())


def test_text_completions_have_a_prompt() -> None:
    body = written(form="completion")
    assert body["prompt"] == "Hi"
    assert "messages" not in body


@pytest.mark.parametrize("kind", ["vllm", "sglang", "llamacpp"])
def test_fields_of_a_kind_are_pinned_where_they_change_nothing(kind: str) -> None:
    body = written(kind)
    assert body["min_p"] == 0.0
    assert body["top_k"] in (0, -1)
    assert body.get("repetition_penalty", body.get("repeat_penalty")) == 1.0


def test_what_is_sent_is_named() -> None:
    body = Body("m", "chat", KINDS["vllm"], extra={"user": "ada"})
    request = Request(messages=SAID, seed=1, stop=("x",))
    sent = set(json.loads(body.write(request))) - {"model", "messages", "stream"}
    assert sent == set(body.sent)


def test_llamacpp_reads_its_prompts_anew_unless_told_otherwise() -> None:
    assert written("llamacpp")["cache_prompt"] is False
    body = Body("m", "chat", KINDS["llamacpp"], extra={"cache_prompt": True})
    assert json.loads(body.write(Request(messages=SAID)))["cache_prompt"] is True
    assert "cache_prompt" not in body.pins


def test_openai_takes_four_stop_strings() -> None:
    stops = tuple("abcdef")
    assert written(stop=stops)["stop"] == ["a", "b", "c", "d"]
    assert written("vllm", stop=stops)["stop"] == list(stops)


@given(st.integers(0, 2**63 - 1))
def test_a_seed_is_one_that_every_server_takes(seed: int) -> None:
    assert 0 <= seed_of(seed) < 2**31
    assert seed_of(seed) % 2**16 == seed % 2**16


@pytest.mark.parametrize(
    "name",
    ["temperature", "n", "seed", "stop", "max_completion_tokens", "model", "stream", "top_k"],
)
def test_extra_fields_may_not_be_pinned_ones(name: str) -> None:
    with pytest.raises(BadArgument, match=name):
        Body("m", "chat", KINDS["vllm"], extra={name: 1})


@pytest.mark.parametrize("extra", [{"x": {1, 2}}, {"x": float("nan")}, [("a", 1)], {1: 2}])
def test_extra_fields_are_json(extra: Any) -> None:
    with pytest.raises(BadArgument, match="extra"):
        Body("m", "chat", KINDS["vllm"], extra=extra)


def test_tools_are_offered_in_openais_form() -> None:
    assert "tools" not in written(tools=(TOOL,))
    body = written(settings={"native_tools": True}, tools=(TOOL,))
    assert body["tools"] == [{"type": "function", "function": TOOL}]


def test_names_that_the_form_does_not_allow_are_replaced_and_found_again() -> None:
    tools = [{**TOOL, "name": "阅览室预约"}, {**TOOL, "name": "tool_0"}, TOOL]
    names = Names(tools)
    shown = [names.shown(tool)["function"]["name"] for tool in tools]
    assert shown == ["tool_0_", "tool_0", "ls"]
    assert [names.own(name) for name in shown] == [tool["name"] for tool in tools]
    assert "阅览室预约" in names.shown(tools[0])["function"]["description"]
    assert names.own("never_offered") == "never_offered"


def test_half_a_character_can_be_sent() -> None:
    said = ({"role": "user", "content": "so \ud83d"},)
    assert written(messages=said)["messages"][0]["content"] == "so ?"


def test_the_other_name_of_max_tokens() -> None:
    body = written(settings={"max_tokens_field": "max_completion_tokens"}, max_tokens=3)
    assert body["max_completion_tokens"] == 3
    assert "max_tokens" not in body


def test_token_ids_are_asked_for() -> None:
    settings = {"token_ids": True}
    assert written("vllm", settings=settings)["logprobs"] is True
    assert written("vllm", "completion", settings)["logprobs"] == 0
    assert written("vllm", settings=settings)["return_token_ids"] is True


def test_a_request_of_the_other_form() -> None:
    with pytest.raises(PolicyError, match="form='chat'"):
        Body("m", "completion", KINDS["openai"]).write(Request(messages=SAID))
    with pytest.raises(PolicyError, match="form='completion'"):
        Body("m", "chat", KINDS["openai"]).write(Request(prompt="Hi"))
