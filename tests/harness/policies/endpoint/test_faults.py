from __future__ import annotations

import json

import httpx2
import pytest

from agentenvs.harness.policies.endpoint.faults import (
    Fault,
    Overflow,
    Refused,
    of_status,
    of_transport,
)


def told(message: str) -> str:
    return json.dumps({"error": {"message": message, "code": 400}})


LLAMA = {
    "error": {
        "code": 400,
        "message": "request (5001 tokens) exceeds the available context size (2048 tokens), "
        "try increasing it",
        "type": "exceed_context_size_error",
    }
}
TOO_LONG = [
    json.dumps(LLAMA),
    # OpenAI
    json.dumps({"error": {"message": "Too long.", "code": "context_length_exceeded"}}),
    # vLLM: with the error as the whole object, in an object, and of different releases
    json.dumps(
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested "
            "4196 tokens (4096 in the messages, 100 in the completion).",
        }
    ),
    told(
        "'max_tokens' or 'max_completion_tokens' is too large: 100. This model's maximum context "
        "length is 4096 tokens and your request has 4000 input tokens (100 > 4096 - 4000)."
    ),
    told(
        "This model's maximum context length is 4096 tokens. However, you requested 100 output "
        "tokens and your prompt contains at least 3997 input tokens, for a total of 4097 tokens."
    ),
    told(
        "The decoder prompt (length 5951) is longer than the maximum model length of 4096. Make "
        "sure that `max_model_len` is no smaller than the number of text tokens."
    ),
    # SGLang
    told("The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
    told(
        "Requested token count exceeds the model's maximum context length of 4096 tokens. You "
        "requested a total of 4100 tokens: 4000 tokens from the input messages and 100 tokens "
        "for the completion."
    ),
    json.dumps({"detail": "Input length (5000 tokens) exceeds the maximum allowed length (4090)."}),
]


@pytest.mark.parametrize("body", TOO_LONG)
def test_a_conversation_that_is_too_long(body: str) -> None:
    assert isinstance(of_status(400, body, 100), Overflow)


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
        "max_tokens=100000 cannot be greater than max_model_len=max_total_tokens=4096.",
        "This model's maximum context length is 4096 tokens. However, you requested 100000 output "
        "tokens and your prompt contains at least 10 input tokens.",
        "'max_tokens' is too large: 100,000. This model's maximum context length is 4,096 tokens.",
    ],
)
def test_too_many_tokens_asked_for_is_a_wrong_setting(message: str) -> None:
    outcome = of_status(400, json.dumps({"error": {"message": message}}), 100_000)
    assert isinstance(outcome, Refused)
    assert message[:40] in str(outcome)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_faults_that_pass(status: int) -> None:
    outcome = of_status(status, '{"error":"busy"}', 10, 2.5)
    assert isinstance(outcome, Fault)
    assert outcome.reason == f"http_{status}"
    assert outcome.retry_after == 2.5
    assert "busy" in str(outcome)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 413, 422, 501])
def test_refusals_that_last(status: int) -> None:
    assert isinstance(of_status(status, "no", 10), Refused)


def test_a_context_of_endless_digits() -> None:
    message = f"maximum context length is {'9' * 9999}"
    assert isinstance(of_status(400, message, 10), Overflow)


def test_an_empty_account_does_not_fill_by_waiting() -> None:
    body = json.dumps({"error": {"message": "You are out.", "code": "insufficient_quota"}})
    assert isinstance(of_status(429, body, 10), Refused)


def test_a_limit_of_tokens_a_minute_is_not_the_context() -> None:
    body = json.dumps({"error": {"message": "Over the maximum context length a minute."}})
    assert isinstance(of_status(429, body, 10), Fault)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('{"error": {"message": "one"}}', "one"),
        ('{"detail": "two"}', "two"),
        ('{"detail": [{"loc": ["body"], "msg": "three"}]}', "three"),
        ('{"error": "four"}', "four"),
        ("five", "five"),
        ('["six"]', "six"),
        ("[" * 100_000, "["),
        ("", "HTTP 400"),
    ],
)
def test_the_message_of_an_error_in_any_form(body: str, told: str) -> None:
    assert told in str(of_status(400, body, 1))


@pytest.mark.parametrize(
    ("error", "began", "reason"),
    [
        (TimeoutError(), False, "timeout"),
        (httpx2.ReadTimeout("slow"), True, "timeout"),
        (httpx2.ConnectError("refused"), False, "connection"),
        (httpx2.RemoteProtocolError("Server disconnected"), False, "connection"),
        (httpx2.RemoteProtocolError("peer closed"), True, "cut_reply"),
        (httpx2.ReadError("reset"), True, "cut_reply"),
        (httpx2.DecodingError("gzip"), True, "garbled_reply"),
    ],
)
def test_faults_of_the_transport(error: Exception, began: bool, reason: str) -> None:
    outcome = of_transport(error, began)
    assert isinstance(outcome, Fault)
    assert outcome.reason == reason


def test_a_request_that_cannot_be_sent_is_not_sent_again() -> None:
    assert isinstance(of_transport(httpx2.LocalProtocolError("bad header"), False), Refused)
