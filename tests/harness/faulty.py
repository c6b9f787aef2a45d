"""A policy behind a line that fails, and a loop that plays on until nothing is open."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from agentenvs.errors import InfrastructureFault, RunError
from agentenvs.harness import Completion, Outcomes, Request

REASONS = ("timeout", "connection", "http_429", "http_503", "cut_reply", "garbled_reply")


def fault(reason: str, text: str) -> Exception:
    """Return what a fault of this kind raises."""
    if reason == "timeout":
        return TimeoutError(text)
    if reason == "connection":
        return ConnectionResetError(text)
    return InfrastructureFault(text, reason)


class Flaky:
    """Answers as another policy does, where a seeded draw does not lose request or reply.

    Args:
        inner: who answers.
        seed: of the draws.
        share: of requests that are lost, half of them after they were answered.

    Attributes:
        faults: (task, rollout, reason, text) of each one, in order.
    """

    scripted = False

    def __init__(self, inner: Any, seed: int, share: float = 0.2) -> None:
        self.inner = inner
        self.name = inner.name
        self.form = inner.form
        self.share = share
        self.faults: list[tuple[str, int, str, str]] = []
        self._draws = random.Random(seed)

    async def generate(self, request: Request) -> Completion:
        lost = self._draws.random() < self.share
        late = self._draws.random() < 0.5
        reason = self._draws.choice(REASONS)
        if lost:
            if late:
                await self.inner.generate(request)
            text = f"fault {len(self.faults)}"
            self.faults.append((request.where.task, request.where.rollout, reason, text))
            raise fault(reason, text)
        completion: Completion = await self.inner.generate(request)
        return completion

    def describe(self) -> Mapping[str, Any]:
        told: Mapping[str, Any] = self.inner.describe()
        return told

    async def close(self) -> None:
        await self.inner.close()


def until_whole(play: Callable[[], Outcomes], most: int = 80) -> tuple[Outcomes, int]:
    """Call until no rollout is open; return the outcomes and how many calls it took."""
    for calls in range(1, most + 1):
        try:
            outcomes = play()
        except RunError as error:
            if "no verdict" not in str(error):
                raise
            continue
        if not outcomes.open:
            return outcomes, calls
    raise AssertionError(f"rollouts are still open after {most} calls")


def bare(rows: Any) -> list[dict[str, Any]]:
    """Return rows in a fixed order, without what faults and the machine may change."""
    apart = ("wall_s", "attempt")
    kept = [{key: value for key, value in row.items() if key not in apart} for row in rows]
    return sorted(kept, key=lambda row: (row["task_id"], row["rollout"]))


def told(outcomes: Outcomes) -> Counter[tuple[str, int, str, str]]:
    """Return the void tries as `Flaky.faults` has them; errors are `Class: text`."""
    return Counter(
        (row["task_id"], row["rollout"], row["reason"], row["error"].partition(": ")[2])
        for row in outcomes.voids
    )
