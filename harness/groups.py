"""Rollouts by groups: a sampler gives temperatures, and learns from what came of them.

The rollouts of each task are cut into groups of one size. Group g of every task makes up round
g; rounds are played one after another, and within a round everything runs in any order. So the
sampler is asked and told at points that scheduling cannot move: for all tasks at once as a
round begins, and for all of them again when its last rollout has ended.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument, RunDamaged, RunError, SettingsDiffer
from agentenvs.harness.exchange import HOTTEST, Sampling
from agentenvs.harness.jobs import Job
from agentenvs.harness.outcomes import Outcomes

__all__ = ["Groups", "Sampler", "describe_sampler", "unchanged_by_failure"]


class Sampler(Protocol):
    """Sets a temperature for each group of a task's rollouts and learns from what came out.

    Samplers may have more, which is used where it is there: `rollout_temperatures(task_ids, n)`
    gives every rollout of a group of n its own, shape (tasks, n), and takes the place of
    `temperatures`; `record(task_ids, outcomes)` takes bools of the same shape and takes the
    place of `update`; `describe()` gives the settings that a run records; `state_dict()` and
    `load_state_dict(state)` bring a sampler back when a run fails, and `bookmark()`, which gives
    a function that does it, takes the place of both. Those of `agentenvs.harness.ptgs` have them
    all, and PTGS, which may keep a log, the last.
    """

    def temperatures(self, task_ids: Sequence[str], /) -> ArrayLike:
        """Return one temperature for each task, as an array."""
        ...

    def update(
        self, task_ids: Sequence[str], successes: NDArray[np.int64], n: NDArray[np.int64], /
    ) -> None:
        """Take in how many of each task's `n` rollouts succeeded, as arrays."""
        ...


class Groups:
    """The rollouts of a run, round by round.

    Args:
        task_ids: the tasks.
        n: rollouts a task.
        sampling: how replies are drawn; its temperature holds where there is no sampler.
        sampler: gives the temperatures, or None.
        group: rollouts a group; None makes one group of all `n`.
        part: the first rollout to be played and the one after the last; None plays all `n`.

    Attributes:
        rounds: how many there are.
        size: rollouts a group.

    Raises:
        BadArgument: `n` is no multiple of `group`, there is a group without a sampler, the
            sampler is none, or a part that is none of the run's or has a sampler.
    """

    def __init__(
        self,
        task_ids: Sequence[str],
        n: int,
        sampling: Sampling,
        sampler: Sampler | None = None,
        group: int | None = None,
        part: tuple[int, int] | None = None,
    ) -> None:
        if sampler is not None:
            _check_sampler(sampler)
        self._first, self._after = _checked_part(part, n, sampler)
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

    @property
    def total(self) -> int:
        """How many rollouts of all tasks are to be played or are there."""
        played = self._there.copy()
        played[:, self._first : self._after] = True
        return int(played.sum())

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
            try:
                self._played[self._place[task], rollout] = row.get("temperature", np.nan)
            except OverflowError:
                raise RunDamaged(
                    f"Task {task!r}, rollout {rollout}: expected a temperature, got a number "
                    "beyond all bounds."
                ) from None

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
                if not there and self._first <= rollout < self._after:
                    if temperature != sampling.temperature:
                        sampling = replace(sampling, temperature=temperature)
                    jobs.append(Job(task, rollout, sampling))
        return jobs

    def end(self, number: int) -> None:
        """Tell the sampler what came of a round.

        Raises:
            RunError: rollouts of it are still open, and later rounds would learn from a hole.
        """
        if self._sampler is None:
            return
        missing: NDArray[np.bool_] = ~self._there[:, self._span(number)]
        if missing.any():
            task, rollout = (int(found[0]) for found in missing.nonzero())
            raise RunError(
                f"{int(missing.sum())} rollouts of round {number} came to no verdict, the first of "
                f"them task {self._tasks[task]!r}, rollout {number * self.size + rollout}. The "
                "sampler learns from whole rounds alone, so that the run stops here; in a run "
                "folder the same command goes on."
            )
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
            drawn = _numbers(spread(list(self._tasks), self.size))
            told = f"temperatures of shape {shape}"
        else:
            drawn = _numbers(self._sampler.temperatures(list(self._tasks)))
            told = f"{shape[0]} temperatures"
        if drawn.shape != (shape if spread is not None else shape[:1]):
            raise BadArgument(f"Expected the sampler to give {told}, got shape {drawn.shape}.")
        wrong = ~((drawn >= 0) & (drawn <= HOTTEST))
        if wrong.any():
            at = tuple(int(found[0]) for found in wrong.nonzero())
            raise BadArgument(
                f"Expected the sampler to give temperatures within 0 to {HOTTEST:g}, "
                f"got {drawn[at]} for task {self._tasks[at[0]]!r}."
            )
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


def _checked_part(part: object, n: int, sampler: object) -> tuple[int, int]:
    if part is None:
        return 0, n
    numbers = tuple(part) if isinstance(part, list | tuple) else ()
    if not (
        len(numbers) == 2
        and all(type(number) is int for number in numbers)
        and 0 <= numbers[0] < numbers[1] <= n
    ):
        raise BadArgument(
            f"Expected `rollouts` to be (first, one after the last) within 0 to {n}, "
            f"got {part!r:.60}."
        )
    if sampler is not None:
        raise BadArgument("A sampler learns from whole rounds: it takes no part of the `rollouts`.")
    return numbers[0], numbers[1]


def _check_sampler(sampler: object) -> None:
    """Check that something can be asked for temperatures and told outcomes.

    Raises:
        BadArgument: it cannot; says what it lacks.
    """
    pairs = (("rollout_temperatures", "temperatures"), ("record", "update"))
    lacks = [
        name
        for more, name in pairs
        if not callable(getattr(sampler, more, None)) and not callable(getattr(sampler, name, None))
    ]
    if isinstance(sampler, type) or lacks:
        hint = "; `make_sampler` makes one from a spec" if isinstance(sampler, str) else ""
        told = f"without `{lacks[0]}`" if lacks else "a class"
        raise BadArgument(f"Expected a sampler, got {sampler!r:.60}, {told}{hint}.")


def _numbers(given: Any) -> NDArray[np.float64]:
    """Return what a sampler gave as an array.

    Raises:
        BadArgument: it holds something besides numbers.
    """
    try:
        array = np.asarray(given)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype.kind not in "iuf" or np.ma.is_masked(given):
        told = f"{given!r:.60}"
        raise BadArgument(f"Expected the sampler to give an array of temperatures, got {told}.")
    return array.astype(np.float64)


def describe_sampler(sampler: Sampler) -> dict[str, Any]:
    """Return what a run records of a sampler.

    Raises:
        BadArgument: it describes itself by something that JSON cannot hold.
    """
    describe = getattr(sampler, "describe", None)
    told = describe() if callable(describe) else {}
    try:
        plain: dict[str, Any] = json.loads(json.dumps(told, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise BadArgument(
            f"Expected `describe` of the sampler to give what JSON can hold: {error}."
        ) from None
    if not isinstance(plain, dict):
        raise BadArgument(f"Expected `describe` of the sampler to give a dict, got {told!r:.60}.")
    return {"name": type(sampler).__name__, **plain}


@contextlib.contextmanager
def unchanged_by_failure(sampler: Sampler | None) -> Iterator[None]:
    """Bring the sampler back to the state that it has now, should the block fail.

    A sampler without `state_dict` and `load_state_dict` keeps what it was told.
    """
    bookmark = getattr(sampler, "bookmark", None)
    save = getattr(sampler, "state_dict", None)
    load = getattr(sampler, "load_state_dict", None)
    back: Callable[[], None] | None = None
    if bookmark is not None:
        back = bookmark()
    elif save is not None and load is not None:
        back = functools.partial(load, copy.deepcopy(save()))
    try:
        yield
    except BaseException:
        if back is not None:
            back()
        raise
