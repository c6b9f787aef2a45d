"""A policy as the user of an environment."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentenvs.core import Message
from agentenvs.errors import BadArgument, PolicyError
from agentenvs.harness.exchange import Completion, Request, Sampling, Where
from agentenvs.harness.policies.base import Policy, is_policy_class, make_policy
from agentenvs.harness.policies.callable import find
from agentenvs.harness.prompts import FORMS
from agentenvs.harness.seeds import nth

__all__ = ["PolicyUser", "UserAsked", "make_user"]

_SAMPLING = Sampling(temperature=0.0, max_tokens=256)
_THREADS = 32
_HEADINGS = {"user": "Assistant:", "assistant": "User:"}
_STOP = ("\nAssistant:", "\nUser:")


class UserAsked(Exception):
    """Raised within `env.reset` or `env.step` where a user has to speak who is elsewhere.

    Attributes:
        messages: the conversation as the user sees it.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        super().__init__("the user is asked")
        self.messages = tuple(messages)


class PolicyUser:
    """Lets a policy play the user of one episode at a time, without anything waiting for it.

    To an environment it is a function from messages to words. Where the words are not there
    yet it raises `UserAsked`, upon which the environment stays as it was; `answer` asks the
    policy, and the same `reset` or `step` is then tried again:

        while True:
            try:
                return env.step(action)
            except UserAsked as asked:
                await user.answer(asked.messages)

    The policy gets `Request`s like any other: the conversation as chat messages (or as text,
    where its `form` is "completion") with the roles as the user sees them, a seed of its own
    for each reply, and the place of the episode; never tools, calls or results.

    Args:
        policy: who plays.
        sampling: how its words are drawn.
        env_id: recorded in `Request.where`.
    """

    def __init__(self, policy: Policy, sampling: Sampling, env_id: str = "") -> None:
        self.policy = policy
        self.sampling = sampling
        self.env_id = env_id
        self._where = Where(env_id)
        self._ready: tuple[tuple[Message, ...], str] | None = None

    def for_slot(self, env_id: str) -> Callable[[], PolicyUser]:
        """Return what makes a user for each slot of a pool, all with this policy."""
        return lambda: PolicyUser(self.policy, self.sampling, env_id)

    def begin(self, task: str, rollout: int, seed: int) -> None:
        """Begin an episode.

        Args:
            task: the task's id.
            rollout: its rollout.
            seed: the user's own seed for it.
        """
        self._where = Where(self.env_id, task, rollout, 0, seed)
        self._ready = None

    def __call__(self, messages: Sequence[Message]) -> str:
        """Return the words that were fetched for these messages.

        Raises:
            UserAsked: there are none yet.
        """
        if self._ready is None or self._ready[0] != tuple(messages):
            raise UserAsked(messages)
        return self._ready[1]

    async def answer(self, messages: Sequence[Message]) -> None:
        """Fetch the user's next words from the policy."""
        asked = tuple(messages)
        completion: object = await self.policy.generate(self._request(asked))
        if not isinstance(completion, Completion) or not isinstance(completion.text, str):
            shown = f"{completion!r:.80}"
            raise TypeError(f"expected a Completion whose `text` is a str, got {shown}")
        text = completion.text
        for stop in _STOP:
            text = text.partition(stop)[0]
        if completion.finish_reason == "context":
            # A conversation that no longer fits into the user's context has to end here.
            text = importlib.import_module("agentenvs.acebench.conversation").END
        self._ready = asked, text.strip()
        self._where = self._where._replace(step=self._where.step + 1)

    def _request(self, messages: tuple[Message, ...]) -> Request:
        chat = self.policy.form == "chat"
        sampling = self.sampling
        return Request(
            messages if chat else None,
            None if chat else _as_text(messages),
            (),
            sampling.temperature,
            sampling.top_p,
            sampling.max_tokens,
            () if chat else _STOP,
            nth(self._where.seed, self._where.step),
            self._where,
        )

    def describe(self) -> dict[str, Any]:
        """Return the settings that a run records."""
        policy = self.policy
        settings: Mapping[str, Any] = policy.describe()
        return {
            **settings,
            "name": policy.name,
            "form": policy.form,
            "scripted": policy.scripted,
            "sampling": self.sampling.as_dict(),
        }


def _as_text(messages: Sequence[Message]) -> str:
    """Return a conversation as text to be continued with the user's next words."""
    blocks = [
        f"{_HEADINGS[message['role']]}\n{message['content'].strip()}\n"
        if message["role"] in _HEADINGS
        else f"{message['content'].rstrip()}\n\n"
        for message in messages
    ]
    return "".join([*blocks, _HEADINGS["assistant"], "\n"])


def make_user(
    user: Any,
    sampling: Sampling | None = None,
    building: Mapping[str, Any] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> tuple[PolicyUser | None, dict[str, Any]]:
    """Return the user, where a policy plays it, and the environment's arguments with it.

    Args:
        user: None, "scripted", recorded turns, or a policy (a spec, a `Policy`, a function).
        sampling: how a policy's words are drawn; default greedy, 256 tokens.
        building: arguments for building the policy.
        env_kwargs: the environment's arguments without it.

    Raises:
        BadArgument: settings of a policy where none plays, or two users.
        PolicyError: the policy could not be built.
        UnknownName: there is no such policy.
    """
    kwargs = dict(env_kwargs or {})
    by_policy = user is not None and user != "scripted" and not isinstance(user, list | tuple)
    if not by_policy and (sampling is not None or building):
        raise BadArgument(
            f"`user_sampling` and `user_kwargs` are for a policy as the user, got {user!r:.80}."
        )
    if user is None:
        return None, kwargs
    if "user" in kwargs:
        raise BadArgument("Give the user as `user` or within `env_kwargs`, not both.")
    if not by_policy:
        return None, {**kwargs, "user": user}
    settings = dict(building or {})
    if isinstance(user, str) and user.startswith("callable:"):
        user, spec = find(user.removeprefix("callable:")), user
        if not isinstance(user, Policy) and not is_policy_class(user):
            settings.setdefault("name", spec)
    if callable(user) and not isinstance(user, Policy) and not is_policy_class(user):
        # A function may block; in a thread it holds up nobody else.
        settings = {"form": "chat", "threads": _THREADS, **settings}
    played = PolicyUser(make_policy(user, **settings), sampling or _SAMPLING)
    if played.policy.form not in FORMS:
        form = played.policy.form
        raise PolicyError(f"Expected a policy's `form` to be one of {FORMS}, got {form}.")
    return played, {**kwargs, "user": played}
