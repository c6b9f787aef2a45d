"""One recorded rollout played again: the same actions into a fresh episode, no model asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium

from agentenvs.core import Message
from agentenvs.errors import InfrastructureFault, SourceError
from agentenvs.harness.episode import Episode, Step
from agentenvs.harness.exchange import Completion
from agentenvs.harness.prompts import Prompt
from agentenvs.harness.replay.recorded_arm import RecordedArm, recorded_arm

__all__ = ["End", "Player", "Said", "Setup"]


@dataclass(frozen=True, slots=True)
class Setup:
    """What a replay needs to know of a run; plain data, which can go to another process.

    Attributes:
        settings: what `run.json` holds.
        env_id: an id with the module that registers it, or None.
        env_kwargs: arguments of the environment that say where things lie now.
        prompt: the run's prompt, where it was one of its own.
        stale: whether a difference proves nothing, since something else differs already.
    """

    settings: Mapping[str, Any]
    env_id: str | None = None
    env_kwargs: Mapping[str, Any] | None = None
    prompt: Prompt | None = None
    stale: bool = False

    def arm(self) -> RecordedArm:
        """Return the run's arm; an environment in a browser gives way to one without."""
        return recorded_arm(
            self.settings,
            env_id=self.env_id,
            env_kwargs=self.env_kwargs,
            prompt=self.prompt,
            plain=True,
        )


class Said(NamedTuple):
    """A transcript as it stands in its file, its parts of the right types.

    Attributes:
        seed, temperature: what the rollout was played with.
        success, reason: the verdict.
        opening: the messages at the start; a system message has the name of its text.
        steps: lists `[text, news, parse, finish_reason, reward]`.
    """

    seed: Any
    temperature: Any
    success: bool
    reason: Any
    opening: list[dict[str, Any]]
    steps: list[list[Any]]


class End(NamedTuple):
    """What a replay came to.

    Attributes:
        success, score, reason: the verdict.
        opening: the messages at the start.
        steps: what was played.
        over: whether the episode has ended.
        raised: what the environment raised, "" where nothing.
    """

    success: bool
    score: float
    reason: str
    opening: Sequence[Message]
    steps: Sequence[Step]
    over: bool
    raised: str = ""


class _RecordedUser:
    """Says what the user of a recorded rollout said, whatever it is asked."""

    def __init__(self) -> None:
        self.words = ""

    def __call__(self, messages: Sequence[Message]) -> str:
        return self.words

    def next(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Take note of what came in next: the user's words stand last in it."""
        words = messages[-1].get("content") if messages else ""
        self.words = words if isinstance(words, str) else ""


class Player:
    """Plays recorded rollouts one after another in one environment.

    Args:
        recorded: what the run put to its policy.
        max_requests: after how many replies the run ended a rollout, or None.
    """

    def __init__(self, recorded: RecordedArm, max_requests: int | None) -> None:
        self._arm = recorded.arm
        self._user = _RecordedUser() if recorded.user else None
        self._requests = max_requests
        self._env: gymnasium.Env[Any, Any] | None = None

    def close(self) -> None:
        """Close the environment; a later rollout makes another one."""
        if self._env is not None:
            self._env.close()
            self._env = None

    def play(self, task: str, rollout: int, seed: int, said: Said) -> End:
        """Play a rollout again.

        Raises:
            InfrastructureFault: what surrounds the environment failed.
            SourceError: official data cannot be had.
        """
        episode: Episode | None = None
        try:
            if self._env is None:
                more = {} if self._user is None else {"user": self._user}
                self._env = self._arm.make_env(**more)
            if self._user is not None:
                self._user.next(said.opening)
            # As chat, since a text is cut at stop strings, which it was before it was kept.
            episode = Episode(
                self._env,
                self._arm.prompt,
                form="chat",
                task=task,
                seed=seed,
                rollout=rollout,
                env_id=self._arm.env_id,
                max_requests=self._requests,
            )
            for text, news, _, finish, _ in said.steps:
                if episode.request is None:
                    break
                if self._user is not None:
                    self._user.next(news)
                episode.respond(Completion(text, finish_reason=finish))
        except (InfrastructureFault, SourceError):
            raise
        except Exception as error:
            self.close()
            raised = f"{type(error).__name__}: {error}"
            steps = () if episode is None else tuple(episode.steps)
            return End(False, 0.0, "", (), steps, False, raised)
        return End(
            episode.success,
            episode.score,
            episode.reason,
            episode.opening,
            episode.steps,
            episode.done,
        )
