"""The body of a request: every field that shapes an answer, pinned."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentenvs.errors import BadArgument, PolicyError
from agentenvs.harness.exchange import Form, Request
from agentenvs.harness.policies.endpoint.servers import Kind

__all__ = ["MAX_TOKENS_FIELDS", "Body", "Names", "seed_of"]

MAX_TOKENS_FIELDS = ("max_tokens", "max_completion_tokens")
_PINS = {"n": 1, "presence_penalty": 0.0, "frequency_penalty": 0.0}
_ASKED = ("temperature", "top_p", "seed", "stop")
#: what a policy cannot deal with the answers of, or has a setting of its own
_FIXED = ("model", "messages", "prompt", "tools", "stream", "stream_options", "logprobs")
#: pinned fields that `extra` may set all the same
_FREE = ("cache_prompt",)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def seed_of(seed: int) -> int:
    """Return the low 31 bits of a seed: what every server takes."""
    return seed & 0x7FFFFFFF


class Names:
    """Names of tools as OpenAI's form allows them, and back.

    Args:
        tools: flat JSON schemas of the tools on offer.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        own: set[str] = {tool["name"] for tool in tools}
        self._shown: dict[str, str] = {
            name: name if _NAME.fullmatch(name) else self._alias(index, own)
            for index, name in enumerate(tool["name"] for tool in tools)
        }
        self._own = {shown: name for name, shown in self._shown.items()}

    @staticmethod
    def _alias(index: int, taken: set[str]) -> str:
        alias = f"tool_{index}"
        while alias in taken:
            alias += "_"
        return alias

    def shown(self, tool: Mapping[str, Any]) -> dict[str, Any]:
        """Return a tool in OpenAI's form."""
        name, description = self._shown[tool["name"]], tool.get("description", "")
        if name != tool["name"]:
            description = f"{tool['name']}: {description}"
        parameters = tool.get("parameters") or {"type": "object", "properties": {}}
        function = {"name": name, "description": description, "parameters": parameters}
        return {"type": "function", "function": function}

    def own(self, name: str) -> str:
        """Return the name of a tool that a server calls by `name`."""
        return self._own.get(name, name)


class Body:
    """Writes requests for one server.

    Args:
        model: the model's name.
        form: "chat" or "completion".
        kind: of the server.
        stream: whether answers come in pieces.
        native_tools: whether tools are offered in OpenAI's form.
        token_ids: whether token ids and log-probabilities are asked for.
        max_tokens_field: under which name `max_tokens` is sent.
        extra: further fields.

    Raises:
        BadArgument: `extra` has a field that is pinned, or is no JSON.
    """

    def __init__(
        self,
        model: str,
        form: Form,
        kind: Kind,
        *,
        stream: bool = False,
        native_tools: bool = False,
        token_ids: bool = False,
        max_tokens_field: str = "max_tokens",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.form = form
        self.kind = kind
        self.native_tools = native_tools
        self.max_tokens_field = max_tokens_field
        self.extra = _plain(extra or {})
        pins: dict[str, Any] = {**_PINS}
        if token_ids:
            asked: dict[str, Any] = {"logprobs": True if form == "chat" else 0}
            pins |= {**asked, "return_token_ids": True}
        #: the fields that are the same in every request
        self.pins: Mapping[str, Any] = {
            name: value
            for name, value in {**pins, **kind.pins}.items()
            if name not in _FREE or name not in self.extra
        }
        self.sent = tuple(sorted({*self.pins, *_ASKED, max_tokens_field, *self.extra}))
        own = {*self.pins, *_ASKED, *_FIXED, *MAX_TOKENS_FIELDS}
        if clash := sorted(own & self.extra.keys()):
            raise BadArgument(
                f"`extra` may not set {clash[0]!r}: the policy sends or pins that field itself."
            )
        self._fixed: dict[str, Any] = {"model": model, **pins, "stream": stream}
        if stream:
            self._fixed["stream_options"] = {"include_usage": True}

    def write(self, request: Request) -> bytes:
        """Return a request as JSON.

        Raises:
            PolicyError: the request is of the other form.
        """
        body: dict[str, Any] = {
            **self._fixed,
            **self.kind.fields(request.temperature),
            **self.extra,
            "temperature": request.temperature,
            "top_p": request.top_p,
            self.max_tokens_field: request.max_tokens,
        }
        if self.form == "chat":
            if request.messages is None:
                raise PolicyError("Expected chat messages, got a text; set form='completion'.")
            body["messages"] = request.messages
        else:
            if request.prompt is None:
                raise PolicyError("Expected a text, got chat messages; set form='chat'.")
            body["prompt"] = request.prompt
        if request.seed is not None:
            body["seed"] = seed_of(request.seed)
        if request.stop:
            body["stop"] = request.stop[: self.kind.stops]
        if self.native_tools and request.tools:
            names = Names(request.tools)
            body["tools"] = [names.shown(tool) for tool in request.tools]
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        # Half a surrogate pair, which a model may have written, has no bytes of its own.
        return text.encode("utf-8", "replace")


def _plain(extra: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(extra, Mapping) or not all(isinstance(name, str) for name in extra):
        raise BadArgument(f"Expected `extra` to map names of fields to JSON, got {extra!r:.80}.")
    try:
        copied: dict[str, Any] = json.loads(json.dumps(dict(extra), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadArgument(f"Expected `extra` to be JSON: {error}.") from None
    return copied
