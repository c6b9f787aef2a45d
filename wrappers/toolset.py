"""The tools on offer, as a parser needs them: names, order and types of parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from agentenvs.core import Shared, Tool
from agentenvs.errors import BadArgument

__all__ = ["Toolset"]

_NAMESPACES = ("functions.", "default_api.", "tools.")
_INDEX = re.compile(r":\d{1,6}\Z")
_KINDS = {
    "str": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "none": "null",
}


class Toolset(Shared):
    """Tools by name; building one is cheap, schemas are read when a call needs them.

    Args:
        tools: `Tool` objects or JSON-schema dicts, flat or in OpenAI's wrapping.

    Raises:
        BadArgument: one of them is neither.
    """

    __slots__ = ("_kinds", "_parameters", "_tools")

    def __init__(self, tools: Iterable[Tool | Mapping[str, Any]]) -> None:
        if isinstance(tools, str | bytes | Mapping):
            raise BadArgument(f"Expected `tools` to be a list of tools, got {type(tools)}.")
        self._tools = {tool.name: tool for tool in map(Tool.of, tools)}
        self._parameters: dict[str, dict[str, Any]] = {}
        self._kinds: dict[tuple[str, str], frozenset[str]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    @property
    def by_name(self) -> Mapping[str, Tool]:
        """The tools by name."""
        return self._tools

    def resolve(self, name: str) -> str:
        """Return `name` without what wire formats put around it.

        `functions.cd:0` (Kimi), `functions.cd` (harmony), `default_api.cd` (Gemini) and
        `cd.call` (Llama) are `cd`, unless the longer name is itself on offer.
        """
        if name in self._tools:
            return name
        bare = _INDEX.sub("", name.strip())
        for prefix in _NAMESPACES:
            if bare.startswith(prefix) and len(bare) > len(prefix):
                bare = bare[len(prefix) :]
                break
        if bare.endswith(".call") and bare[:-5] in self._tools:
            return bare[:-5]
        return bare

    def parameters(self, name: str) -> dict[str, Any]:
        """Return the parameters of a tool in order, empty where there is no such tool."""
        found = self._parameters.get(name)
        if found is None:
            tool = self._tools.get(name)
            properties = tool.parameters.get("properties") if tool else None
            found = dict(properties) if isinstance(properties, Mapping) else {}
            if tool is not None:
                self._parameters[name] = found
        return found

    def sole(self, name: str) -> str | None:
        """Return the one parameter that a bare value can mean: the only, or only required."""
        names = list(self.parameters(name))
        if len(names) == 1:
            return str(names[0])
        required = self.required(name)
        if len(required) == 1 and required[0] in names:
            return required[0]
        return None

    def required(self, name: str) -> list[str]:
        """Return the parameters that a call has to give."""
        tool = self._tools.get(name)
        required = tool.parameters.get("required") if tool else None
        return [str(item) for item in required] if isinstance(required, list) else []

    def kinds(self, name: str, parameter: str) -> frozenset[str]:
        """Return the JSON types that a parameter admits; empty where the schema has none."""
        found = self._kinds.get((name, parameter))
        if found is None:
            schema = self.parameters(name).get(parameter)
            found = frozenset(_kinds(schema, 0))
            if schema is not None:
                self._kinds[name, parameter] = found
        return found

    def is_kind(self, name: str, parameter: str, kind: str) -> bool:
        """Return whether the schema names `kind` for the parameter."""
        return kind in self.kinds(name, parameter)


def _kinds(schema: Any, depth: int) -> Iterable[str]:
    if not isinstance(schema, Mapping) or depth > 4:
        return
    declared = schema.get("type")
    for item in declared if isinstance(declared, list) else [declared]:
        if isinstance(item, str):
            yield kind_of(item)
    for key in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(key)
        for branch in branches if isinstance(branches, list) else []:
            yield from _kinds(branch, depth + 1)
    if declared is None and isinstance(schema.get("enum"), list):
        for item in schema["enum"]:
            if isinstance(item, str):
                yield "string"


def kind_of(word: str) -> str:
    """Return the JSON type that a type word in a schema or an attribute means."""
    lowered = word.strip().lower()
    return _KINDS.get(lowered, lowered)
