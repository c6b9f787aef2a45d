"""Who plays which rollouts: shards by task, what is under way, and what is played again."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from agentenvs.harness.jobs import Job
from agentenvs.harness.records import Played, Void

__all__ = ["Hand", "Rota"]

Key = tuple[str, int]


class _Handed(NamedTuple):
    """A rollout that is under way.

    Attributes:
        job: which.
        tries: how many were void before it was handed over.
        since: when that was.
    """

    job: Job
    tries: int
    since: float


@dataclass(slots=True, eq=False)
class Hand:
    """What one worker has to do.

    Attributes:
        shard: rollouts of one task that it is to play, unless others run out before.
        under_way: what it plays.
        alone: what it plays is to have no company.
    """

    shard: deque[Job] = field(default_factory=deque)
    under_way: dict[Key, _Handed] = field(default_factory=dict)
    alone: bool = False


class Rota:
    """Hands out rollouts, and takes note of what became of each.

    A hand gets rollouts of the task that it is at, else of the next task, else half of what
    the fullest hand has still to play. What a lost hand had under way goes to others; for the
    last time each by itself, so that a rollout that kills whoever plays it takes no others along.

    Args:
        jobs: the rollouts, task by task.
        retries: how many more times a rollout is tried; the tries of a hand, and the losses of
            hands, count apart.

    Attributes:
        hands: all hands.
        left: rollouts that are neither played nor given up.
    """

    def __init__(self, jobs: Sequence[Job], retries: int) -> None:
        self.hands: list[Hand] = []
        self.left = len(jobs)
        self._retries = retries
        self._shards = deque(_by_task(jobs))
        self._alone: deque[Job] = deque()
        self._tries: Counter[Key] = Counter()
        self._lost: Counter[Key] = Counter()

    def take(self, hand: Hand, most: int) -> list[Job]:
        """Return what a hand is to begin with now, so that it has at most so many under way."""
        if hand.alone and hand.under_way:
            return []
        jobs: list[Job] = []
        while len(hand.under_way) + len(jobs) < most and (job := self._next(hand)):
            jobs.append(job)
        hand.alone = not jobs and not hand.under_way and bool(self._alone)
        if hand.alone:
            jobs = [self._alone.popleft()]
        now = time.monotonic()
        for job in jobs:
            key = job.task, job.rollout
            hand.under_way[key] = _Handed(job, self._tries[key], now)
        return jobs

    def _next(self, hand: Hand) -> Job | None:
        if not hand.shard and self._shards:
            hand.shard = self._shards.popleft()
        if not hand.shard:
            fullest = max(self.hands, key=lambda other: len(other.shard))
            half = [fullest.shard.pop() for _ in range(-(-len(fullest.shard) // 2))]
            hand.shard.extend(reversed(half))
        return hand.shard.popleft() if hand.shard else None

    def played(self, hand: Hand, played: Played) -> Played:
        """Take note of a finished rollout; return it with all void tries counted."""
        handed = hand.under_way.pop((played.task, played.rollout))
        self.left -= 1
        if not handed.tries:
            return played
        attempt = handed.tries + played.fields.get("attempt", 0)
        return played._replace(fields={**played.fields, "attempt": attempt})

    def void(self, hand: Hand, void: Void) -> tuple[Void, bool]:
        """Take note of a void try; return it, all tries counted, and whether it was the last."""
        key = void.task, void.rollout
        last = void.attempt >= self._retries
        void = void._replace(attempt=hand.under_way[key].tries + void.attempt)
        self._tries[key] += 1
        if last:
            del hand.under_way[key]
            self.left -= 1
        return void, last

    def lost(self, hand: Hand, why: str) -> Iterator[tuple[Void, bool]]:
        """Take a hand back; return the tries that are void by it, and whether each was the last."""
        self.hands.remove(hand)
        again: list[Job] = []
        ends: list[tuple[Void, bool]] = []
        for key, handed in hand.under_way.items():
            wall_s = round(time.monotonic() - handed.since, 6)
            void = Void(*key, self._tries[key], "worker", why, wall_s)
            self._tries[key] += 1
            self._lost[key] += 1
            last = self._lost[key] > self._retries
            if last:
                self.left -= 1
            elif self._lost[key] == self._retries:
                self._alone.append(handed.job)
            else:
                again.append(handed.job)
            ends.append((void, last))
        if hand.shard:
            self._shards.appendleft(hand.shard)
        self._shards.extendleft(reversed(_by_task(again)))
        return iter(ends)


def _by_task(jobs: Sequence[Job]) -> list[deque[Job]]:
    """Return jobs as a shard for each task."""
    return [deque(shard) for _, shard in groupby(jobs, key=lambda job: job.task)]
