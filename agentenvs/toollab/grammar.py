"""From an action's text to commands, or to closing words; and from calls to a command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentenvs.actions import canonical, read_json_action
from agentenvs.core import Shared, Tool, ToolCall
from agentenvs.toollab.design import CHANNELS, COUNTS, LABELS

__all__ = ["FIND", "FOUND", "TOOLS", "Reading", "read", "schemas", "write"]

FIND = "find"
#: stands for the tag that was found, so that a plan can be written down before the episode
FOUND = "it"

_ARGUMENTS = {FIND: ("item",), **dict.fromkeys(CHANNELS, ("tag", "label", "count"))}
_USES = {
    FIND: "Answers the tag of the item that the errand is about.",
    **{name: f"Carries out the errand by {name}." for name in CHANNELS},
}


def _parameters(name: str) -> dict[str, Any]:
    if name == FIND:
        properties: dict[str, Any] = {"item": {"type": "string", "description": "the item's name"}}
    else:
        properties = {
            "tag": {"type": "string", "description": "the tag that find answered"},
            "label": {"type": "string", "enum": list(LABELS), "description": "how it is packed"},
            "count": {
                "type": "string",
                "enum": list(COUNTS),
                "description": "the count asked for, as the label counts it",
            },
        }
    return {"type": "object", "properties": properties, "required": list(properties)}


TOOLS: tuple[Tool, ...] = tuple(Tool(name, use, _parameters(name)) for name, use in _USES.items())


def schemas() -> list[dict[str, Any]]:
    """Return the tools as JSON schemas, fresh ones, at a tenth of a copy's cost."""
    return [
        {"name": name, "description": use, "parameters": _parameters(name)}
        for name, use in _USES.items()
    ]


@dataclass(frozen=True, slots=True)
class Reading(Shared):
    """How an action was read.

    Attributes:
        status: "calls", "words" or "malformed" (JSON calls that do not read).
        commands: the commands in order, each as its words; a call that is not as the tool wants
            it has the tool's name and nothing else, and one that does not read has no word.
        words: the closing words; empty unless status is "words".
        reason: what is wrong, for "malformed".
    """

    status: Literal["calls", "words", "malformed"]
    commands: tuple[tuple[str, ...], ...] = ()
    words: tuple[str, ...] = ()
    reason: str = ""

    @property
    def parse(self) -> dict[str, str]:
        """The entry of `info`."""
        return {"status": self.status, "reason": self.reason}


def read(text: str) -> Reading:
    """Read an action; never raises on text.

    Args:
        text: a command line, `find ITEM` or a channel and what follows; canonical JSON calls; any
            other text, also what JSON has beside an empty list of calls, is closing words.
    """
    action = read_json_action(text)
    if action is not None and action.status == "malformed":
        return Reading("malformed", ((),), reason=action.reason)
    if action is not None and action.status == "calls":
        return Reading("calls", tuple(map(_command, action.calls)))
    words = tuple((text if action is None else action.content or "").split())
    if action is None and words and _is_command(words):
        return Reading("calls", (words,))
    return Reading("words", words=words)


def write(calls: Sequence[ToolCall], content: str | None = None) -> str:
    """Return calls as a text that `read` reads: a command line where one says the same.

    Several calls, and those whose arguments are not single words, go as canonical JSON. Words
    beside a command are left out; a command line has no place for them, and they do nothing.
    """
    if len(calls) == 1:
        command = _command(calls[0])
        if len(command) > 1:
            return " ".join(command)
    return canonical(tuple(calls), content)


def _is_command(words: Sequence[str]) -> bool:
    return words[0] in CHANNELS or (words[0] == FIND and len(words) == 2)


def _command(call: ToolCall) -> tuple[str, ...]:
    names = _ARGUMENTS.get(call.name, ())
    values = [call.arguments.get(name) for name in names]
    single = all(isinstance(value, str) and value.split() == [value] for value in values)
    if not single or set(call.arguments) != set(names):
        return (call.name,)
    return (call.name, *map(str, values))
