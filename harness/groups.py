"""Rollouts by groups: a sampler gives temperatures, and learns from what came of them.

The rollouts of each task are cut into groups of one size. Group g of every task makes up round
g; rounds are played one after another, and within a round everything runs in any order. So the
sampler is asked and told at points that scheduling cannot move: for all tasks at once as a
round begins, and for all of them again when its last rollout has ended.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument, RunDamaged, SettingsDiffer
from agentenvs.harness.exchange import Sampling
from agentenvs.harness.folder import differences
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.pool import Job

__all__ = ["Groups", "Sampler", "describe_sampler", "replay_sampler", "unchanged_by_failure"]


class Sampler(Protocol):
    """Sets a temperature for each group of a task's rollouts and learns from what came out.

    Samplers may have more, which is used where it is there: `rollout_temperatures(task_ids, n)`
    gives every rollout of a group of n its own, shape (tasks, n), and takes the place of
    `temperatures`; `record(task_ids, outcomes)` takes bools of the same shape and takes the
    place of `update`; `describe()` gives the settings that a run records; `state_dict()` and
    `load_state_dict(state)` bring a sampler back when a run fails. Those of
    `agentenvs.harness.ptgs` have them all.
    """

    def temperatures(self, task_ids: Sequence[str], /) -> ArrayLike:
        """Return one temperature for each task, as an array."""
        ...

    def update(
        self, task_ids: Sequence[str], successes: NDArray[np.int64], n: NDArray[np.int64], /
    ) -> None:
        """Take in how many of each task's `n` rollouts succeeded, as arrays."""
        ...


S = TypeVar("S", bound=Sampler)


class Groups:
    """The rollouts of a run, round by round.

    Args:
        task_ids: the tasks.
        n: rollouts a task.
        sampling: how replies are drawn; its temperature holds where there is no sampler.
        sampler: gives the temperatures, or None.
        group: rollouts a group; None makes one group of all `n`.

    Attributes:
        rounds: how many there are.
        size: rollouts a group.

    Raises:
        BadArgument: `n` is no multiple of `group`, or there is a group without a sampler.
    """

    def __init__(
        self,
        task_ids: Sequence[str],
        n: int,
        sampling: Sampling,
        sampler: Sampler | None = None,
        group: int | None = None,
    ) -> None:
        if group is not None and sampler is None:
            raise BadArgument(f"`group` is for a run with a sampler, got {group!r} without one.")
        self.size = n if group is None else group
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise BadArgument(f"Expected `group` to be an int of at least 1, got {group!r}.")
        if n % self.size:
            raise BadArgument(
                f"Expected `n` to be a multiple of `group`, got n={n} and group={group}; "
                f"n={-(-n // self.size) * self.size} would do."
            )
        self.rounds = n // self.size
        self._tasks = list(task_ids)
        self._place = {task: at for at, task in enumerate(self._tasks)}
        self._sampling = sampling
        self._sampler = sampler
        shape = len(self._tasks), n
        self._there: NDArray[np.bool_] = np.zeros(shape, dtype=np.bool_)
        self._success: NDArray[np.bool_] = np.zeros(shape, dtype=np.bool_)
        self._played: NDArray[np.float64] = np.full(shape, np.nan)

    def take(self, done: Outcomes) -> None:
        """Take in rollouts that are there already.

        Raises:
            RunDamaged: one of them is none of this run's.
        """
        for row in done:
            task, rollout = row["task_id"], row["rollout"]
            if task not in self._place or rollout >= self._there.shape[1]:
                raise RunDamaged(
                    f"Task {task!r}, rollout {rollout} is there but no part of the run."
                )
            self.note(task, rollout, row["success"])
            self._played[self._place[task], rollout] = row.get("temperature", np.nan)

    def note(self, task: str, rollout: int, success: bool) -> None:
        """Take in a rollout that has just ended."""
        at = self._place[task], rollout
        self._there[at] = True
        self._success[at] = success

    def begin(self, number: int) -> list[Job]:
        """Ask for the temperatures of a round and return what is still to be played of it.

        Raises:
            SettingsDiffer: a rollout that is there was played at another temperature.
            BadArgument: the sampler's temperatures have the wrong shape or are none.
        """
        span = self._span(number)
        temperatures = self._ask()
        if self._sampler is not None:
            self._compare(span, temperatures)
        jobs = []
        rows = zip(self._tasks, temperatures.tolist(), self._there[:, span].tolist(), strict=True)
        for task, row, have in rows:
            sampling = self._sampling
            for rollout, (temperature, there) in enumerate(zip(row, have, strict=True), span.start):
                if not there:
                    if temperature != sampling.temperature:
                        sampling = replace(sampling, temperature=temperature)
                    jobs.append(Job(task, rollout, sampling))
        return jobs

    def end(self, number: int) -> None:
        """Tell the sampler what came of a round, all of whose rollouts are there."""
        if self._sampler is None:
            return
        outcomes = self._success[:, self._span(number)].copy()
        record = getattr(self._sampler, "record", None)
        if record is not None:
            record(list(self._tasks), outcomes)
        else:
            counts = outcomes.sum(axis=1, dtype=np.int64)
            self._sampler.update(list(self._tasks), counts, np.full_like(counts, self.size))

    def progress(self) -> tuple[int, bool]:
        """Return how many rounds are complete, and whether a further one was begun.

        Raises:
            RunDamaged: there are rollouts of a later round than that.
        """
        parts = self._there.reshape(len(self._tasks), self.rounds, self.size)
        some = np.atleast_1d(parts.any(axis=(0, 2)))
        whole = np.atleast_1d(parts.all(axis=(0, 2)))
        complete = self.rounds if whole.all() else int(whole.argmin())
        if some[complete + 1 :].any():
            later = complete + 1 + int(some[complete + 1 :].argmax())
            raise RunDamaged(
                f"There are rollouts of round {later}, though round {complete} is not complete."
            )
        return complete, bool(some[complete : complete + 1].any())

    def _span(self, number: int) -> slice:
        return slice(number * self.size, (number + 1) * self.size)

    def _ask(self) -> NDArray[np.float64]:
        """Return the temperatures of the coming round, shape (tasks, size)."""
        shape = len(self._tasks), self.size
        if self._sampler is None:
            return np.full(shape, self._sampling.temperature, dtype=np.float64)
        spread = getattr(self._sampler, "rollout_temperatures", None)
        if spread is not None:
            drawn = np.asarray(spread(list(self._tasks), self.size), dtype=np.float64)
            told = f"temperatures of shape {shape}"
        else:
            drawn = np.asarray(self._sampler.temperatures(list(self._tasks)), dtype=np.float64)
            told = f"{shape[0]} temperatures"
        if drawn.shape != (shape if spread is not None else shape[:1]):
            raise BadArgument(f"Expected the sampler to give {told}, got shape {drawn.shape}.")
        return drawn if spread is not None else np.repeat(drawn[:, None], self.size, axis=1)

    def _compare(self, span: slice, temperatures: NDArray[np.float64]) -> None:
        wrong: NDArray[np.bool_] = self._there[:, span] & (self._played[:, span] != temperatures)
        if wrong.any():
            task, rollout = (int(found[0]) for found in wrong.nonzero())
            raise SettingsDiffer(
                f"Task {self._tasks[task]!r}, rollout {span.start + rollout} was played at "
                f"temperature {float(self._played[task, span.start + rollout])!r}, where this "
                f"sampler gives {float(temperatures[task, rollout])!r}. Give it in the state that "
                "it had as the run began: the same settings, and nothing learned since."
            )


def describe_sampler(sampler: Sampler) -> dict[str, Any]:
    """Return what a run records of a sampler."""
    describe = getattr(sampler, "describe", None)
    return {"name": type(sampler).__name__, **(describe() if callable(describe) else {})}


@contextlib.contextmanager
def unchanged_by_failure(sampler: Sampler | None) -> Iterator[None]:
    """Bring the sampler back to the state that it has now, should the block fail.

    A sampler without `state_dict` and `load_state_dict` keeps what it was told.
    """
    save = getattr(sampler, "state_dict", None)
    load = getattr(sampler, "load_state_dict", None)
    before = None if save is None or load is None else copy.deepcopy(save())
    try:
        yield
    except BaseException:
        if load is not None and before is not None:
            load(before)
        raise


def replay_sampler(run: str | os.PathLike[str] | Outcomes, sampler: S) -> S:
    """Let a sampler learn from a run folder what the one that played it learned.

        >>> sampler = replay_sampler("runs/wide", PTGS(tau=1.5, gamma=0.95, target=0.5))
        >>> sampler.save("wide.npz")

    Every temperature is asked for again and compared with the one that the rollout was played
    at, so that a sampler which ends here has gone the same way. Of a run that was stopped, the
    complete rounds count, and the temperatures of the one under way are held.

    Args:
        run: a run folder, or its outcomes.
        sampler: one with the settings and the state that the run's had as the run began; mostly
            a fresh one.

    Returns:
        The same sampler.

    Raises:
        BadArgument: the run was made without a sampler.
        SettingsDiffer: the sampler has other settings, or gives other temperatures; it is then
            left as it was.
        RunDamaged: the folder cannot be read.
    """
    outcomes = run if isinstance(run, Outcomes) else Outcomes.load(run)
    settings: Mapping[str, Any] = outcomes.settings
    told, group, n = (settings.get(key) for key in ("sampler", "group", "n"))
    if not told or not isinstance(group, int) or not isinstance(n, int):
        raise BadArgument("Expected a run that was made with a sampler; this one was not.")
    own = json.loads(json.dumps(describe_sampler(sampler)))
    lines = differences({"sampler": json.loads(json.dumps(told))}, {"sampler": own})
    if lines:
        raise SettingsDiffer("The run was made with another sampler:\n  " + "\n  ".join(lines))
    groups = Groups(settings.get("task_ids") or outcomes.task_ids, n, Sampling(), sampler, group)
    groups.take(outcomes)
    complete, begun = groups.progress()
    with unchanged_by_failure(sampler):
        for number in range(complete + begun):
            groups.begin(number)
            if number < complete:
                groups.end(number)
    return sampler
