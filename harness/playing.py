"""What decides how the rollouts of a run are played, as one object that any process can act on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentenvs.errors import PolicyError
from agentenvs.harness.arms import Arm, arm
from agentenvs.harness.exchange import Sampling
from agentenvs.harness.policies.base import Policy, make_policy
from agentenvs.harness.policies.user import PolicyUser, make_user
from agentenvs.harness.pool import Pool
from agentenvs.harness.prompts import FORMS, Prompt
from agentenvs.harness.records import Played, Void

__all__ = ["Cast", "Playing"]


@dataclass(frozen=True, slots=True)
class Playing:
    """Everything that decides how a run's rollouts are played; its arguments are those of `run`.

    It pickles as far as `policy` and `user` do; specs always do. What `cast` builds from it is
    the same in every process that reaches the same data.
    """

    env_id: str
    policy: str | Policy | Callable[..., Any]
    tasks: str | Sequence[str] | None = None
    harness: str = "light"
    prompt: str | Prompt | None = None
    parser: str | None = None
    examples: int = 0
    env_kwargs: Mapping[str, Any] | None = None
    policy_kwargs: Mapping[str, Any] | None = None
    user: str | Sequence[str] | Policy | Callable[..., Any] | None = None
    user_sampling: Sampling | None = None
    user_kwargs: Mapping[str, Any] | None = None
    seed: int = 0
    max_requests: int | None = None
    retries: int = 2
    concurrency: int | None = None

    def cast(self) -> Cast:
        """Build the policies.

        Raises:
            UnknownName: no such environment, task set, task, policy, prompt or parser.
            BadArgument: an argument out of range.
            PolicyError: a policy could not be built.
        """
        partner, kwargs = make_user(
            self.user, self.user_sampling, self.user_kwargs, self.env_kwargs
        )
        chosen = arm(
            self.env_id,
            tasks=self.tasks,
            harness=self.harness,
            prompt=self.prompt,
            parser=self.parser,
            examples=self.examples,
            env_kwargs=kwargs,
        )
        building = dict(self.policy_kwargs or {})
        spec = self.policy
        if isinstance(spec, str) and spec.startswith("scripted:") and chosen.task_options:
            building.setdefault("gold", chosen.gold)
        return Cast(self, chosen, make_policy(spec, **building), partner)


@dataclass(frozen=True, slots=True)
class Cast:
    """Who plays where.

    Attributes:
        playing: what it was built from.
        arm: how tasks are put to the model.
        policy: who acts.
        user: who plays the user, where a policy does.
    """

    playing: Playing
    arm: Arm
    policy: Policy
    user: PolicyUser | None

    @property
    def concurrency(self) -> int:
        """How many rollouts are under way at a time."""
        return self.playing.concurrency or self.arm.concurrency

    def pool(self, keep: Callable[[Played], None], void: Callable[[Void], None]) -> Pool:
        """Return a pool that plays in this process."""
        user = self.user
        return Pool(
            self.arm.make_env,
            self.policy,
            self.arm.prompt,
            self.arm.env_id,
            self.playing.seed,
            self.playing.max_requests,
            keep,
            None if user is None else user.for_slot(self.arm.env_id),
            void,
            self.playing.retries,
        )

    def describe(self) -> dict[str, Any]:
        """Return the settings that a run records of all this.

        Raises:
            PolicyError: the policy's `form` is none.
        """
        playing, actor = self.playing, self.policy
        if actor.form not in FORMS:
            raise PolicyError(f"Expected a policy's `form` to be one of {FORMS}, got {actor.form}.")
        settings: dict[str, Any] = {
            **self.arm.describe(),
            "seed": playing.seed,
            "max_requests": playing.max_requests,
            "policy": {
                **actor.describe(),
                "name": actor.name,
                "form": actor.form,
                "scripted": actor.scripted,
            },
            "concurrency": self.concurrency,
            "retries": playing.retries,
            "transport": _transport(actor),
        }
        if self.user is not None:
            settings["user"] = self.user.describe()
            settings["env_kwargs"] |= {"user": self.user.policy.name}
            if told := _transport(self.user.policy):
                settings["transport"] |= {"user": told}
        return settings

    async def close(self) -> None:
        """Close the policies, but for those that were given as objects."""
        try:
            if self.policy is not self.playing.policy:
                await self.policy.close()
        finally:
            if self.user is not None and self.user.policy is not self.playing.user:
                await self.user.policy.close()


def _transport(policy: Policy) -> dict[str, Any]:
    """Return a policy's settings that change nothing in an answer, {} where it tells none."""
    transport = getattr(policy, "transport", None)
    return dict(transport()) if callable(transport) else {}
