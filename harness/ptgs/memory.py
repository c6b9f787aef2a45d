"""What a sampler knows, how it draws from it, and how it learns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import draws
from agentenvs.harness.ptgs._checks import Groups
from agentenvs.harness.ptgs._ranges import shown
from agentenvs.harness.ptgs.contrast import Contrast, bin_of
from agentenvs.harness.ptgs.gate import Gate
from agentenvs.harness.ptgs.posterior import forget, shapes
from agentenvs.harness.ptgs.schedule import Ramp
from agentenvs.harness.ptgs.settings import Settings
from agentenvs.harness.ptgs.slots import MOST_SLOTS, Found, Slots
from agentenvs.harness.ptgs.table import Rows, Table
from agentenvs.harness.ptgs.tally import Tally
from agentenvs.harness.ptgs.theory import temperature

__all__ = ["Copy", "Memory", "Told"]

_KEEP = Gate().keep


class Told(NamedTuple):
    """Counts of m groups: the whole group, and of it what was played at T_ref."""

    all: Groups
    ref: Groups


class Copy(NamedTuple):
    """What `Memory.put_back` needs."""

    step: int
    slots: NDArray[np.int64]
    columns: dict[str, NDArray[Any]]
    sums: dict[str, NDArray[Any]]


class Memory:
    """Counts of tasks, temperatures that are out, and sums to watch.

    Attributes:
        settings: what it was told to do.
        step: the last step that was told, 0 before the first.
        slots, table, tally, contrast: where it all lies.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.step = 0
        self.slots, self.table, self.tally = Slots(), Table(), Tally()
        self.contrast = Contrast(settings.gate.keep if settings.gate else _KEEP)

    def posterior(self, step: int, rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the shapes of the Beta posteriors with the target of `step`, both (m,)."""
        target = self.settings.target_at(step, rows.visits)
        return shapes(rows.success, rows.failure, target)

    def draw(self, found: Found, step: int) -> NDArray[np.float64]:
        """Return the temperatures that are out, (m,), drawing those that are not yet."""
        self.table.grow(len(self.slots))
        held = self.table.held[found.slots]
        new = np.flatnonzero(np.isnan(held))
        if new.size:
            slots = found.slots[new]
            held[new] = self._fresh(slots, found.hashes[new], step)
            self.table.held[slots] = held[new]
            self.table.drawn[slots] = step
        return held.astype(np.float64)

    def fold(self, slots: NDArray[np.int64], step: int, told: Told) -> None:
        """Learn from groups, each task once; their temperatures are no more out."""
        self.table.grow(len(self.slots))
        settings, table = self.settings, self.table
        rows = table.rows(slots)
        feed = told.ref if settings.ref_share else told.all
        a, b = self.posterior(step, rows)
        estimate = a / (a + b)
        alike = (told.all.s == 0) | (told.all.s == told.all.n)
        known = np.where(rows.visits > 0, estimate, np.nan)
        self.tally.add(step, rows.held, settings.rails, alike, known, feed.s / feed.n)
        if settings.ref_share:
            rest = told.all.n - told.ref.n
            tempered = ~np.isnan(rows.held) & (rest > 0)
            gap = (told.all.s - told.ref.s) / np.maximum(rest, 1) - told.ref.s / told.ref.n
            warmth = rows.held - settings.rails[1]
            self.contrast.add(step, estimate[tempered], warmth[tempered], gap[tempered])
        table.success[slots] = forget(rows.success, settings.gamma, feed.s)
        table.failure[slots] = forget(rows.failure, settings.gamma, feed.n - feed.s)
        table.visits[slots] += np.uint32(1)
        table.held[slots] = np.nan
        table.drawn[slots] = 0
        self.step = step

    def copy_of(self, slots: NDArray[np.int64]) -> Copy:
        """Return what is known, and of tasks what is known of some, for `put_back`."""
        self.table.grow(len(self.slots))
        sums = self.tally.arrays() | self.contrast.arrays()
        return Copy(self.step, slots, self.table.take(slots), sums)

    def put_back(self, copy: Copy) -> None:
        """Forget what was learned since `copy`, of the tasks that it has."""
        self.table.put(copy.slots, copy.columns)
        self.tally.load(copy.sums)
        self.contrast.load(copy.sums)
        self.step = copy.step

    def stats(self) -> dict[str, float]:
        """Return what there is to watch; see `PTGS.stats`."""
        settings, coming = self.settings, self.step + 1
        told = self.tally.stats()
        if not (isinstance(settings.target, Ramp) and settings.target.by == "visits"):
            told["target"] = float(settings.target_at(coming, np.zeros(1, dtype=np.int64))[0])
        if settings.ref_share:
            told |= self.contrast.means(coming)
        if settings.gate is not None:
            told["gate_off"] = float(settings.gate.off(self.contrast.heated(coming)).mean())
        return told

    def dump(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return copies of what is known: a header ready for JSON, and arrays.

        Strings are in order, so that whoever knows the same has the same state, however the
        tasks came.
        """
        size, ids = len(self.slots), self.slots.ids
        order = np.arange(size)
        if self.slots.kind == "str":
            order = np.array(sorted(range(size), key=ids.__getitem__), dtype=np.int64)
            ids = sorted(ids)
        header = {"step": self.step, "kind": self.slots.kind, "size": size, "ids": ids}
        self.table.grow(size)
        return header, self.table.take(order) | self.tally.arrays() | self.contrast.arrays()

    def load(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Take over what `dump` gave.

        Raises:
            BadArgument: they do not fit together.
        """
        step, kind, size, ids = (header.get(name) for name in ("step", "kind", "size", "ids"))
        if (
            (type(step) is not int or not 0 <= step < 2**32)
            or (type(size) is not int or not 0 <= size <= MOST_SLOTS)
            or (kind not in ("str", "int") and not (kind is None and size == 0))
        ):
            raise BadArgument(
                f"Expected a step, a kind and a size in the header, got {shown(step)}, "
                f"{shown(kind)} and {shown(size)}."
            )
        wanted = size if kind == "str" else 0
        if (
            not isinstance(ids, list)
            or not all(isinstance(one, str) for one in ids)
            or not len(ids) == len(set(ids)) == wanted
        ):
            raise BadArgument(f"Expected {wanted} different task ids in the header.")
        self.table.load(arrays, size)
        cold, _, hot = self.settings.rails
        held = self.table.held
        wrong = (held < cold * (1 - 1e-6)) | (held > hot * (1 + 1e-6))
        if wrong.any():
            raise BadArgument(
                f"Expected `held` of the state to hold temperatures of {cold:g} to {hot:g}, "
                f"got {held[wrong][0]}."
            )
        self.tally.load(arrays)
        self.contrast.load(arrays)
        self.slots = Slots()
        self.slots.restore(kind, size, ids)
        self.step = step

    def _fresh(
        self, slots: NDArray[np.int64], hashes: NDArray[np.uint64], step: int
    ) -> NDArray[np.float32]:
        settings, rows = self.settings, self.table.rows(slots)
        visits = rows.visits.astype(np.uint64)
        a, b = self.posterior(step, rows)
        p = draws.beta(a, b, hashes, visits, settings.seed)
        target = settings.target_at(step, rows.visits)
        drawn = temperature(p, settings.tau, target, settings.t_ref).astype(np.float32)
        middle = np.float32(settings.rails[1])
        drawn[rows.visits < settings.pilot] = middle
        if settings.gate is not None:
            off = settings.gate.off(self.contrast.heated(step))
            shut = off[bin_of(a / (a + b))] & (drawn > middle)
            if shut.any():
                chance = draws.uniform(hashes[shut], visits[shut], settings.seed)
                drawn[np.flatnonzero(shut)[chance >= settings.gate.probe]] = middle
        return drawn
