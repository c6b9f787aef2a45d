"""Play a log back: the same draws and the same counts, in the same order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs._checks import Groups, group_counts, part_of
from agentenvs.harness.ptgs.events import Events
from agentenvs.harness.ptgs.memory import Memory, Told
from agentenvs.harness.ptgs.slots import Found

__all__ = ["replay"]

# Other processors round the last digit of a logarithm in other ways.
_CLOSE = 1e-6


def replay(memory: Memory, events: Events, share: bool, check: bool) -> None:
    """Take in logged groups.

    A step's groups are told in waves, so that a task that came twice in it comes twice. A
    temperature that was drawn some steps before its group was told is drawn at that step.

    Args:
        memory: what learns.
        events: the log.
        share: whether a part of each group was played at T_ref.
        check: compare temperatures and visits with what `memory` gives.

    Raises:
        BadArgument: a row that does not fit; names it.
    """
    if not len(events):
        return
    _check_steps(memory, events)
    found = memory.slots.find(memory.slots.read(list(events.task)), add=True)
    told = _told(events, share)
    wave = _waves(found.slots, events)
    given = ~np.isnan(events.temperature)
    for step in np.union1d(events.step, events.drawn[given]).tolist():
        now, drawn = events.step == step, given & (events.drawn == step)
        for turn in range(int(wave[now].max(initial=-1)) + 1):
            rows = np.flatnonzero(now & (wave == turn))
            _match_visits(memory, found.slots, events, rows, check)
            _draw(memory, found.slots, found.hashes, events, rows[drawn[rows]], check)
            memory.table.held[found.slots[rows]] = events.temperature[rows]
            part = Told(*(Groups(g.s[rows], g.n[rows]) for g in told))
            memory.fold(found.slots[rows], step, part)
        later = np.flatnonzero(drawn & ~now)
        _draw(memory, found.slots, found.hashes, events, later, check)


def _check_steps(memory: Memory, events: Events) -> None:
    wrong = events.step < max(memory.step, 1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise BadArgument(
            f"Expected steps from {max(memory.step, 1)} on, got {int(events.step[at])} in "
            f"{_name(events, at)}."
        )
    wrong = events.drawn > events.step
    if wrong.any():
        at = int(np.argmax(wrong))
        raise BadArgument(
            f"Expected a temperature to be drawn before it is told, got drawn = "
            f"{int(events.drawn[at])} in {_name(events, at)}."
        )


def _told(events: Events, share: bool) -> Told:
    size = len(events)
    whole = group_counts(size, events.s, events.n, ("s", "n"))
    if not share:
        if (events.ref_n > 0).any():
            at = int(np.argmax(events.ref_n > 0))
            raise BadArgument(f"Expected `ref_n` of 0 without `ref_share` in {_name(events, at)}.")
        return Told(whole, whole)
    return Told(whole, part_of(whole, events.ref_s, events.ref_n, ("ref_s", "ref_n")))


def _waves(slots: NDArray[np.int64], events: Events) -> NDArray[np.int64]:
    """Return for each row how often its task came in the same step before, by visit."""
    order = np.lexsort((events.visit, events.step, slots))
    task, step, visit = slots[order], events.step[order], events.visit[order]
    again = np.zeros(len(order), dtype=bool)
    again[1:] = (task[1:] == task[:-1]) & (step[1:] == step[:-1])
    same = again.copy()
    same[1:] &= visit[1:] == visit[:-1]
    if same.any():
        raise BadArgument(
            f"Expected each group once, got {_name(events, int(order[int(np.argmax(same))]))} "
            "twice: `Events.merge` pools what several workers played of a group."
        )
    place = np.arange(len(order))
    wave = np.empty(len(order), dtype=np.int64)
    wave[order] = place - np.maximum.accumulate(np.where(again, 0, place))
    return wave


def _draw(
    memory: Memory,
    slots: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    events: Events,
    rows: NDArray[np.intp],
    check: bool,
) -> None:
    if not rows.size:
        return
    ours = memory.draw(Found(slots[rows], hashes[rows]), int(events.drawn[rows[0]]))
    theirs = events.temperature[rows]
    wrong = np.abs(ours - theirs) > _CLOSE * ours
    if check and wrong.any():
        at = int(np.argmax(wrong))
        raise BadArgument(
            f"Expected temperature {ours[at]:.7g} in {_name(events, int(rows[at]))}, got "
            f"{theirs[at]:.7g}: the log is of other settings, or rows are missing."
        )


def _match_visits(
    memory: Memory,
    slots: NDArray[np.int64],
    events: Events,
    rows: NDArray[np.intp],
    check: bool,
) -> None:
    ours = memory.table.rows(slots[rows]).visits
    wrong = ours != events.visit[rows]
    if check and wrong.any():
        at = int(np.argmax(wrong))
        raise BadArgument(
            f"Expected visit {int(ours[at])} in {_name(events, int(rows[at]))}, got "
            f"{int(events.visit[rows[at]])}: rows before it are missing."
        )


def _name(events: Events, at: int) -> str:
    return f"row {at} (task {events.task[at]!r}, step {int(events.step[at])})"
