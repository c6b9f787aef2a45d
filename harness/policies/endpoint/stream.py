"""Puts an answer together that comes in pieces, as server-sent events."""

from __future__ import annotations

from typing import Any

from agentenvs.actions import MAX_CALLS
from agentenvs.harness.policies.endpoint.faults import Fault, garbled, of_status
from agentenvs.harness.policies.endpoint.replies import read_object

__all__ = ["Pieces"]


class Pieces:
    """Collects the events of one stream into the reply that would have come at once.

    Args:
        max_tokens: what was asked for.
    """

    def __init__(self, max_tokens: int) -> None:
        self.done = False
        self._max_tokens = max_tokens
        self._text: list[str] = []
        self._content: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._places: dict[Any, int] = {}
        self._lists: dict[str, list[Any]] = {}
        self._logprobs: dict[str, list[Any]] = {}
        self._finish: Any = None
        self._seen = False
        self._whole: dict[str, Any] = {}

    def add(self, data: str) -> None:
        """Take the data of one event.

        Raises:
            Fault: it cannot be read, or says that the server failed.
            Overflow: it says that the conversation is too long.
            Refused: it says that the request is wrong.
        """
        if self.done or not data:
            return
        if data.strip() == "[DONE]":
            self.done = True
            return
        event = read_object(data)
        if event.get("error") is not None:
            told = event["error"]
            code = told.get("code") if isinstance(told, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            raise of_status(status, data, self._max_tokens)
        for name in ("usage", "prompt_token_ids"):
            if event.get(name) is not None:
                self._whole[name] = event[name]
        choices = event.get("choices")
        if not isinstance(choices, list):
            raise garbled("an event without choices")
        for choice in choices[:1]:
            self._take(choice)

    def _take(self, choice: Any) -> None:
        if not isinstance(choice, dict):
            raise garbled(f"a choice of type {type(choice).__name__}")
        self._seen = True
        self._text.append(_piece(choice.get("text"), str, ""))
        delta = _piece(choice.get("delta"), dict, {})
        self._content.append(_piece(delta.get("content"), str, ""))
        for call in _piece(delta.get("tool_calls"), list, []):
            self._call(call)
        for name in ("token_ids", "prompt_token_ids"):
            if isinstance(choice.get(name), list):
                self._lists.setdefault(name, []).extend(choice[name])
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, dict):
            for name in ("content", "token_logprobs"):
                if isinstance(logprobs.get(name), list):
                    self._logprobs.setdefault(name, []).extend(logprobs[name])
        if choice.get("finish_reason") is not None:
            self._finish = choice["finish_reason"]

    def _call(self, piece: Any) -> None:
        """Add a piece to the call that it belongs to: its index says, or that it has an id."""
        if not isinstance(piece, dict):
            raise garbled(f"a tool call of type {type(piece).__name__}")
        place = piece.get("index")
        if type(place) is int:
            at = self._places.setdefault(place, len(self._calls))
        else:
            at = len(self._calls) - (1 if self._calls and not piece.get("id") else 0)
        if at == len(self._calls):
            if at > MAX_CALLS:
                return
            self._calls.append({"function": {"name": None, "arguments": None}})
        own = self._calls[at]["function"]
        function = piece.get("function")
        for name in ("name", "arguments"):
            more = function.get(name) if isinstance(function, dict) else None
            if isinstance(more, str) and (own[name] is None or isinstance(own[name], str)):
                own[name] = (own[name] or "") + more
            elif more is not None:
                own[name] = more

    def reply(self) -> dict[str, Any]:
        """Return the whole reply.

        Raises:
            Fault: the stream ended before the answer did.
        """
        if self._finish is None and not self.done:
            raise Fault("the stream ended before the answer did", "cut_reply")
        if not self._seen:
            raise garbled("no choices")
        message = {"content": "".join(self._content), "tool_calls": self._calls}
        choice = {"text": "".join(self._text), "message": message, **self._lists}
        choice |= {"finish_reason": self._finish, "logprobs": self._logprobs}
        return {**self._whole, "choices": [choice]}


def _piece(value: Any, kind: type, nothing: Any) -> Any:
    """Return a piece, or `nothing` where there is none."""
    if value is None:
        return nothing
    if not isinstance(value, kind):
        raise garbled(f"a piece of type {type(value).__name__}")
    return value
