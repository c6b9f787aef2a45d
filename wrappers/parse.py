"""Model text to tool calls: the one function that every reply goes through."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentenvs.actions import MAX_CALLS, Action, read_json_action
from agentenvs.core import Tool, ToolCall
from agentenvs.errors import BadArgument
from agentenvs.syntax import read_call_list
from agentenvs.wrappers.reader import Reader
from agentenvs.wrappers.toolset import Toolset

__all__ = ["MAX_TEXT", "Mode", "Parse", "parse_tool_calls"]

MAX_TEXT = 2_000_000

#: where Python's own reader and the scanner could differ
_UNUSUAL = re.compile(r"[^\x20-\x7e\n]|[\\#;]|//|\d_|[{(\[,]\s*[({\[]\s*[({\[]")

Mode = Literal["relaxed", "strict"]


@dataclass(frozen=True, slots=True)
class Parse:
    """How a reply was read.

    Attributes:
        calls: the calls in order; empty unless `status` is "calls".
        content: the words beside the calls, or the whole answer for words; None where there
            are none.
        repairs: what had to be mended, "quotes" or "brackets" say; empty in strict mode.
        status: "calls"; "words" (also for an empty list of calls); or "malformed", an
            attempt at calls that does not read, or no answer at all.
        reason: "" or "<kind>: <detail>" with a kind of `PARSE_REASONS`. Beside calls it says
            why the text behind them was dropped.
        strict: strict mode reads the same calls (or the same lack of them).
        format: the format of the first calls, "words" or "malformed".
    """

    calls: list[ToolCall]
    content: str | None
    repairs: list[str]
    status: Literal["calls", "words", "malformed"]
    reason: str = ""
    strict: bool = True
    format: str = "words"


def parse_tool_calls(
    text: str, tools: Iterable[Tool | Mapping[str, Any]] | Toolset, mode: Mode = "relaxed"
) -> Parse:
    """Read the tool calls in a model's reply; nothing is evaluated and no text raises.

    Relaxed mode knows the formats that models are trained to write, mends what can be
    mended in one way only, and refuses the rest. Its work is linear in the text's length.

    Example:
        >>> tools = [{"name": "cd", "parameters": {"properties": {"folder": {}}}}]
        >>> parse = parse_tool_calls("I'll go there: [cd('reports')]", tools)
        >>> parse.calls, parse.repairs
        ([ToolCall(name='cd', arguments={'folder': 'reports'})], ['positional', 'prose'])

    Args:
        text: what the model wrote.
        tools: the tools on offer, as `Tool`, as JSON schemas, or as a `Toolset` made once.
        mode: "relaxed", or "strict": only the canonical JSON or one Python-style list of
            calls, with nothing around it.

    Raises:
        BadArgument: `text` is no string, a tool is none, or there is no such mode.
    """
    if not isinstance(text, str):
        raise BadArgument(f"Expected `text` to be a str, got {type(text)}.")
    if mode not in ("relaxed", "strict"):
        raise BadArgument(f"Expected `mode` to be 'relaxed' or 'strict', got {mode!r}.")
    known = tools if isinstance(tools, Toolset) else Toolset(tools)
    if len(text) > MAX_TEXT:
        return _refused(f"too_large: longer than {MAX_TEXT} characters", text[:MAX_TEXT])
    if mode == "strict":
        return _strict(text, known)
    return _relaxed(text, known)


def _refused(reason: str, content: str | None = None, **rest: Any) -> Parse:
    return Parse([], content, [], "malformed", reason, format="malformed", **rest)


def _strict_action(text: str, tools: Toolset) -> tuple[Action | None, str]:
    action, form = read_json_action(text), "json"
    if action is None:
        action, form = read_call_list(text, tools.by_name), "pylist"
    return action, form


def _strict(text: str, tools: Toolset) -> Parse:
    action, form = _strict_action(text, tools)
    if action is None:
        return Parse([], text, [], "words")
    if action.status == "malformed":
        return _refused(f"{_kind(action.reason)}: {action.reason}", action.content)
    calls = [ToolCall(call.name, _plain(call.arguments)) for call in action.calls]
    return Parse(calls, action.content, [], action.status, format=form if calls else "words")


def _kind(reason: str) -> str:
    for word, kind in (
        ("nested deeper", "too_deep"),
        ("longer than", "too_large"),
        ("more than", "too_large"),
        ("too large", "too_large"),
        ("literal", "not_literal"),
        ("twice", "ambiguous"),
        ("arguments", "arguments"),
        ("a call was expected", "not_called"),
    ):
        if word in reason:
            return kind
    return "syntax"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key if isinstance(key, str) else json.dumps(key): _plain(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _relaxed(text: str, tools: Toolset) -> Parse:
    if "#" in text and text.lstrip()[:1] == "[":
        # Python ends a line there; a reply that reads as it stands needs no second opinion.
        whole = _strict(text, tools)
        if whole.calls:
            return whole
    reader = Reader(text, tools)
    reader.run()
    reason = str(reader.trouble) if reader.trouble else ""
    repairs = list(reader.scan.repairs)
    if reader.calls:
        strict = _same_strictly(text, tools, reader, repairs)
        return Parse(reader.calls, reader.content, repairs, "calls", reason, strict, reader.form)
    action, form = _strict_action(text, tools) if text.lstrip()[:1] in ("[", "{") else (None, "")
    if action is not None and action.status == "calls":
        calls = [ToolCall(call.name, _plain(call.arguments)) for call in action.calls]
        return Parse(calls, action.content, [], "calls", "", True, form)
    if reader.trouble or reader.silent:
        reason = reason or "no_answer: only thoughts or an invented continuation"
        return _refused(
            reason, reader.content, strict=action is not None and action.status == "malformed"
        )
    same = action is None or action.status == "words"
    content = reader.content
    if reader.nothing:
        content = content or None
    return Parse([], content, repairs, "words", strict=same)


def _same_strictly(text: str, tools: Toolset, reader: Reader, repairs: list[str]) -> bool:
    """Whether strict mode reads the same calls; strict mode itself is asked where it is cheap."""
    if not reader.alone or reader.trouble or any(name != "positional" for name in repairs):
        return False
    if reader.form not in ("json", "pylist") or text.lstrip()[:1] not in ("[", "{"):
        return False
    if reader.form == "pylist" and not _UNUSUAL.search(text):
        names = (name for call in reader.calls for name in (call.name, *call.arguments))
        return len(reader.calls) <= MAX_CALLS and not any(map(_is_no_name, names))
    if reader.form == "json":
        action = read_json_action(text)
        return action is not None and list(action.calls) == reader.calls
    action, _ = _strict_action(text, tools)
    if action is None or action.status != "calls":
        return False
    return [(call.name, _plain(call.arguments)) for call in action.calls] == [
        (call.name, call.arguments) for call in reader.calls
    ]


def _is_no_name(name: str) -> bool:
    return "-" in name or keyword.iskeyword(name)
