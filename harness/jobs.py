"""What is to be played, and what plays it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from agentenvs.harness.exchange import Sampling
from agentenvs.harness.progress import Progress, Reporter

__all__ = ["Engine", "Job"]


class Job(NamedTuple):
    """One rollout to be played."""

    task: str
    rollout: int
    sampling: Sampling


class Engine(Protocol):
    """What plays jobs: the `Pool` within this process, or one that spreads them."""

    async def play(
        self, jobs: Sequence[Job], size: int, progress: Progress, reporter: Reporter
    ) -> None:
        """Play every job, at most `size` at a time, and keep `progress` up to date."""
        ...

    def close(self) -> None:
        """Free what it holds; harmless when repeated."""
        ...
