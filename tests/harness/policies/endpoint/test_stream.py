from __future__ import annotations

import contextlib
import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.core import ToolCall
from agentenvs.harness.exchange import Completion, Request
from agentenvs.harness.policies.endpoint.faults import Fault, Overflow, Refused
from agentenvs.harness.policies.endpoint.replies import read_completion
from agentenvs.harness.policies.endpoint.stream import Pieces

ASKED = Request(messages=(), max_tokens=10)


def put_together(events: list[str], form: Any = "chat") -> Completion:
    pieces = Pieces(10)
    for event in events:
        pieces.add(event)
    return read_completion(pieces.reply(), form, ASKED)


@pytest.mark.parametrize("form", ["chat", "completion"])
def test_pieces_make_a_text(fake: ModuleType, form: str) -> None:
    assert put_together(fake.events("One two three.", form), form) == Completion(
        "One two three.", new_tokens=3
    )


def test_an_answer_has_ended_where_one_of_two_signs_says_so(fake: ModuleType) -> None:
    assert put_together(fake.events("a", done=False)).text == "a"
    assert put_together(fake.events("a", finish=None)).text == "a"
    with pytest.raises(Fault, match="ended before") as cut:
        put_together(fake.events("a", finish=None, done=False))
    assert cut.value.reason == "cut_reply"


@pytest.mark.parametrize(
    "event", ["{", "[1]", '{"x": 1}', '{"choices": 3}', '{"choices": ["a"]}', '{"choices": [NaN]}']
)
def test_events_that_are_garbled(event: str) -> None:
    with pytest.raises(Fault, match="garbled"):
        Pieces(10).add(event)


def test_a_stream_without_choices_is_garbled() -> None:
    pieces = Pieces(10)
    pieces.add("[DONE]")
    with pytest.raises(Fault, match="no choices"):
        pieces.reply()


def error(**fields: Any) -> str:
    return json.dumps({"error": fields})


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (error(message="broken", code=503), Fault),
        (error(message="broken"), Fault),
        ('{"error": "broken"}', Fault),
        (error(message="bad", code=400), Refused),
        (error(message="long", code=400, type="exceed_context_size_error"), Overflow),
    ],
)
def test_errors_within_a_stream(event: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        Pieces(10).add(event)


def delta(**fields: Any) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": fields}]})


def call(index: int | None, name: str | None, arguments: str | None, **more: Any) -> dict[str, Any]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {**({} if index is None else {"index": index}), "function": function, **more}


ENDED = json.dumps({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})


def test_calls_come_in_pieces_too() -> None:
    events = [
        delta(role="assistant", content=None),
        delta(tool_calls=[call(0, "ls", "", id="a")]),
        delta(tool_calls=[call(0, None, '{"path"')]),
        delta(tool_calls=[call(1, "cd", '{"to": 1}', id="b"), call(0, None, ': "/"}')]),
        ENDED,
    ]
    completion = put_together(events)
    assert completion.tool_calls == (ToolCall("ls", {"path": "/"}), ToolCall("cd", {"to": 1}))


def test_calls_without_an_index_go_by_their_ids() -> None:
    events = [
        delta(tool_calls=[call(None, "ls", "{", id="a")]),
        delta(tool_calls=[call(None, None, "}")]),
        delta(tool_calls=[call(None, "cd", "{}", id="b")]),
        ENDED,
    ]
    assert put_together(events).tool_calls == (ToolCall("ls"), ToolCall("cd"))


def test_endless_calls_are_not_kept() -> None:
    events = [delta(tool_calls=[call(n, "ls", "{}")]) for n in range(1000)]
    completion = put_together([*events, ENDED])
    assert completion.tool_calls is None
    assert completion.text.count('"ls"') == 257


def test_token_ids_and_log_probabilities_come_in_pieces() -> None:
    first = {
        "delta": {"content": "a"},
        "token_ids": [5],
        "logprobs": {"content": [{"logprob": -1}]},
    }
    last = {"delta": {"content": "b"}, "token_ids": [6], "logprobs": {"content": [{"logprob": -2}]}}
    events = [
        json.dumps({"prompt_token_ids": [1, 2], "choices": [{"delta": {"role": "assistant"}}]}),
        json.dumps({"choices": [first]}),
        json.dumps({"choices": [{**last, "finish_reason": "length"}]}),
    ]
    assert put_together(events) == Completion(
        "ab", None, (5, 6), (-1.0, -2.0), "length", (1, 2), new_tokens=2
    )


@given(st.lists(st.text(max_size=6), max_size=8), st.sampled_from(["chat", "completion"]))
def test_a_text_does_not_depend_on_where_it_was_cut(parts: list[str], form: str) -> None:
    rows = [{"delta": {"content": p}} if form == "chat" else {"text": p} for p in parts]
    events = [json.dumps({"choices": [row]}) for row in [*rows, {"delta": {}, "text": ""}]]
    assert put_together([*events, "[DONE]"], form).text == "".join(parts)


NAMES = """choices delta content tool_calls index id function name arguments text usage error code
logprobs token_ids"""
ODD = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(NAMES.split()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.lists(ODD, max_size=4))
def test_no_stream_raises_anything_but_what_is_expected(values: list[Any]) -> None:
    choices = [{"choices": [value]} for value in values]
    for events in (values, choices, [{"choices": [{"delta": value}]} for value in values]):
        with contextlib.suppress(Fault, Refused, Overflow):
            put_together([*map(json.dumps, events), "[DONE]"])
