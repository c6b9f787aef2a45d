"""What a rollout leaves behind: plain data, which can go from one process to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from agentenvs.core import Message
    from agentenvs.harness.episode import Episode, Step

__all__ = ["Played", "Void", "parse_counts"]


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


def parse_counts(steps: Sequence[Step]) -> dict[str, int]:
    """Return how the replies of an episode were read, as counts of steps.

    Returns:
        `calls`, `words` and `malformed`: what the reading came to. Of the steps with calls,
        `repaired` were mended in some way, `strict` would have been read by the strict parser
        too, and `rescued` would not (where a relaxed parser read them and says so). Of all,
        `cut` ended because their tokens ran out.
    """
    calls = words = malformed = repaired = strict = rescued = cut = 0
    for step in steps:
        parse = step.parse
        cut += step.finish_reason == "length"
        status = parse.get("status")
        if status == "calls":
            calls += 1
            repaired += bool(parse.get("repairs"))
            reads = parse.get("strict")
            strict += reads is True
            rescued += reads is False
        elif status == "words":
            words += 1
        elif status == "malformed":
            malformed += 1
    return {
        "calls": calls,
        "words": words,
        "malformed": malformed,
        "repaired": repaired,
        "strict": strict,
        "rescued": rescued,
        "cut": cut,
    }
