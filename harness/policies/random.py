"""Random calls of the tools on offer: a floor, and a way to shake an environment."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from agentenvs.core import ToolCall
from agentenvs.errors import BadArgument, PolicyError
from agentenvs.harness.exchange import Completion, Form, Request

__all__ = ["RandomPolicy", "from_spec"]

_WORDS = ("a", "b", "notes", "report.txt", "main", "Ada", "2024-05-01", "")
_MAX_DEPTH = 4


class RandomPolicy:
    """Calls random tools with random arguments of the types that they ask for.

    Every draw comes from the request's own seed.

    Args:
        words: how often, in 0 to 1, it says something instead of calling a tool.
        most_calls: most calls in a reply.

    Raises:
        BadArgument: an argument out of range.
    """

    name = "random"
    form: Form = "completion"
    scripted = False

    def __init__(self, words: float = 0.2, most_calls: int = 2) -> None:
        if not 0.0 <= words <= 1.0:
            raise BadArgument(f"Expected `words` within 0 to 1, got {words}.")
        if most_calls < 1:
            raise BadArgument(f"Expected `most_calls` to be at least 1, got {most_calls}.")
        self.words = words
        self.most_calls = most_calls

    async def generate(self, request: Request) -> Completion:
        """Return a list of random calls, or words."""
        draw = random.Random(request.seed)
        if not request.tools or draw.random() < self.words:
            return Completion("Done.")
        count = draw.randint(1, self.most_calls)
        calls = tuple(_call(draw.choice(request.tools), draw) for _ in range(count))
        return Completion("", calls, finish_reason="tool_calls")

    def describe(self) -> dict[str, Any]:
        """Return the settings that a run records."""
        return {"words": self.words, "most_calls": self.most_calls}

    async def close(self) -> None:
        """Nothing to free."""


def _call(tool: Mapping[str, Any], draw: random.Random) -> ToolCall:
    parameters = tool.get("parameters") or {}
    required = parameters.get("required") or ()
    arguments = {
        name: _value(schema, draw, 0)
        for name, schema in (parameters.get("properties") or {}).items()
        if name in required or draw.random() < 0.5
    }
    return ToolCall(tool["name"], arguments)


def _value(schema: Mapping[str, Any], draw: random.Random, depth: int) -> Any:
    if schema.get("enum"):
        return draw.choice(list(schema["enum"]))
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = draw.choice(kind)
    match kind:
        case "integer":
            return draw.randint(-1, 100)
        case "number" | "float":
            return round(draw.uniform(-1.0, 100.0), 2)
        case "boolean":
            return draw.random() < 0.5
        case "null":
            return None
        case "array" | "tuple":
            size = draw.randint(0, 2) if depth < _MAX_DEPTH else 0
            return [_value(schema.get("items") or {}, draw, depth + 1) for _ in range(size)]
        case "object" | "dict":
            fields = (schema.get("properties") or {}) if depth < _MAX_DEPTH else {}
            return {name: _value(inner, draw, depth + 1) for name, inner in fields.items()}
    return draw.choice(_WORDS)


def from_spec(rest: str, **settings: Any) -> RandomPolicy:
    """Return the policy of the spec `random`.

    Raises:
        PolicyError: something follows the name.
    """
    if rest:
        raise PolicyError(f"The policy 'random' takes nothing after its name, got {rest!r}.")
    return RandomPolicy(**settings)
