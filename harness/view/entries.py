"""A run as it is looked at: an entry for each rollout, with its verdict and how it was read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.store.durable import OUTCOMES
from agentenvs.harness.view.index import Key, TranscriptIndex

__all__ = ["KINDS", "READINGS", "Entry", "Run", "Tally", "tallies"]

#: what an outcome's `parse` counts
READINGS = ("calls", "words", "malformed", "repaired", "rescued")
#: what may have become of a rollout; `context_overflow` is a failure that is told apart
KINDS = ("success", "failure", "context_overflow", "void")


class Entry(NamedTuple):
    """One rollout.

    Attributes:
        task: its task's id.
        rollout: its number among those of its task, from 0.
        kind: one of `KINDS`.
        score: the graded score, or None.
        reason: why it failed or was void, "" on success.
        steps: replies, or None where it is not known, as with every count here.
        calls: replies that were read as calls.
        words: replies that were read as words.
        malformed: replies that were attempts at calls and did not read.
        repaired: replies with calls in which something was mended.
        rescued: replies with calls that the strict parser reads otherwise.
        tokens: tokens drawn.
        seconds: from its start to its end.
    """

    task: str
    rollout: int
    kind: str
    score: float | None = None
    reason: str = ""
    steps: int | None = None
    calls: int | None = None
    words: int | None = None
    malformed: int | None = None
    repaired: int | None = None
    rescued: int | None = None
    tokens: int | None = None
    seconds: float | None = None

    @property
    def key(self) -> Key:
        """The task and the rollout."""
        return (self.task, self.rollout)


class Tally(NamedTuple):
    """A task's rollouts in numbers.

    Attributes:
        task: its id.
        c: how many succeeded.
        n: how many have a verdict.
        void: how many have none and went wrong with the infrastructure.
    """

    task: str
    c: int
    n: int
    void: int = 0

    @property
    def share(self) -> float | None:
        """The share that succeeded, None where no rollout has a verdict."""
        return self.c / self.n if self.n else None


class Run:
    """A run folder, or a file of outcomes, opened for looking at; nothing is written.

    Args:
        path: what `Outcomes.load` reads.

    Attributes:
        entries: every rollout with a verdict and every void one, task by task.
        open: how many planned rollouts have neither a verdict nor a void attempt.
        by_key: the same by task and rollout.
        voids: the void attempts of each rollout that had some.
        transcripts: where the transcripts lie.

    Raises:
        RunDamaged: nothing to read there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.outcomes = Outcomes.load(self.path)
        self.voids: dict[Key, list[Mapping[str, Any]]] = {}
        for row in self.outcomes.voids:
            self.voids.setdefault((row["task_id"], row["rollout"]), []).append(row)
        found = [_entry(row) for row in self.outcomes]
        known = {entry.key for entry in found}
        folder = self.path if self.path.is_dir() else self.path.parent
        named = self.path.is_dir() or self.path.name == OUTCOMES
        self.transcripts = TranscriptIndex(folder, known if named else ())
        open_ = [key for key in self.outcomes.open if key not in known]
        lost = [key for key in self.voids if key not in known]
        found += [_void(key, self.voids[key][-1]) for key in lost]
        self.open = len(set(open_) - set(lost))
        order = {task: at for at, task in enumerate(self.outcomes.task_ids)}
        for entry in found:
            order.setdefault(entry.task, len(order))
        self.entries: list[Entry] = sorted(found, key=lambda e: (order[e.task], e.rollout))
        self.by_key: dict[Key, Entry] = {entry.key: entry for entry in self.entries}

    @property
    def name(self) -> str:
        """The last part of the path, and the policy."""
        policy = self.outcomes.policy
        name = self.path.resolve().name
        return f"{name} ({policy})" if policy and policy != name else name

    def tasks(self) -> list[str]:
        """Return the tasks' ids in order."""
        return list(dict.fromkeys(entry.task for entry in self.entries))

    def repairs(self, entries: Iterable[Entry]) -> Counter[str]:
        """Return how many replies of some rollouts were mended by each repair."""
        self.transcripts.complete()
        counted: Counter[str] = Counter()
        for entry in entries:
            counted.update(self.transcripts.repairs(entry.key))
        return counted


def tallies(entries: Iterable[Entry]) -> list[Tally]:
    """Return the numbers of each task of some rollouts, in their order."""
    found: dict[str, list[int]] = {}
    for entry in entries:
        numbers = found.setdefault(entry.task, [0, 0, 0])
        if entry.kind == "void":
            numbers[2] += 1
        else:
            numbers[0] += entry.kind == "success"
            numbers[1] += 1
    return [Tally(task, c, n, void) for task, (c, n, void) in found.items()]


def _entry(row: Mapping[str, Any]) -> Entry:
    parse = row.get("parse") or {}
    reason = row.get("reason") or ""
    kind = "success" if row["success"] else "failure"
    if kind == "failure" and reason == "context_overflow":
        kind = "context_overflow"
    return Entry(
        row["task_id"],
        row["rollout"],
        kind,
        row.get("score"),
        reason,
        row.get("steps"),
        tokens=_count(row.get("new_tokens")),
        seconds=row.get("wall_s"),
        **{name: _count(parse.get(name)) for name in READINGS},
    )


def _void(key: Key, row: Mapping[str, Any]) -> Entry:
    reason, error = str(row.get("reason", "")), str(row.get("error", ""))
    told = ": ".join(part for part in (reason, error) if part)
    return Entry(*key, kind="void", reason=told, seconds=row.get("wall_s"))


def _count(value: object) -> int | None:
    return value if type(value) is int else None
