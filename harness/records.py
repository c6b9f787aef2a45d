"""What a rollout leaves behind: plain data, which can go from one process to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from agentenvs.core import Message
    from agentenvs.harness.episode import Episode, Step

__all__ = ["Played", "Void"]


class Played(NamedTuple):
    """A rollout that came to a verdict.

    Attributes:
        task: the task's id.
        rollout: its number among the task's rollouts, from 0.
        seed: the rollout's own seed.
        success: the verdict.
        reason: why not, "" on success.
        opening: the messages at the start.
        steps: its decisions.
        fields: the further fields of its outcome: `score`, `reason`, `seed`, `temperature`,
            `steps` (how many), `parse`, `wall_s`; where they apply `scripted` and `policy`,
            `new_tokens`, and `attempt`, the number of void tries before this one.
    """

    task: str
    rollout: int
    seed: int
    success: bool
    reason: str
    opening: Sequence[Message]
    steps: Sequence[Step]
    fields: Mapping[str, Any]

    @classmethod
    def of(cls, episode: Episode, fields: Mapping[str, Any]) -> Played:
        """Return the record of a finished episode."""
        return cls(
            episode.task,
            episode.rollout,
            episode.seed,
            episode.success,
            episode.reason,
            episode.opening,
            episode.steps,
            fields,
        )


class Void(NamedTuple):
    """A try at a rollout that a fault of the infrastructure ended: no verdict, no outcome.

    Attributes:
        task: the task's id.
        rollout: its number among the task's rollouts.
        attempt: which try of this call it was, from 0.
        reason: a short word: timeout, connection, http_503, browser.
        error: what was raised, at most 500 characters.
        wall_s: seconds from the try's start to the fault.
    """

    task: str
    rollout: int
    attempt: int
    reason: str
    error: str
    wall_s: float
