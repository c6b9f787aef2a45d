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


def replay(memory: Memory, events: Events, check: bool) -> None:
    """Take in logged groups.

    A step's groups are told in waves, so that a task that came twice in it comes twice. A
    temperature that was drawn some steps before its group was told is drawn at that step.

    Args:
        memory: what learns.
        events: the log.
        check: compare temperatures and visits with what `memory` gives.

    Raises:
        BadArgument: a row that does not fit; names it. Counts are as before then.
    """
    if not len(events):
        return
    _check_steps(memory, events)
    told = _told(memory, events)
    found = memory.slots.find(memory.slots.read(events.task), add=True)
    wave = _waves(found.slots, events)
    before = memory.copy_of(np.unique(found.slots))
    try:
        _Replay(memory, events, found, told, wave, check).run()
    except BadArgument:
        memory.put_back(before)
        raise


class _Replay:
    """A log on its way into a memory; `told` and `wave` go with its rows."""

    def __init__(
        self,
        memory: Memory,
        events: Events,
        found: Found,
        told: Told,
        wave: NDArray[np.int64],
        check: bool,
    ) -> None:
        self._memory, self._events, self._found = memory, events, found
        self._told, self._wave, self._check = told, wave, check
        # What a gate knew before the last step that was told is gone.
        known = events.drawn >= memory.step if memory.settings.gate else True
        self._sure = np.broadcast_to(known, wave.shape) & check

    def run(self) -> None:
        events = self._events
        given = ~np.isnan(events.temperature)
        for step in np.union1d(events.step, events.drawn[given]).tolist():
            now, drawn = events.step == step, given & (events.drawn == step)
            for turn in range(int(self._wave[now].max(initial=-1)) + 1):
                rows = np.flatnonzero(now & (self._wave == turn))
                self._tell(rows, rows[drawn[rows]], step)
            self._draw(np.flatnonzero(drawn & ~now), step)

    def _tell(self, rows: NDArray[np.intp], drawn: NDArray[np.intp], step: int) -> None:
        memory, slots = self._memory, self._found.slots[rows]
        visits = memory.table.rows(slots).visits
        wrong = visits != self._events.visit[rows]
        if self._check and wrong.any():
            at = int(np.argmax(wrong))
            raise BadArgument(
                f"Expected visit {int(visits[at])} in {_name(self._events, rows[at])}, got "
                f"{int(self._events.visit[rows[at]])}: the log does not go on where the sampler is."
            )
        self._draw(drawn, step)
        memory.table.grow(len(memory.slots))
        memory.table.held[slots] = self._events.temperature[rows]
        memory.fold(slots, step, Told(*(Groups(g.s[rows], g.n[rows]) for g in self._told)))

    def _draw(self, rows: NDArray[np.intp], step: int) -> None:
        found = Found(self._found.slots[rows], self._found.hashes[rows])
        ours, theirs = self._memory.draw(found, step), self._events.temperature[rows]
        wrong = self._sure[rows] & (np.abs(ours - theirs) > _CLOSE * ours)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise BadArgument(
                f"Expected temperature {ours[at]:.7g} in {_name(self._events, rows[at])}, got "
                f"{theirs[at]:.7g}: the log is of other settings, or rows are missing."
            )


def _check_steps(memory: Memory, events: Events) -> None:
    first = max(memory.step, 1)
    for wrong, what in (
        (events.step < first, f"`step` of at least {first}, the last one told,"),
        (events.drawn > events.step, "`drawn` no later than `step`"),
        (events.drawn < 1, "`drawn` of at least 1"),
    ):
        if wrong.any():
            at = int(np.argmax(wrong))
            got = f"step {int(events.step[at])}, drawn {int(events.drawn[at])}"
            raise BadArgument(f"Expected {what} in {_name(events, at)}, got {got}.")


def _told(memory: Memory, events: Events) -> Told:
    whole = group_counts(len(events), events.s, events.n, ("s", "n"))
    if memory.settings.ref_share:
        return Told(whole, part_of(whole, events.ref_s, events.ref_n, ("ref_s", "ref_n")))
    if (events.ref_n > 0).any():
        at = int(np.argmax(events.ref_n > 0))
        raise BadArgument(f"Expected `ref_n` of 0 without `ref_share` in {_name(events, at)}.")
    return Told(whole, whole)


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
            f"Expected each group once, got {_name(events, order[int(np.argmax(same))])} twice: "
            "`Events.merge` pools what several workers played of a group."
        )
    place = np.arange(len(order))
    wave = np.empty(len(order), dtype=np.int64)
    wave[order] = place - np.maximum.accumulate(np.where(again, 0, place))
    return wave


def _name(events: Events, at: int | np.intp) -> str:
    row = int(at)
    return f"row {row} (task {events.task[row]!r}, step {int(events.step[row])})"
