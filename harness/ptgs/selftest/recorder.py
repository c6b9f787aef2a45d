"""A sampler that remembers what it was asked and told."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.harness.ptgs.events import Events
from agentenvs.harness.ptgs.protocol import Ids
from agentenvs.harness.ptgs.sampler import PTGS

__all__ = ["Given", "Recorder", "Told"]

#: how far a rollout's temperature may lie from its group's, as a factor
_REACH = 1.25
#: multiples of it, but for their whole part, are all different and in no order
_GOLDEN = (math.sqrt(5) - 1) / 2


class Given(NamedTuple):
    """A task was asked for, and got these temperatures.

    Attributes:
        task: that was asked for.
        temperatures: one a rollout, or one for the whole group.
        rolled: whether they were asked for rollout by rollout.
    """

    task: str | int
    temperatures: tuple[float, ...]
    rolled: bool = False


class Told(NamedTuple):
    """A task's group was told: `successes` of `n` rollouts.

    Attributes:
        task: whose group it was.
        successes: how many rollouts succeeded.
        n: how many there were.
        outcomes: of each rollout, in order, where they were told like that.
    """

    task: str | int
    successes: int
    n: int
    outcomes: tuple[bool, ...] | None = None


class Recorder(PTGS):
    """PTGS that keeps a list of all that passes, in order.

    Posterior and groups' temperatures are those of PTGS. The rollouts of a group have temperatures
    around the group's, all different, so that it shows where they are mixed up among themselves.

    Attributes:
        heard: what was asked, and what was told by `update`, `record` or `replay`.
        on_ask: called before a temperature is drawn.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__(tau=1.5, gamma=0.95, target=0.5, seed=seed)
        self.heard: list[Given | Told] = []
        self.on_ask: Callable[[], None] | None = None

    def temperatures(self, ids: Ids, *, step: int | None = None) -> NDArray[np.float64]:
        """Return what PTGS gives, and keep it."""
        got = self._group(ids, step)
        self.heard += [Given(i, (float(t),)) for i, t in zip(_plain(ids), got, strict=True)]
        return got

    def rollout_temperatures(
        self, ids: Ids, n: int, *, step: int | None = None
    ) -> NDArray[np.float64]:
        """Return what PTGS gives each group, times a factor for each rollout, and keep it."""
        self.settings.ref_count(n)  # raises where `n` makes no sense
        factors = _REACH ** (2 * (np.arange(1, n + 1) * _GOLDEN % 1) - 1)
        got = np.outer(self._group(ids, step), factors).astype(np.float32).astype(np.float64)
        self.heard += [
            Given(i, tuple(map(float, row)), rolled=True)
            for i, row in zip(_plain(ids), got, strict=True)
        ]
        return got

    def record(self, ids: Ids, outcomes: ArrayLike, *, step: int | None = None) -> None:
        """Tell PTGS, and keep what was told of each rollout."""
        mark = len(self.heard)
        super().record(ids, outcomes, step=step)
        told = (one for one in self.heard[mark:] if isinstance(one, Told))
        self.heard[mark:] = [
            one._replace(outcomes=tuple(map(bool, row)))
            for one, row in zip(told, np.asarray(outcomes), strict=True)
        ]

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
        """Tell PTGS, and keep what was told."""
        super().update(ids, successes, n, ref_successes=ref_successes, ref_n=ref_n, step=step)
        names = _plain(ids)
        won, played = (np.broadcast_to(np.asarray(x), len(names)) for x in (successes, n))
        self.heard += [Told(i, int(s), int(m)) for i, s, m in zip(names, won, played, strict=True)]

    def replay(self, events: Events, *, check: bool = True) -> None:
        """Tell PTGS by rows of a log, and keep what was told."""
        super().replay(events, check=check)
        self.heard += [
            Told(i, int(s), int(n)) for i, s, n in zip(events.task, events.s, events.n, strict=True)
        ]

    def _group(self, ids: Ids, step: int | None) -> NDArray[np.float64]:
        if self.on_ask is not None:
            self.on_ask()
        return super().temperatures(ids, step=step)


def _plain(ids: Any) -> list[str | int]:
    return [i.item() if isinstance(i, np.generic) else i for i in ids]
