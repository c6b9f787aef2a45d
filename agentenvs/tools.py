"""What passes between a model and a world: messages, tools and calls."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, Self, TypedDict

from agentenvs.errors import BadArgument

__all__ = ["Message", "Shared", "Tool", "ToolCall"]


class Message(TypedDict):
    """One message of a conversation; `name` and `tool_calls` only where they apply."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    name: NotRequired[str]
    tool_calls: NotRequired[list[dict[str, Any]]]


class Shared:
    """Base of read-only objects that copies of an environment share instead of copying."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


@dataclass(frozen=True, slots=True)
class Tool(Shared):
    """A function on offer; nobody changes one, so copies share it.

    Attributes:
        name: the name that a call must use.
        description: what it does, for the model.
        parameters: JSON schema of type "object"; the order of `properties` is the order in
            which positional arguments are bound.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})

    @classmethod
    def of(cls, tool: Tool | Mapping[str, Any]) -> Tool:
        """Return `tool` as a `Tool`; takes flat schemas and OpenAI's `{"function": {...}}`.

        Raises:
            BadArgument: there is no name, or `parameters` is not a mapping.
        """
        if isinstance(tool, Tool):
            return tool
        if not isinstance(tool, Mapping):
            raise BadArgument(f"Expected a tool to be a Tool or a dict, got {type(tool)}.")
        body = tool.get("function", tool)
        if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
            raise BadArgument(f"Expected a tool schema with a `name`, got {str(tool)[:200]}.")
        parameters = body.get("parameters") or {"type": "object", "properties": {}}
        if not isinstance(parameters, Mapping):
            raise BadArgument(f"Expected `parameters` of {body['name']!r} to be a dict.")
        return cls(body["name"], str(body.get("description") or ""), parameters)

    def schema(self) -> dict[str, Any]:
        """Return the flat JSON-schema form, a fresh copy."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": copy.deepcopy(dict(self.parameters)),
        }


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that was read from a text: a name and keyword arguments, never evaluated."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return `{"name": ..., "arguments": ...}`."""
        return {"name": self.name, "arguments": self.arguments}
