"""Tools as typed Python stubs with docstrings: the form in which `light` shows them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from agentenvs.core import Tool

__all__ = ["StubCache", "stub", "stubs"]

_MOST_KNOWN = 4096
_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "float": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "dict": "dict",
    "tuple": "tuple",
    "null": "None",
}


def _annotation(schema: Mapping[str, Any]) -> str:
    values = schema.get("enum")
    if isinstance(values, list) and 0 < len(values) <= 16:
        return f"Literal[{', '.join(map(repr, values))}]"
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_TYPES.get(str(k), "Any") for k in kind)
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        inner = _annotation(schema["items"])
        return "list" if inner == "Any" else f"list[{inner}]"
    return _TYPES.get(str(kind), "Any")


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> str:
    text = f"{name}: {_annotation(schema)}"
    if required:
        return text
    default = schema.get("default")
    return f"{text} = {None if default == 'None' else default!r}"


def stub(tool: Tool | Mapping[str, Any]) -> str:
    '''Return one tool as a Python stub.

    Example:
        >>> print(stub({"name": "add", "description": "Add two numbers.", "parameters": {
        ...     "type": "object", "properties": {"a": {"type": "integer", "description": "first"},
        ...     "b": {"type": "integer", "default": 1}}, "required": ["a"]}}))
        def add(a: int, b: int = 1):
            """Add two numbers.
        <BLANKLINE>
            a: first
            """
    '''
    tool = Tool.of(tool)
    properties: Mapping[str, Mapping[str, Any]] = tool.parameters.get("properties") or {}
    required = tool.parameters.get("required") or ()
    # Python wants parameters without a default first; calls go by keyword, so order is free.
    names = sorted(properties, key=lambda name: name not in required)
    signature = ", ".join(_parameter(n, properties[n], n in required) for n in names)
    described = [
        f"    {name}: {' '.join(str(properties[name]['description']).split())}"
        for name in names
        if properties[name].get("description")
    ]
    summary = " ".join(tool.description.split()).replace('"""', "'''")
    head = f"def {tool.name}({signature}):"
    if not described:
        return f'{head}\n    """{summary}"""' if summary else f"{head} ..."
    return "\n".join([head, f'    """{summary}', "", *described, '    """'])


def stubs(tools: Iterable[Tool | Mapping[str, Any]]) -> str:
    """Return several tools as one fenced block of Python stubs."""
    return "```python\n" + "\n\n".join(stub(tool) for tool in tools) + "\n```"


class StubCache:
    """`stubs` that remembers: every rollout of a task shows the same tools again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Mapping[str, Any], str]] = {}

    def __call__(self, tools: Iterable[Mapping[str, Any]]) -> str:
        """Return the tools as `stubs` does."""
        return "```python\n" + "\n\n".join([self._one(tool) for tool in tools]) + "\n```"

    def _one(self, tool: Mapping[str, Any]) -> str:
        name = tool.get("name", "")
        known = self._known.get(name)
        if known is None or known[0] != tool:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            # A copy, since the caller may go on to change its own.
            known = self._known[name] = (copy.deepcopy(tool), stub(tool))
        return known[1]
