"""Groups that are told to a sampler: checked, and as rows of its log."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._checks import group_counts, part_of
from agentenvs.harness.ptgs.events import Events
from agentenvs.harness.ptgs.memory import Memory, Told
from agentenvs.harness.ptgs.slots import Read

__all__ = ["event_rows", "told_groups"]


def told_groups(
    memory: Memory,
    read: Read,
    slots: NDArray[np.int64],
    step: int,
    counts: tuple[ArrayLike, ArrayLike],
    ref_counts: tuple[ArrayLike | None, ArrayLike | None],
) -> Told:
    """Return the counts of groups that are told with `step`.

    Args:
        memory: what is told of them.
        read: the tasks.
        slots: where they lie, -1 for those that are new.
        step: when.
        counts: successes and rollouts of each group.
        ref_counts: the same of its rollouts at T_ref, with `ref_share` alone.

    Raises:
        BadArgument: a task twice, counts that make no sense, counts at T_ref missing or
            unasked for, or a temperature that was given for a later step.
    """
    read.once()
    every = group_counts(len(read), *counts)
    drawn = memory.table.column("drawn", slots)
    if (drawn > step).any():
        at = int(np.argmax(drawn > step))
        raise BadArgument(
            f"Expected the step for which {read.name(at)!r} got its temperature, "
            f"{int(drawn[at])}, or a later one, got {step}: give `temperatures` the same step."
        )
    hits, rolls = ref_counts
    if not memory.settings.ref_share:
        if hits is not None or rolls is not None:
            raise BadArgument("Expected no `ref_successes` and `ref_n` without `ref_share`.")
        return Told(every, every)
    if hits is None or rolls is None:
        raise BadArgument(
            "Expected `ref_successes` and `ref_n` with `ref_share`: rollouts at t_ref alone feed "
            "the posterior. `record` splits them off."
        )
    return Told(every, part_of(every, hits, rolls))


def event_rows(
    memory: Memory, read: Read, slots: NDArray[np.int64], step: int, told: Told
) -> Events:
    """Return groups as rows of the log, before `memory` learns from them."""
    rows = memory.table.rows(slots)
    share, none = bool(memory.settings.ref_share), np.zeros(len(read), dtype=np.int64)
    return Events(
        task=read.names(),
        step=np.full(len(read), step, dtype=np.int64),
        drawn=np.where(np.isnan(rows.held), step, rows.drawn),
        visit=rows.visits,
        temperature=rows.held,
        n=told.all.n,
        s=told.all.s,
        ref_n=told.ref.n if share else none,
        ref_s=told.ref.s if share else none,
    )
