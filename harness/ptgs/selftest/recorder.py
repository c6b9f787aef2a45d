"""A sampler that remembers what it was asked and told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.harness.ptgs.events import Events
from agentenvs.harness.ptgs.protocol import Ids
from agentenvs.harness.ptgs.sampler import PTGS

__all__ = ["Given", "Recorder", "Told"]


class Given(NamedTuple):
    """A task was asked for, and got these temperatures."""

    task: str | int
    temperatures: tuple[float, ...]


class Told(NamedTuple):
    """A task's group was told: `successes` of `n` rollouts."""

    task: str | int
    successes: int
    n: int


class Recorder(PTGS):
    """PTGS that keeps a list of all that passes, in order; draws are those of PTGS.

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
        if self.on_ask is not None:
            self.on_ask()
        got = super().temperatures(ids, step=step)
        self.heard += [Given(i, (float(t),)) for i, t in zip(_plain(ids), got, strict=True)]
        return got

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


def _plain(ids: Any) -> list[str | int]:
    return [i.item() if isinstance(i, np.generic) else i for i in ids]
