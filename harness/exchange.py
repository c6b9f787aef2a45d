"""What passes between an episode and a policy: requests and completions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from agentenvs.core import Message, ToolCall
from agentenvs.errors import BadArgument

__all__ = ["HOTTEST", "Completion", "FinishReason", "Form", "Request", "Sampling", "Where"]

Form = Literal["chat", "completion"]
FinishReason = Literal["stop", "length", "context", "tool_calls"]
HOTTEST = 100.0
"""The highest temperature there is."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to draw a completion; every field is pinned and recorded with a run.

    Attributes:
        temperature: 0 means greedy.
        top_p: nucleus mass in (0, 1].
        max_tokens: most new tokens a completion.

    Raises:
        BadArgument: a field out of range.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 512

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise BadArgument(f"Expected `{name}` to be a number, got {value!r}.")
        if not 0.0 <= self.temperature <= HOTTEST:
            raise BadArgument(
                f"Expected `temperature` within 0 to {HOTTEST:g}, got {self.temperature}."
            )
        if not 0.0 < self.top_p <= 1.0:
            raise BadArgument(f"Expected `top_p` within (0, 1], got {self.top_p}.")
        if isinstance(self.max_tokens, bool) or not isinstance(self.max_tokens, int):
            raise BadArgument(f"Expected `max_tokens` to be an int, got {self.max_tokens!r}.")
        if self.max_tokens < 1:
            raise BadArgument(f"Expected `max_tokens` to be at least 1, got {self.max_tokens}.")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return asdict(self)


class Where(NamedTuple):
    """Which decision a request asks for; policies that are no models go by it.

    Attributes:
        env_id: the environment's id.
        task: the task's id.
        rollout: index of the rollout among those of its task, from 0.
        step: index of the decision within the episode, from 0.
        seed: seed of the whole episode, the same at every step.
    """

    env_id: str = ""
    task: str = ""
    rollout: int = 0
    step: int = 0
    seed: int = 0


class Request(NamedTuple):
    """One question to a policy.

    Attributes:
        messages: the conversation as chat messages, or None where `prompt` is given.
        prompt: the conversation as text to be continued, or None.
        tools: flat JSON schemas of the tools on offer; the prompt describes them already.
        temperature: see `Sampling`.
        top_p: see `Sampling`.
        max_tokens: see `Sampling`.
        stop: strings at which a completion ends; they are no part of it.
        seed: seed of this very completion, or None.
        where: which decision this is.
    """

    messages: tuple[Message, ...] | None = None
    prompt: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    seed: int | None = None
    where: Where = Where()


@dataclass(frozen=True, slots=True)
class Completion:
    """A policy's answer.

    Attributes:
        text: the new text alone, without the prompt and the stop string.
        tool_calls: calls that the server has parsed already; they go before `text`.
        token_ids: ids of the new tokens, where the policy knows them.
        logprobs: one log-probability a new token, under the distribution sampled from.
        finish_reason: "stop"; "length" (`max_tokens` ran out); "tool_calls"; or "context"
            (the conversation no longer fits: the episode ends as a failure).
        prompt_token_ids: ids of the rendered prompt, where the policy knows them.
        new_tokens: how many tokens were drawn, as a server counts them, where there are no ids.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    finish_reason: FinishReason = "stop"
    prompt_token_ids: tuple[int, ...] | None = None
    new_tokens: int | None = None
