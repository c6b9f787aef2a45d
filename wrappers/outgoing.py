"""What an environment is told: the action text that stands for a parse."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from agentenvs.actions import MAX_CALLS, MAX_DEPTH, canonical
from agentenvs.core import MAX_ACTION
from agentenvs.wrappers.parse import Parse

__all__ = ["action_text"]

_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS = {ord(char): f"\\u{ord(char):04x}" for char in "[]{}()"}
#: without these no environment's grammar finds a call in a text
_CALL_LIKE = re.compile(r"[\[({<`]|^\s*\"", re.MULTILINE)
_SHOWN = 10_000


def action_text(parse: Parse, raw: str | None) -> tuple[Parse, str]:
    """Return the action text for a parse, and the parse, malformed where it fits no action.

    Words go out as they are where no grammar could take them for calls, else inside the
    canonical action; what is malformed goes out as a canonical action whose `tool_calls` is
    no list, which every environment reports as malformed.

    Args:
        parse: how the reply was read.
        raw: the reply, where it was text.
    """
    if parse.status == "calls":
        if len(parse.calls) > MAX_CALLS:
            parse = _refuse(parse, f"more than {MAX_CALLS} calls")
        else:
            text = _fit(canonical(parse.calls, parse.content))
            if len(text) <= MAX_ACTION:
                return parse, text
            parse = _refuse(parse, f"an action longer than {MAX_ACTION} characters")
    if parse.status == "words":
        content = parse.content
        if content and not _CALL_LIKE.search(content):
            text = content
        else:
            text = _fit(canonical([], content))
        if len(text) <= MAX_ACTION:
            return parse, text
        parse = _refuse(parse, f"an answer longer than {MAX_ACTION} characters")
    shown = (raw if raw is not None else parse.content or "")[:_SHOWN]
    body = {"content": shown, "tool_calls": "malformed"}
    return parse, _fit(json.dumps(body, ensure_ascii=False))


def _refuse(parse: Parse, detail: str) -> Parse:
    return replace(
        parse, calls=[], status="malformed", reason=f"too_large: {detail}", format="malformed"
    )


def _fit(text: str) -> str:
    """Escape brackets inside strings where there are so many that they would look nested."""
    if text.count("[") + text.count("{") + text.count("(") <= MAX_DEPTH:
        return text
    return _JSON_STRING.sub(lambda match: match.group().translate(_BRACKETS), text)
