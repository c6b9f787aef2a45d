"""Reads a reply, whatever a server left out of it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from agentenvs.actions import refuse_constant
from agentenvs.core import ToolCall
from agentenvs.harness.exchange import Completion, FinishReason, Form, Request
from agentenvs.harness.policies.endpoint.body import Names
from agentenvs.harness.policies.endpoint.calls import as_malformed, read_calls, whole
from agentenvs.harness.policies.endpoint.faults import Fault, garbled

__all__ = ["read_completion", "read_object"]

_FINISHES: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
#: ends that are no end of an answer
_BROKEN = ("abort", "error", "cancelled")


def read_object(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object that a text is.

    Raises:
        Fault: it is none.
    """
    try:
        value = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise garbled(f"no JSON ({error})"[:200]) from None
    if not isinstance(value, dict):
        raise garbled(f"JSON of type {type(value).__name__}")
    return value


class _Said(NamedTuple):
    """What a choice says: its text, and its calls as they came."""

    text: str
    calls: list[Any]


def read_completion(
    reply: dict[str, Any], form: Form, request: Request, context: int | None = None
) -> Completion:
    """Return what a reply says.

    Args:
        reply: of `/chat/completions` or `/completions`.
        form: which of the two.
        request: what was asked.
        context: most tokens of prompt and completion together, where that is known. A request
            that reserved more is answered as a conversation too long, as the server's own count
            of the prompt tells: not every server refuses it.

    Raises:
        Fault: it is no reply.
    """
    choice = _choice(reply)
    said = _chat(choice) if form == "chat" else _Said(_text(choice.get("text"), "text"), [])
    prompt_tokens, new_tokens = _usage(reply.get("usage"))
    prompt_ids = _ids(choice.get("prompt_token_ids")) or _ids(reply.get("prompt_token_ids"))
    reserved = (prompt_tokens or 0) + request.max_tokens
    if context is not None and reserved > context:
        return Completion(finish_reason="context", prompt_token_ids=prompt_ids)
    text, finish = said.text, _finish(choice.get("finish_reason"))
    ends = [at for at in (text.find(stop) for stop in request.stop if stop) if at >= 0]
    if ends:
        text, finish = text[: min(ends)], "stop"
    calls: tuple[ToolCall, ...] | None = None
    if said.calls:
        calls = read_calls(said.calls, Names(request.tools))
        finish = "length" if finish == "length" else "tool_calls"
        if calls is None:
            text = as_malformed(said.calls, text)
    ids = _ids(choice.get("token_ids"))
    return Completion(
        whole(text),
        calls,
        ids,
        _logprobs(choice.get("logprobs"), ids, request),
        finish,
        prompt_ids,
        new_tokens if ids is None else len(ids),
    )


def _choice(reply: dict[str, Any]) -> dict[str, Any]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices:
        raise garbled("no choices")
    choice = choices[0]
    if not isinstance(choice, dict):
        raise garbled(f"a choice of type {type(choice).__name__}")
    return choice


def _chat(choice: dict[str, Any]) -> _Said:
    message = choice.get("message")
    if not isinstance(message, dict):
        raise garbled("a choice without a message")
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise garbled(f"tool calls of type {type(calls).__name__}")
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return _Said("" if content is None else _text(content, "content"), calls or [])


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise garbled(f"{name} of type {type(value).__name__}")
    return value


def _finish(value: Any) -> FinishReason:
    if value is not None and not isinstance(value, str):
        raise garbled(f"a finish reason of type {type(value).__name__}")
    if value in _BROKEN:
        raise Fault(f"the server gave up the reply ({value})", "cut_reply")
    return _FINISHES.get(value or "", "stop")


def _usage(usage: Any) -> tuple[int | None, int | None]:
    """Return the tokens of the prompt and of the completion, None where they are not told."""
    if not isinstance(usage, dict):
        return None, None
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))


def _count(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise garbled(f"a count of tokens that is {value!r:.40}")
    return value


def _ids(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(token) is int for token in value):
        raise garbled("token ids that are no integers")
    return tuple(value)


def _logprobs(value: Any, ids: Sequence[int] | None, request: Request) -> tuple[float, ...] | None:
    """Return one log-probability a token, where they are those of the distribution drawn from.

    Servers give them as the model has them, before temperature and nucleus.
    """
    if ids is None or not isinstance(value, dict):
        return None
    if request.temperature != 1.0 or request.top_p != 1.0:
        return None
    rows = value.get("content")
    if isinstance(rows, list):
        found = [row.get("logprob") if isinstance(row, dict) else None for row in rows]
    else:
        found = value.get("token_logprobs") or []
    if not isinstance(found, list) or len(found) != len(ids):
        return None
    try:
        numbers = tuple(float(number) for number in found if type(number) in (int, float))
    except OverflowError:
        numbers = ()
    if len(numbers) != len(ids) or not all(map(math.isfinite, numbers)):
        raise garbled("log-probabilities that are no finite numbers")
    return numbers
