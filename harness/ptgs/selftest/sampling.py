"""Do one-token draws follow softmax(z / T), row by row?

Tokens are ordered by chance, and each draw becomes a number u in (0, 1): the chance of all likelier
tokens, plus a random share of its own. Under softmax(z / T) these u are uniform, whatever the
prompts, so that the number of draws with u below m is binomial: exact bounds, for any vocabulary.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from agentenvs.harness.ptgs.selftest.diagnosis import why_drawn
from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.outcome import Seen, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.planning import MARKS, MISS, Plan, bounds, starts
from agentenvs.harness.ptgs.selftest.probe import Probe

__all__ = ["samples"]

#: rows of a batch, and how many times the draws of the check are made to see what went wrong
_ROWS, _MORE = 256, 8


def samples(trainer: Guarded, probe: Probe, sizes: Plan) -> Seen:
    """Draw and compare.

    Raises:
        Wrong: a count that chance gives less than once in `1 / ALPHA` self-tests, or no ids.
        Undecided: the two temperatures are too much alike for this model.
    """
    if not sizes.draws:
        raise Undecided(
            f"distributions at T = {probe.low:.3g} and {probe.high:.3g} are too much alike to be "
            f"told apart by so few draws (a mistake would pass with chance {sizes.miss:.2g}): "
            "give a trainer whose model has learned something, or allow more `draws`"
        )
    drawn = _draw(trainer, probe, sizes.draws, 0)
    rng = np.random.default_rng(probe.seed + 4)
    worst, odd = 0.0, ""
    for t in (probe.low, probe.high):
        here = drawn.temperatures == np.float32(t)
        u = _places(probe.z, t, drawn.rows[here], drawn.ids[here], rng.random(here.sum()))
        for at, (low, high) in zip(MARKS, bounds(probe, t, len(u)), strict=True):
            count = int((u <= at).sum())
            off = (count - len(u) * at) / math.sqrt(len(u) * at * (1 - at))
            if not low <= count <= high and (not odd or abs(off) > abs(worst)):
                odd = (
                    f"at T = {t:.3g}, {count} of {len(u)} draws fell among the likeliest tokens "
                    f"that hold {at:.3g} of the chances, expected {low} to {high}"
                )
            worst = off if abs(off) > abs(worst) else worst
    told = {"draws": float(2 * sizes.draws), "miss": sizes.miss, "deviation": worst}
    if odd:
        # What went wrong takes more draws to see than that something did.
        more = _draw(trainer, probe, _MORE * sizes.draws, 1)
        why = why_drawn(probe, more.rows, more.temperatures, more.ids, _ROWS)
        raise Wrong(f"{why} ({odd})", told)
    blind = "" if sizes.cut < MISS else "; a top-p of 0.95 would not have shown"
    return Seen(
        f"{2 * sizes.draws} one-token draws at T = {probe.low:.3g} and {probe.high:.3g}, mixed in "
        f"one batch, follow softmax(z / T){blind}",
        told,
    )


class _Drawn(NamedTuple):
    """N rows: which prompt, at which temperature, and the token that was drawn."""

    rows: NDArray[np.int64]
    temperatures: NDArray[np.float32]
    ids: NDArray[np.int64]


def _draw(trainer: Guarded, probe: Probe, draws: int, part: int) -> _Drawn:
    """Draw as often at each of the two temperatures, rows in no order."""
    order = np.random.default_rng((probe.seed, 3, part)).permutation(2 * draws)
    rows = order % len(probe.prompts)
    temperatures = np.where(order < draws, probe.low, probe.high).astype(np.float32)
    parts = [
        trainer.sample(
            probe.prompts[torch.from_numpy(rows[start : start + _ROWS])],
            torch.from_numpy(temperatures[start : start + _ROWS]),
            1,
        )
        for start in range(0, len(rows), _ROWS)
    ]
    ids = torch.cat(parts)[:, 0].numpy().astype(np.int64)
    if ids.min() < 0 or ids.max() >= trainer.vocabulary:
        raise Wrong(f"`sample` gave ids from {ids.min()} to {ids.max()}")
    return _Drawn(rows, temperatures, ids)


def _places(
    z: Any,
    t: float,
    rows: NDArray[np.int64],
    drawn: NDArray[np.int64],
    share: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the u of each draw."""
    below, chances = starts(z, t)
    return np.asarray(below[rows, drawn] + share * chances[rows, drawn], dtype=np.float64)
