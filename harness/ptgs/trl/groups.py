"""A trainer's batch as groups: what a sampler is asked and told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs.protocol import RefSampler, Sampler

__all__ = ["ask", "tell"]


def ask(sampler: Sampler, ids: Sequence[Any], size: int) -> NDArray[np.float64]:
    """Return the temperature of each row of a batch, (N,).

    The sampler is asked for all tasks at once. A task that stands in the batch several times has
    the same temperatures in each of its groups.

    Args:
        sampler: gives the temperatures.
        ids: the task of each row, (N,), groups one behind the other.
        size: rollouts a group.

    Raises:
        BadArgument: rows of a group with different tasks, or ids that the sampler does not take.
    """
    heads = _heads(ids, size)
    tasks = list(dict.fromkeys(heads))
    table = np.asarray(sampler.rollout_temperatures(tasks, size), dtype=np.float64)
    if table.shape != (len(tasks), size):
        raise BadArgument(
            f"Expected the sampler to give temperatures of shape {(len(tasks), size)}, "
            f"got {table.shape}."
        )
    place = {task: at for at, task in enumerate(tasks)}
    return table[[place[head] for head in heads]].reshape(-1)


def tell(
    sampler: Sampler,
    ids: Sequence[Any],
    size: int,
    won: NDArray[np.bool_],
    scored: NDArray[np.bool_],
) -> int:
    """Tell a sampler how every group of a batch went, each task once.

    Groups of one task are pooled. Rows without a verdict are left out of n; a task of which no
    row counts is not told, and keeps its temperature.

    Args:
        sampler: learns.
        ids: the task of each row, (N,), as for `ask`.
        size: rollouts a group.
        won: which rows succeeded, (N,).
        scored: which rows have a verdict, (N,).

    Returns:
        How many tasks were left out.
    """
    heads = _heads(ids, size)
    tasks = list(dict.fromkeys(heads))
    success, known = (won & scored).reshape(-1, size), scored.reshape(-1, size)
    if known.all() and len(tasks) == len(heads):
        sampler.record(tasks, success)
        return 0
    place = {task: at for at, task in enumerate(tasks)}
    groups = np.array([place[head] for head in heads])

    def pooled(table: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(groups, weights=table.sum(axis=1), minlength=len(tasks)).astype(np.int64)

    s, n = pooled(success), pooled(known)
    if isinstance(sampler, RefSampler) and (first := sampler.ref_rollouts(size)):
        ref_s, ref_n = pooled(success[:, :first]), pooled(known[:, :first])
        kept = np.flatnonzero(ref_n)
        if kept.size:
            sampler.update(
                [tasks[at] for at in kept],
                s[kept],
                n[kept],
                ref_successes=ref_s[kept],
                ref_n=ref_n[kept],
            )
    else:
        kept = np.flatnonzero(n)
        if kept.size:
            sampler.update([tasks[at] for at in kept], s[kept], n[kept])
    return len(tasks) - int(kept.size)


def _heads(ids: Sequence[Any], size: int) -> list[Any]:
    if len(ids) % size:
        raise BadArgument(f"Expected whole groups of {size} rows, got {len(ids)} rows.")
    heads = list(ids[::size])
    for at, task in enumerate(ids):
        if task != heads[at // size]:
            raise BadArgument(
                f"Expected rows {at - at % size} to {at - at % size + size - 1} to be one group, "
                f"got tasks {heads[at // size]!r} and {task!r}."
            )
    return heads
