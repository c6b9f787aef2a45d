"""What every sampler of temperatures does, ours and yours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Ids", "RefSampler", "Sampler"]

Ids: TypeAlias = Sequence[str] | Sequence[int] | Sequence[str | int] | NDArray[Any]
"""Tasks: strings, or whole numbers 0 .. N - 1. One sampler takes one of the two kinds."""


class Sampler(Protocol):
    """Gives each group (the rollouts of one task) its temperatures, and learns from outcomes.

    A group's temperature stays the same until its outcomes are told. Tell them for every group,
    before any filter drops some, and score log-probabilities at the temperature that was played.
    """

    def temperatures(self, ids: Ids) -> NDArray[np.float64]:
        """Return the temperature of each of m tasks, (m,); the same until it is updated."""
        ...

    def rollout_temperatures(self, ids: Ids, n: int) -> NDArray[np.float64]:
        """Return the temperature of each rollout of m groups of `n`, (m, n)."""
        ...

    def update(self, ids: Ids, successes: ArrayLike, n: ArrayLike) -> None:
        """Take in how many of each group's `n` rollouts succeeded, all (m,), each task once."""
        ...

    def record(self, ids: Ids, outcomes: ArrayLike) -> None:
        """Take in who succeeded, (m, n) booleans in the order of `rollout_temperatures`."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return the settings, ready for JSON."""
        ...

    def stats(self) -> dict[str, float]:
        """Return what there is to watch; NaN where nothing is known yet."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return all that the sampler knows: a JSON-ready `header`, and arrays."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of a sampler with the same settings gave."""
        ...


@runtime_checkable
class RefSampler(Sampler, Protocol):
    """A sampler that may learn from the first rollouts of each group alone.

    `record` tells these apart by itself. Who tells `update` instead, since groups of one task are
    pooled or rollouts lack a verdict, counts them with `ref_rollouts`. A sampler that learns from
    all rollouts alike needs neither.
    """

    def ref_rollouts(self, n: int) -> int:
        """Return how many of a group of `n` these are, the first ones; 0 if all count alike."""
        ...

    def update(
        self,
        ids: Ids,
        successes: ArrayLike,
        n: ArrayLike,
        *,
        ref_successes: ArrayLike | None = None,
        ref_n: ArrayLike | None = None,
    ) -> None:
        """Take in each group's counts, and where `ref_rollouts` is above 0 those of its own."""
        ...
