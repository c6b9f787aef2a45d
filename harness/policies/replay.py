"""Play again what a run recorded."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from agentenvs.errors import PolicyError, RunError
from agentenvs.harness.exchange import Completion, FinishReason, Form, Request
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.store.transcripts import read_transcripts

__all__ = ["ReplayPolicy", "from_spec"]


class ReplayPolicy:
    """Answers with the recorded reply of the same task, rollout and step.

    Args:
        folder: a run folder with transcripts.

    Raises:
        PolicyError: it has no transcripts, or cannot be read.
    """

    form: Form = "completion"

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._said: dict[tuple[str, int], list[tuple[str, FinishReason]]] = {}
        try:
            recorded = Outcomes.load(self.folder)
            for row in read_transcripts(self.folder):
                self._said[row["task_id"], row["rollout"]] = [
                    (step["text"], step["finish_reason"]) for step in row["steps"]
                ]
        except RunError as error:
            raise PolicyError(f"Cannot replay {self.folder}: {error}") from None
        if not self._said:
            raise PolicyError(f"Cannot replay {self.folder}: it holds no transcripts.")
        self.scripted: bool = recorded.scripted
        self.original = recorded.policy
        self.name = f"replay:{self.original}"

    async def generate(self, request: Request) -> Completion:
        """Return the recorded reply.

        Raises:
            PolicyError: there is none.
        """
        where = request.where
        steps = self._said.get((where.task, where.rollout))
        if steps is None:
            raise PolicyError(
                f"{self.folder} holds no transcript of task {where.task!r}, "
                f"rollout {where.rollout}."
            )
        if where.step >= len(steps):
            raise PolicyError(
                f"{self.folder} holds {len(steps)} replies in task {where.task!r}, rollout "
                f"{where.rollout}; the environment asks for one more."
            )
        text, finish = steps[where.step]
        return Completion(text, finish_reason=finish)

    def describe(self) -> dict[str, Any]:
        """Return the settings that a run records."""
        outcomes = (self.folder / "outcomes.jsonl").read_bytes()
        digest = hashlib.sha256(outcomes).hexdigest()[:12]
        return {"outcomes": digest, "original": self.original}

    async def close(self) -> None:
        """Nothing to free."""


def from_spec(rest: str, **settings: Any) -> ReplayPolicy:
    """Return the policy of the spec `replay:RUN`.

    Raises:
        PolicyError: no folder, or one that cannot be replayed.
    """
    if not rest:
        raise PolicyError("Expected a run folder: 'replay:RUN'.")
    return ReplayPolicy(rest, **settings)
