"""Prompt-wise temperatures by Thompson draws: hot where a task fails, cold where it succeeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._checks import outcome_table
from agentenvs.harness.ptgs._ranges import whole
from agentenvs.harness.ptgs.events import Events
from agentenvs.harness.ptgs.gate import Gate
from agentenvs.harness.ptgs.groups import event_rows, told_groups
from agentenvs.harness.ptgs.memory import Memory
from agentenvs.harness.ptgs.protocol import Ids
from agentenvs.harness.ptgs.replay import replay
from agentenvs.harness.ptgs.schedule import Ramp
from agentenvs.harness.ptgs.settings import Settings
from agentenvs.harness.ptgs.state import VERSION, check_header, read_state, write_state
from agentenvs.harness.ptgs.table import Rows

__all__ = ["PTGS"]


class PTGS:
    """Posterior-tempered group sampling: a temperature for each group, learned from outcomes.

    Each task has a Beta posterior over its rate of success, made of discounted counts and a prior
    worth two rollouts. One draw p from it gives the group's temperature t_ref * tau ** h(p): up
    to t_ref * tau for a task that fails, t_ref at the target, down to t_ref / tau for one that
    succeeds. Score the rollouts' log-probabilities at the temperature they were played at.

    Draws hang on (seed, task, visit) alone, so that neither the order of the tasks, nor batches,
    nor the number of processes matters. Temperatures are float32 numbers, held until the task
    is updated.

    >>> sampler = PTGS(tau=1.5, gamma=0.95, target=0.5)
    >>> tasks = ["a", "b"]
    >>> bool((sampler.temperatures(tasks) == sampler.temperatures(tasks)).all())
    True
    >>> sampler.update(tasks, successes=[0, 16], n=16)
    >>> sampler.estimates(tasks).round(3).tolist()
    [0.056, 0.944]

    Args:
        tau: how far temperatures go from `t_ref`, as a factor, at least 1.
        gamma: what is left of a task's counts at its next group, 0 (only the last group counts)
            to 1 (nothing is forgotten). 0.95 is slow: a task that is seen eight times in a run
            is tracked better with 0.5 to 0.8.
        target: the rate of success that is played at `t_ref`, in (0, 1), or a `Ramp`.
        t_ref: the temperature around which to go.
        seed: of the draws, 0 to 2**64 - 1.
        ref_share: the share of each group that is played at `t_ref`, in [0, 1): its first
            rollouts, at least one. They alone feed the posterior, which so estimates success at
            `t_ref` instead of at whatever temperature was played.
        pilot: the first groups of a task that are played at `t_ref`, to learn before tempering.
        gate: switches heating off where it is measured not to raise success; needs `ref_share`.
        keep_events: log every group in `events`.

    Raises:
        BadArgument: a value out of range.

    Source: arXiv 2610.01509, section on PTGS; everything from `t_ref` on is an addition.
    """

    def __init__(
        self,
        tau: float = 1.5,
        gamma: float = 0.95,
        target: float | Ramp = 0.5,
        *,
        t_ref: float = 1.0,
        seed: int = 0,
        ref_share: float = 0.0,
        pilot: int = 0,
        gate: Gate | None = None,
        keep_events: bool = False,
    ) -> None:
        self.settings = Settings(tau, gamma, target, t_ref, seed, ref_share, pilot, gate)
        self.keep_events = bool(keep_events)
        self._memory = Memory(self.settings)
        self._log: list[Events] = []

    def __len__(self) -> int:
        """Return how many tasks there is room for: those seen, or the largest number plus 1."""
        return len(self._memory.slots)

    @property
    def step(self) -> int:
        """The step of the last update, 0 before the first."""
        return self._memory.step

    def temperatures(self, ids: Ids, *, step: int | None = None) -> NDArray[np.float64]:
        """Return the temperature of each task's group, (m,); the same until it is updated.

        Args:
            ids: strings, or whole numbers from 0; twice the same is the same temperature.
            step: for which the target is taken; default the coming one.

        Raises:
            BadArgument: ids of another kind than before, or a step that is over.
        """
        when = self._when(step)
        memory = self._memory
        return memory.draw(memory.slots.find(memory.slots.read(ids), add=True), when)

    def rollout_temperatures(
        self, ids: Ids, n: int, *, step: int | None = None
    ) -> NDArray[np.float64]:
        """Return the temperature of each rollout, (m, n): first those at `t_ref`, if any.

        Raises:
            BadArgument: as `temperatures`, or `n` below 1, or below 2 with `ref_share`.
        """
        first = self.ref_rollouts(n)
        rolled = np.repeat(self.temperatures(ids, step=step)[:, None], n, axis=1)
        rolled[:, :first] = self.settings.rails[1]
        return rolled

    def ref_rollouts(self, n: int) -> int:
        """Return how many of a group of `n` are at `t_ref` to feed the posterior; its first ones.

        Raises:
            BadArgument: `n` below 1, or below 2 with `ref_share`.
        """
        return self.settings.ref_count(n)

    def update(
        self,
        ids: Ids,
        successes: ArrayLike,
        n: ArrayLike,
        *,
        ref_successes: ArrayLike | None = None,
        ref_n: ArrayLike | None = None,
        step: int | None = None,
    ) -> None:
        """Take in how each task's group went.

        Tell every group, before any filter drops some, and each task once: pool its rollouts.

        Args:
            ids: the tasks.
            successes: how many rollouts of each group succeeded, (m,) or one number.
            n: how many there were, (m,) or one number.
            ref_successes: successes among the rollouts at `t_ref`; with `ref_share` alone.
            ref_n: how many of the `n` rollouts those were; with `ref_share` alone.
            step: the step that this belongs to; default one more than the last. Several updates
                may share a step.

        Raises:
            BadArgument: a task twice, counts that make no sense, a step that is over, or
                counts at `t_ref` missing or unasked for. Nothing has changed then.
        """
        when = self._when(step)
        read = self._memory.slots.read(ids)
        slots = self._memory.slots.find(read, add=False).slots
        told = told_groups(self._memory, read, slots, when, (successes, n), (ref_successes, ref_n))
        if read.kind == "int" or (slots < 0).any():
            slots = self._memory.slots.find(read, add=True).slots
        if self.keep_events:
            self._log.append(event_rows(self._memory, read, slots, when, told))
        self._memory.fold(slots, when, told)

    def record(self, ids: Ids, outcomes: ArrayLike, *, step: int | None = None) -> None:
        """Take in who succeeded, (m, n) booleans in the order of `rollout_temperatures`.

        Raises:
            BadArgument: as `update`, or a table of another shape or content.
        """
        read = self._memory.slots.read(ids)
        table = outcome_table(len(read), outcomes)
        n = table.shape[1]
        first = self.ref_rollouts(n)
        at_ref = {"ref_successes": table[:, :first].sum(axis=1), "ref_n": first} if first else {}
        self.update(ids, table.sum(axis=1), n, step=step, **at_ref)

    def report(
        self,
        ids: Ids,
        successes: ArrayLike,
        n: ArrayLike,
        *,
        ref_successes: ArrayLike | None = None,
        ref_n: ArrayLike | None = None,
        step: int | None = None,
    ) -> Events:
        """Return the log rows that `update` would write, and change nothing.

        Workers that each hold a copy of the sampler gather such rows, merge and replay them.

        Raises:
            BadArgument: as `update`.
        """
        when = self._when(step)
        read = self._memory.slots.read(ids)
        slots = self._memory.slots.find(read, add=False).slots
        told = told_groups(self._memory, read, slots, when, (successes, n), (ref_successes, ref_n))
        return event_rows(self._memory, read, slots, when, told)

    def replay(self, events: Events, *, check: bool = True) -> None:
        """Take in logged groups, as if they were played now.

        Args:
            events: rows of a sampler with the same settings, one worker's or merged.
            check: compare each row's temperature and visit with what this sampler gives.

        Raises:
            BadArgument: a row that does not fit; names it. Counts are as before then.
        """
        replay(self._memory, events, check)
        if self.keep_events:
            self._log.append(events)

    @property
    def events(self) -> Events:
        """The groups since the sampler was made or loaded.

        Raises:
            BadArgument: the sampler was made without `keep_events`.
        """
        if not self.keep_events:
            raise BadArgument(
                "Expected a sampler made with `keep_events=True`: others keep no log."
            )
        self._log = [Events.join(self._log)]
        return self._log[0]

    def posterior(self, ids: Ids) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the shapes (a, b) of each task's Beta posterior, both (m,)."""
        return self._memory.posterior(self.step + 1, self._look(ids))

    def estimates(self, ids: Ids) -> NDArray[np.float64]:
        """Return each task's estimated rate of success, the posterior's mean, (m,)."""
        a, b = self.posterior(ids)
        return a / (a + b)

    def visits(self, ids: Ids) -> NDArray[np.int64]:
        """Return how many groups of each task were told, (m,)."""
        return self._look(ids).visits

    def stats(self) -> dict[str, float]:
        """Return what there is to watch, since the start, and of the last step under `last/`.

        `brier` is the squared error of the estimate against the rollouts of the task's next
        group, `brier_mean` that of one constant guess, the rate over the same groups; a task's
        first group is judged by neither. `zero_advantage`: groups that all succeeded or all
        failed. `heated`, `rails`: groups above `t_ref`, and within 1 % of the hottest or coldest
        temperature. With `ref_share`, `hot_minus_ref/LOW-HIGH` is the gain of success by heating
        among tasks with such an estimate (`cold_minus_ref`: by cooling), late groups counting
        more; with a `gate`, `gate_off` is the share of bins where heating is off.
        """
        return {"step": float(self.step), **self._memory.stats()}

    def describe(self) -> dict[str, Any]:
        """Return the settings, ready for JSON."""
        return self.settings.describe()

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of all that is known: a `header` ready for JSON, and arrays."""
        header, arrays = self._memory.dump()
        head = {"sampler": "PTGS", "version": VERSION, "settings": self.describe()}
        return {"header": head | header, **arrays}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave; the next draws are those it would have made.

        Raises:
            SettingsDiffer: it was made with other settings; names them.
            BadArgument: it is no such state. Nothing has changed then.
        """
        check_header(state, "PTGS", self.describe())
        self._memory = _loaded(self.settings, state)
        self._log = []

    def bookmark(self) -> Callable[[], None]:
        """Return a function that brings everything back to where it is now, `events` too."""
        state, log = self.state_dict(), list(self._log)

        def back() -> None:
            self.load_state_dict(state)
            self._log = list(log)

        return back

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to one .npz file, whole or not at all.

        Raises:
            BadArgument: the path is that of a folder, or lies in none.
        """
        write_state(path, self.state_dict())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Take over what `save` wrote.

        Raises:
            SettingsDiffer, BadArgument: as `load_state_dict`, or no such file.
        """
        self.load_state_dict(read_state(path))

    def _when(self, step: int | None) -> int:
        if step is None:
            return self.step + 1
        if whole("step", step, low=1) < self.step:
            raise BadArgument(
                f"Expected `step` of at least {self.step}, the last one told, got {step}."
            )
        return int(step)

    def _look(self, ids: Ids) -> Rows:
        slots = self._memory.slots
        return self._memory.table.rows(slots.find(slots.read(ids), add=False).slots)


def _loaded(settings: Settings, state: Mapping[str, Any]) -> Memory:
    memory = Memory(settings)
    memory.load(state["header"], state)
    return memory
