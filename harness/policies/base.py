"""The policy protocol, and policies by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from agentenvs.errors import BadArgument, PolicyError, UnknownName, did_you_mean
from agentenvs.harness.exchange import Completion, Form, Request

__all__ = ["POLICIES", "Policy", "make_policy"]


@runtime_checkable
class Policy(Protocol):
    """Who acts: anything with these members.

    Attributes:
        name: recorded with a run and printed in tables.
        form: how it wants conversations put, "chat" or "completion".
        scripted: True where it plays known solutions; its numbers are marked as such.
    """

    name: str
    form: Form
    scripted: bool

    async def generate(self, request: Request) -> Completion:
        """Answer one request; many are awaited at the same time."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """Return the settings that a run records: plain data, no secrets."""
        ...

    async def close(self) -> None:
        """Free what it holds; called by the runner where it built the policy from a spec."""
        ...


_MEMBERS = ("name", "form", "scripted", "generate", "describe", "close")

#: spec prefix -> (module, function taking the rest of the spec, one-line description)
POLICIES: Mapping[str, tuple[str, str, str]] = {
    "random": (
        "agentenvs.harness.policies.random",
        "from_spec",
        "random calls of the tools on offer",
    ),
    "scripted": (
        "agentenvs.harness.policies.scripted",
        "from_spec",
        "scripted:wide or scripted:narrow: known solutions with seeded slips",
    ),
    "replay": (
        "agentenvs.harness.policies.replay",
        "from_spec",
        "replay:RUN: the recorded actions of a run folder",
    ),
    "callable": (
        "agentenvs.harness.policies.callable",
        "from_spec",
        "callable:MODULE:FUNCTION: any str -> str, batch or async function",
    ),
    "hf": (
        "agentenvs.harness.policies.hf",
        "from_spec",
        "hf:FOLDER_OR_NAME: a transformers model (extra `hf`)",
    ),
    "openai": (
        "agentenvs.harness.policies.endpoint",
        "from_spec",
        "openai:MODEL@URL: a model behind an OpenAI-compatible server (vLLM, SGLang, llama.cpp)",
    ),
    "lab": (
        "agentenvs.harness.policies.lab",
        "from_spec",
        "lab:base or lab:grpo: two small bundled models, for ToolLab alone (extra `hf`)",
    ),
}


def make_policy(spec: str | Policy | Callable[..., Any], **settings: Any) -> Policy:
    """Return the policy that a spec names, `KIND` or `KIND:REST`.

    Args:
        spec: a name from `POLICIES`, a policy (returned as it is), or a function.
        settings: passed to the policy's constructor.

    Raises:
        UnknownName: there is no such kind of policy.
        PolicyError: it cannot be built; the message says what is missing.
        BadArgument: a setting that it does not take, or one out of range.
    """
    try:
        return _made(spec, settings)
    except TypeError as error:
        told = str(error)
        if "keyword argument" not in told or not any(f"{key!r}" in told for key in settings):
            raise
        raise BadArgument(f"The policy {spec!r} does not take this setting: {error}.") from None


def _made(spec: str | Policy | Callable[..., Any], settings: Mapping[str, Any]) -> Policy:
    if not isinstance(spec, str):
        if isinstance(spec, Policy):
            if settings:
                raise BadArgument(f"A policy that is built already takes no {min(settings)!r}.")
            return spec
        if callable(spec):
            module = importlib.import_module(POLICIES["callable"][0])
            made: Policy = module.CallablePolicy(spec, **settings)
            return made
        lacking = [name for name in _MEMBERS if not hasattr(spec, name)]
        raise PolicyError(
            f"Expected a spec, a function or a policy, got {type(spec)}; as a policy it lacks "
            f"{', '.join(lacking)}."
        )
    kind, _, rest = spec.partition(":")
    if kind not in POLICIES:
        own = " A function of yours is 'callable:FILE.py:FUNCTION'." if rest else ""
        raise UnknownName(f"There is no policy {spec!r}.{did_you_mean(kind, POLICIES)}{own}")
    module_name, function, _ = POLICIES[kind]
    policy: Policy = getattr(importlib.import_module(module_name), function)(rest, **settings)
    return policy
