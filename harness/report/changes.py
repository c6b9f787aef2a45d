"""Which tasks were gained and lost, and which of them beyond what chance explains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.tax._checks import Paired
from agentenvs.harness.tax.discovery import discoveries

__all__ = ["SHOWN", "Change", "Changes", "fisher", "task_changes"]

#: so many of the tasks that changed are shown at first, with what was said in them
SHOWN = 20

# Ties of probabilities that rounding tells apart.
_SLACK = 1 + 1e-7


class Change(NamedTuple):
    """One task in both arms.

    Attributes:
        task_id: its name.
        c_base, n_base, c_post, n_post: successes and rollouts.
        change: the share of rollouts that succeed, after minus before.
        p_value: how often chance alone makes a difference as large, by Fisher's exact test.
        beyond_chance: whether it stands after the number of tasks is allowed for.
    """

    task_id: str
    c_base: int
    n_base: int
    c_post: int
    n_post: int
    change: float
    p_value: float
    beyond_chance: bool


class Changes(NamedTuple):
    """All tasks, the largest losses first and the largest gains last.

    Attributes:
        tasks: every task.
        rate: the share of false ones aimed at among those called beyond chance.
        lost, gained: how many tasks are worse or better beyond chance.
        vanished: tasks that only the first arm ever solved.
        appeared: tasks that only the second arm ever solved.
    """

    tasks: tuple[Change, ...]
    rate: float
    lost: int
    gained: int
    vanished: int
    appeared: int

    def shown(self, most: int) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
        """Return the largest losses and the largest gains, at most `most` in all.

        Half of the places go to each; what one side leaves free goes to the other.
        """
        losses = [one for one in self.tasks if one.change < 0]
        gains = [one for one in reversed(self.tasks) if one.change > 0]
        first = min(len(losses), max(most - most // 2, most - len(gains)))
        return tuple(losses[:first]), tuple(gains[: most - first])


def task_changes(task_ids: Sequence[str], arms: Paired, rate: float = 0.05) -> Changes:
    """Return what changed task by task.

    Each task is tested by itself (Fisher's exact test, two-sided); which ones to believe is
    then decided for all of them together, so that at most a share `rate` of those marked is
    expected to be there by chance (Benjamini and Hochberg).

    Args:
        task_ids: T names.
        arms: both arms over these tasks in this order.
        rate: the share of false marks that is accepted.
    """
    (c, n), (d, m) = arms
    rows = list(zip(*(side.tolist() for side in (c, n, d, m)), strict=True))
    p_values = np.array([fisher(*row) for row in rows])
    real = discoveries(p_values, rate).rejected.tolist()
    found = [
        Change(name, hits, rolls, later, of, later / of - hits / rolls, p, marked)
        for name, (hits, rolls, later, of), p, marked in zip(
            task_ids, rows, p_values.tolist(), real, strict=True
        )
    ]
    order = sorted(
        range(len(found)),
        key=lambda at: (found[at].change, math.copysign(found[at].p_value, -found[at].change), at),
    )
    return Changes(
        tasks=tuple(found[at] for at in order),
        rate=rate,
        lost=sum(one.beyond_chance and one.change < 0 for one in found),
        gained=sum(one.beyond_chance and one.change > 0 for one in found),
        vanished=int(np.sum((c > 0) & (d == 0))),
        appeared=int(np.sum((c == 0) & (d > 0))),
    )


@lru_cache(maxsize=65536)
def fisher(c: int, n: int, d: int, m: int) -> float:
    """Return Fisher's exact two-sided p-value for c of n against d of m successes.

    Given the number of successes in all, c follows a hypergeometric law where both chances are
    the same; the outcomes that are no likelier than the one seen are summed.
    """
    total = c + d
    low, high = max(0, total - m), min(n, total)
    if low == high:
        return 1.0
    x = np.arange(low, high, dtype=np.float64)
    ratio: NDArray[np.float64] = np.log((n - x) * (total - x)) - np.log(
        (x + 1) * (m - total + x + 1)
    )
    logs = np.concatenate(([0.0], np.cumsum(ratio)))
    chance = np.exp(logs - logs.max())
    seen = chance[c - low]
    return min(float(chance[chance <= seen * _SLACK].sum() / chance.sum()), 1.0)
