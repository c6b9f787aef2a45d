"""What PTGS is measured against, behind the same interface.

`Fixed` ignores outcomes. `HeatMatched` gives a whole batch the temperature that PTGS would give
on average, which tells what it is worth to know which task needs heat. `Spread` mixes
temperatures inside each group, without learning which one helps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._checks import group_counts, outcome_table
from agentenvs.harness.ptgs._ranges import number, whole
from agentenvs.harness.ptgs.protocol import Ids
from agentenvs.harness.ptgs.sampler import PTGS
from agentenvs.harness.ptgs.slots import Slots
from agentenvs.harness.ptgs.state import VERSION, check_header
from agentenvs.harness.ptgs.tally import Tally

__all__ = ["Fixed", "HeatMatched", "Spread"]

_WATCHED = ("groups", "zero_advantage", "mean_T")


class _Unmoved(ABC):
    """A sampler whose temperatures hang on nothing; it counts what it is told."""

    def __init__(self, middle: float) -> None:
        self._middle = middle
        self._step = 0
        self._slots, self._tally = Slots(), Tally()

    def temperatures(self, ids: Ids) -> NDArray[np.float64]:
        """Return the temperature of each task, (m,).

        Raises:
            BadArgument: no list of task ids.
        """
        return np.full(len(self._slots.read(ids)), self._middle)

    def rollout_temperatures(self, ids: Ids, n: int) -> NDArray[np.float64]:
        """Return the temperature of each rollout, (m, n).

        Raises:
            BadArgument: as `temperatures`, or `n` below 1.
        """
        return np.tile(self._row(whole("n", n, low=1)), (len(self._slots.read(ids)), 1))

    def update(self, ids: Ids, successes: ArrayLike, n: ArrayLike) -> None:
        """Count how each task's group went, (m,) or one number each.

        Raises:
            BadArgument: a task twice, or counts that make no sense.
        """
        read = self._slots.read(ids)
        read.once()
        told = group_counts(len(read), successes, n)
        self._step += 1
        self._tally.add(
            self._step,
            np.full(len(read), self._middle),
            (self._middle, self._middle, self._middle),
            (told.s == 0) | (told.s == told.n),
            np.full(len(read), np.nan),
            told.s / told.n,
        )

    def record(self, ids: Ids, outcomes: ArrayLike) -> None:
        """Count who succeeded, (m, n) booleans.

        Raises:
            BadArgument: as `update`, or a table of another shape or content.
        """
        table = outcome_table(len(self._slots.read(ids)), outcomes)
        self.update(ids, table.sum(axis=1), table.shape[1])

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the settings, ready for JSON."""

    def stats(self) -> dict[str, float]:
        """Return groups, the share without advantage and the temperature, and `last/` of each."""
        told = self._tally.stats()
        kept = {name: told[name] for name in told if name.removeprefix("last/") in _WATCHED}
        return {"step": float(self._step), **kept}

    def state_dict(self) -> dict[str, Any]:
        """Return the counts: a `header` ready for JSON, and arrays."""
        head = {"sampler": type(self).__name__, "version": VERSION, "settings": self.describe()}
        return {"header": head | {"step": self._step}, **self._tally.arrays()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave.

        Raises:
            SettingsDiffer: it was made with other settings; names them.
            BadArgument: it is no such state.
        """
        header = check_header(state, type(self).__name__, self.describe())
        step, tally = whole("step", header.get("step"), low=0), Tally()
        tally.load(state)
        self._step, self._tally = step, tally

    def _row(self, n: int) -> NDArray[np.float64]:
        return np.full(n, self._middle)


class Fixed(_Unmoved):
    """One temperature for every rollout, whatever the outcomes.

    >>> Fixed(0.7).temperatures(["a", "b"]).tolist()
    [0.7, 0.7]

    Args:
        t: the temperature, above 0.

    Raises:
        BadArgument: not above 0.
    """

    def __init__(self, t: float = 1.0) -> None:
        super().__init__(number("t", t, low=1e-6, high=1e6))

    def describe(self) -> dict[str, Any]:
        """Return the settings, ready for JSON."""
        return {"t": self._middle}


class Spread(_Unmoved):
    """Temperatures from `low` to `high` inside each group, in equal factors, the coldest first.

    `temperatures` gives their geometric mean; score each rollout at its own.

    >>> Spread(0.5, 2.0).rollout_temperatures(["a"], 3).tolist()
    [[0.5, 1.0, 2.0]]

    Args:
        low: the coldest, above 0.
        high: the hottest, at least `low`.

    Raises:
        BadArgument: out of range.
    """

    def __init__(self, low: float, high: float) -> None:
        self._low = number("low", low, low=1e-6, high=1e6)
        self._high = number("high", high, low=self._low, high=1e6)
        super().__init__(math.sqrt(self._low * self._high))

    def describe(self) -> dict[str, Any]:
        """Return the settings, ready for JSON."""
        return {"low": self._low, "high": self._high}

    def _row(self, n: int) -> NDArray[np.float64]:
        return np.geomspace(self._low, self._high, n) if n > 1 else super()._row(n)


class HeatMatched:
    """PTGS with its temperatures evened out over the batch: as much heat, but not where it goes.

    The tasks of one call that have no temperature yet draw one as PTGS would, and all get the
    geometric mean of these draws. So it learns as PTGS does, with the same options, but what a
    task gets hangs on the batch it comes in. Everything else, `estimates` and `stats` say, is
    that of the sampler it was given, which is its own from then on.

    >>> matched = HeatMatched(PTGS())
    >>> len(set(matched.temperatures(["a", "b", "c"]).tolist()))
    1

    Args:
        sampler: a PTGS without a log: its events could not be replayed by PTGS.

    Raises:
        BadArgument: something else.
    """

    def __init__(self, sampler: PTGS) -> None:
        if not isinstance(sampler, PTGS):
            raise BadArgument(f"Expected `sampler` to be a PTGS, got {type(sampler).__name__}.")
        if sampler.keep_events:
            raise BadArgument("Expected a `sampler` without `keep_events`: PTGS cannot replay it.")
        self.inner = sampler

    def temperatures(self, ids: Ids) -> NDArray[np.float64]:
        """Return the temperature of each task's group, (m,); the same until it is updated.

        Raises:
            BadArgument: as `PTGS.temperatures`.
        """
        memory = self.inner._memory
        known = memory.slots.find(memory.slots.read(ids), add=False).slots
        new = np.isnan(memory.table.rows(known).held)
        drawn = self.inner.temperatures(ids)
        if new.any():
            slots = np.unique(memory.slots.find(memory.slots.read(ids), add=False).slots[new])
            # fsum rounds once, so that the order of the tasks does not matter.
            logs = np.log(memory.table.held[slots].astype(np.float64))
            memory.table.held[slots] = np.float32(math.exp(math.fsum(logs) / len(slots)))
            drawn = self.inner.temperatures(ids)
        return drawn

    def rollout_temperatures(self, ids: Ids, n: int) -> NDArray[np.float64]:
        """Return the temperature of each rollout, (m, n): first those at `t_ref`, if any.

        Raises:
            BadArgument: as `PTGS.rollout_temperatures`.
        """
        self.ref_rollouts(n)
        self.temperatures(ids)
        return self.inner.rollout_temperatures(ids, n)

    def ref_rollouts(self, n: int) -> int:
        """Return how many of a group of `n` are at `t_ref`, as `PTGS.ref_rollouts` does."""
        return self.inner.ref_rollouts(n)

    def update(
        self,
        ids: Ids,
        successes: ArrayLike,
        n: ArrayLike,
        *,
        ref_successes: ArrayLike | None = None,
        ref_n: ArrayLike | None = None,
    ) -> None:
        """Take in how each task's group went, as `PTGS.update` does."""
        self.inner.update(ids, successes, n, ref_successes=ref_successes, ref_n=ref_n)

    def record(self, ids: Ids, outcomes: ArrayLike) -> None:
        """Take in who succeeded, as `PTGS.record` does."""
        self.inner.record(ids, outcomes)

    def describe(self) -> dict[str, Any]:
        """Return the settings, ready for JSON."""
        return {"heat_matched": self.inner.describe()}

    def stats(self) -> dict[str, float]:
        """Return what `PTGS.stats` tells, of the temperatures that were played."""
        return self.inner.stats()

    def state_dict(self) -> dict[str, Any]:
        """Return all that is known: a `header` ready for JSON, and arrays."""
        inner = self.inner.state_dict()
        head = {"sampler": "HeatMatched", "version": VERSION, "settings": self.describe()}
        return {**inner, "header": head | {"inner": inner["header"]}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` gave.

        Raises:
            SettingsDiffer: it was made with other settings; names them.
            BadArgument: it is no such state.
        """
        header = check_header(state, "HeatMatched", self.describe())
        self.inner.load_state_dict({**state, "header": header.get("inner")})
