"""The policy protocol, and policies by name."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeGuard, runtime_checkable

from agentenvs.errors import BadArgument, PolicyError, UnknownName, did_you_mean
from agentenvs.harness.exchange import Completion, Form, Request
from agentenvs.harness.places import place_of

__all__ = ["POLICIES", "Policy", "is_policy_class", "lacking", "made_of", "make_policy", "waits_of"]


@runtime_checkable
class Policy(Protocol):
    """Who acts: anything with these members.

    Two more may be there: `transport() -> Mapping`, the settings that change nothing in an answer,
    and `waiting() -> str`, what it waits for before any request is answered again ("" for
    nothing), which is shown while a run goes on.

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


_MOST_SHOWN = 120
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
        spec: a name from `POLICIES`, a policy (returned as it is), a class of policies, or a
            function.
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
        if is_policy_class(spec):
            return made_of(spec, spec.__name__, settings)
        if isinstance(spec, Policy):
            if settings:
                raise BadArgument(f"A policy that is built already takes no {min(settings)!r}.")
            return spec
        if callable(spec):
            module = importlib.import_module(POLICIES["callable"][0])
            made: Policy = module.CallablePolicy(spec, **settings)
            return made
        raise PolicyError(
            f"Expected a spec, a function or a policy, got {type(spec)}; as a policy it lacks "
            f"{lacking(spec)}."
        )
    kind, _, rest = spec.partition(":")
    if kind not in POLICIES:
        own = " A function of yours is 'callable:FILE.py:FUNCTION'." if rest else ""
        raise UnknownName(f"There is no policy {spec!r}.{did_you_mean(kind, POLICIES)}{own}")
    module_name, function, _ = POLICIES[kind]
    policy: Policy = getattr(importlib.import_module(module_name), function)(rest, **settings)
    return policy


def is_policy_class(thing: object) -> TypeGuard[type]:
    """Whether a thing is a class, and not one whose objects are replies."""
    return inspect.isclass(thing) and not issubclass(thing, str | Completion)


def made_of(kind: type, name: str, settings: Mapping[str, Any]) -> Policy:
    """Return the policy that a class makes of these settings.

    Args:
        kind: the class.
        name: of the class, as it was given.
        settings: arguments of the class.

    Raises:
        PolicyError: it is no class of policies, or cannot be made so.
    """
    if not hasattr(kind, "generate"):
        raise PolicyError(
            f"{name} is a class that makes no policy: it lacks `generate`. A policy has "
            f"{', '.join(_MEMBERS)}; a function may be an object with `__call__`, not its class."
        )
    try:
        made = kind(**settings)
    except Exception as error:
        if isinstance(error, TypeError) and "keyword argument" in str(error) and settings:
            raise
        place = place_of(error)
        where = f" ({place})" if place else ""
        raise PolicyError(
            f"{name} cannot be made{where}: {type(error).__name__}: {error}."
        ) from error
    if not isinstance(made, Policy):
        raise PolicyError(f"{name} makes no policy: it lacks {lacking(made)}.")
    return made


def lacking(thing: object) -> str:
    """Return the members of a policy that a thing lacks."""
    return ", ".join(name for name in _MEMBERS if not hasattr(thing, name))


def waits_of(policy: Policy | None) -> str:
    """Return what a policy waits for, in a few words; "" where it tells of nothing."""
    waiting = getattr(policy, "waiting", None)
    if not callable(waiting):
        return ""
    # What is shown meanwhile is no reason to stop a run.
    with contextlib.suppress(Exception):
        told = waiting()
        return " ".join(told.split())[:_MOST_SHOWN] if isinstance(told, str) else ""
    return ""
