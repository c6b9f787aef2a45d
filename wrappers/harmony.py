"""OpenAI's harmony: messages in channels, also where the special tokens were stripped."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentenvs.core import ToolCall
from agentenvs.wrappers.body import read_body
from agentenvs.wrappers.scanner import Scanner
from agentenvs.wrappers.shapes import calls_in
from agentenvs.wrappers.toolset import Toolset
from agentenvs.wrappers.trouble import Unreadable

__all__ = ["Channel", "read_channel"]

_HARMONY_END = re.compile(r"<\|(?:end|start|call|return)\|>|assistant(?=commentary|final|analysis)")
_RECIPIENT = re.compile(r"to=(?:functions\.)?([\w.\-]{1,256})")
_STRIPPED = re.compile(r"(?:assistant)?(?:commentary|analysis)[ ]to=(?:functions\.)?")
_HEADER = 400


@dataclass(frozen=True, slots=True)
class Channel:
    """What a header brought: calls, or the start of words, or the end of all reading.

    Attributes:
        end: where to go on.
        calls: the calls of a message to a function, None for other messages.
        forget: the words before it were thoughts.
        over: nothing behind it is the model's answer.
        silent: the answer is missing: the thoughts do not end.
    """

    end: int
    calls: list[ToolCall] | None = None
    forget: bool = False
    over: bool = False
    silent: bool = False


def read_channel(scan: Scanner, tools: Toolset, start: int, end: int) -> Channel:
    """Read the header of a message from `start` to `end` and, for a call, its body.

    Raises:
        Unreadable: the header or the arguments were cut.
    """
    text = scan.text
    if text.startswith("assistantfinal", start):
        return Channel(end, forget=True)
    stripped = _STRIPPED.match(text, start)
    if stripped is not None:
        calls, _, after = read_body(scan, tools, stripped.end())
        return Channel(after, calls, forget=True)
    message = text.find("<|message|>", end, end + _HEADER)
    if message < 0:
        raise Unreadable("cut", "the text ends inside the header of a message")
    header = text[start:message]
    body = message + len("<|message|>")
    if header.startswith("<|start|>") and not header.startswith("<|start|>assistant"):
        return Channel(start, over=True)
    recipient = _RECIPIENT.search(header)
    if recipient is not None and recipient[1] != "assistant":
        name = tools.resolve(recipient[1])
        inner, after = scan.json_value(scan.skip(body))
        if scan.open and scan.open[0] is not inner:
            raise Unreadable("cut", "the text ends inside a value")
        found = calls_in(scan, tools, {"name": name, "arguments": inner}, explicit=True)
        return Channel(after, found[0] if found else [])
    if "analysis" not in header:
        return Channel(body)
    thought = _HARMONY_END.search(text, body)
    if thought is None:
        return Channel(body, over=True, silent=True)
    return Channel(thought.end() if thought.group() == "<|end|>" else thought.start())
