"""From a reply to an answer: the canonical action and a strict grammar, or the text untouched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentenvs.acebench.answers import bracketed, read_calls
from agentenvs.acebench.literal import cut, decode
from agentenvs.acebench.replay import END
from agentenvs.actions import MAX_CALLS, read_json_action
from agentenvs.core import ToolCall
from agentenvs.syntax import UnreadableCall, call_text

__all__ = ["Answer", "Decoding", "read_reply", "written"]

Decoding = Literal["native", "official"]
_MARKS = ("<tool_call", "<function", "<TOOLCALL", "[TOOL_CALLS]", "<|python_tag|>")
_BARE = re.compile(r"\s*([^\W\d][\w.]*)\s*\(")
_TRY = re.compile(r"\[\s*[^\W\d][\w.]*\s*\(")


@dataclass(frozen=True, slots=True)
class Answer:
    """How a reply was read.

    Attributes:
        status: "calls", "words" or "malformed" (calls that do not read).
        text: what is judged, carried out or said: the calls as the original writes them, or
            the words; without words beside structured calls.
        calls: the calls; none for words and for what is malformed; None where the original's
            own reading of `text` decides.
        reason: what is wrong, for "malformed".
        beside: the words beside structured calls.
    """

    status: Literal["calls", "words", "malformed"]
    text: str
    calls: tuple[ToolCall, ...] | None = None
    reason: str = ""
    beside: str = ""

    @property
    def whole(self) -> str:
        """The text with the words beside it before it."""
        return f"{self.beside}\n{self.text}" if self.beside else self.text

    @property
    def message(self) -> str:
        """What an agent says: the text, after words beside it where these end the episode."""
        return self.whole if END in self.beside else self.text

    @property
    def parse(self) -> dict[str, str]:
        """The entry of `info`."""
        return {"status": self.status, "reason": self.reason}


def read_reply(text: str, decoding: Decoding, functions: Sequence[Mapping[str, Any]]) -> Answer:
    """Read a reply; never raises on text.

    Args:
        text: the reply.
        decoding: "native" reads the canonical JSON action, or one Python-style list of calls
            or one such call of a function on offer, with nothing around it, positional values
            bound by the order of the description; "official" leaves the text to the original's
            own reading.
        functions: the descriptions on offer.
    """
    try:
        return _official(text) if decoding == "official" else _native(text, functions)
    except RecursionError:
        return Answer("malformed", text, (), "nested too deeply")


def written(calls: Sequence[ToolCall]) -> str:
    """Return calls as the original writes them."""
    return f"[{', '.join(call_text(call.name, call.arguments) for call in calls)}]"


def _official(text: str) -> Answer:
    """Say what the original may make of a text, for `info`; the text itself decides."""
    try:
        read = decode(cut(text)) if _TRY.search(text) else []
    except UnreadableCall as problem:
        return Answer("malformed", text, None, str(problem))
    return Answer("calls" if read else "words", text)


def _native(text: str, functions: Sequence[Mapping[str, Any]]) -> Answer:
    action = read_json_action(text)
    if action is not None:
        words = text if action.content is None else action.content
        if action.status != "calls":
            return Answer(action.status, words, (), action.reason)
        try:
            text = written(action.calls)
            return Answer("calls", text, action.calls, beside=action.content or "")
        except (ValueError, RecursionError) as problem:
            return Answer("malformed", words, (), str(problem)[:200])
    body = text.strip()
    bare = _BARE.match(body)
    known = {function["name"] for function in functions}
    if bare is not None and bare[1] in known and body.endswith(")"):
        body = f"[{body}]"
    try:
        if not _TRY.match(body):
            reason = "calls with other text around them" if _tries(text, known) else ""
            return Answer("malformed" if reason else "words", text, (), reason)
        if bracketed(body, 0) != body:
            return Answer("malformed", text, (), "calls with other text around them")
        calls = tuple(ToolCall(call.name, call.arguments) for call in read_calls(body, functions))
        if len(calls) > MAX_CALLS:
            return Answer("malformed", text, (), f"more than {MAX_CALLS} calls")
        return Answer("calls", written(calls), calls)
    except (UnreadableCall, ValueError) as problem:
        return Answer("malformed", text, (), str(problem)[:200])


def _tries(text: str, known: set[str]) -> bool:
    """Whether a text that does not read looks like an attempt at calls, not like words."""
    stripped = text.strip("`\n\t ")
    if stripped.startswith(("{", "[{")) and ('"name"' in stripped or '"tool_calls"' in stripped):
        return True
    if any(mark in text for mark in _MARKS):
        return True
    return any(
        found[0].lstrip("[ \t\r\n").rstrip("( \t\r\n") in known for found in _TRY.finditer(text)
    )
