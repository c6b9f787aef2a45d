"""Do one-token draws follow softmax(z / T), row by row?

Tokens are ordered by chance, and each draw becomes a number u in (0, 1): the chance of all likelier
tokens, plus a random share of its own. Under softmax(z / T) these u are uniform, whatever the
prompts, so that the number of draws with u below m is binomial: exact bounds, for any vocabulary.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from agentenvs.harness.ptgs.selftest.diagnosis import why_drawn
from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.outcome import Found, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.planning import MARKS, MISS, Plan, bounds, starts
from agentenvs.harness.ptgs.selftest.probe import Probe

__all__ = ["samples"]

#: rows of a batch
_ROWS = 256


def samples(trainer: Guarded, probe: Probe, sizes: Plan) -> Found:
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
    rows, heat = _rows(probe, sizes.draws)
    drawn = _drawn(trainer, probe, rows, heat)
    rng = np.random.default_rng(probe.seed + 4)
    worst, odd = 0.0, ""
    for t in (probe.low, probe.high):
        here = (heat == np.float32(t)).nonzero()[0]
        u = _places(probe.z, t, rows[here], drawn[here], rng.random(len(here)))
        expected = bounds(probe, t, len(here))
        for at, (low, high) in zip(MARKS, expected, strict=True):
            count = int((u <= at).sum())
            width = math.sqrt(len(here) * at * (1 - at))
            off = (count - len(here) * at) / width
            if not low <= count <= high and abs(off) > abs(worst):
                worst = off
                odd = (
                    f"at T = {t:.3g}, {count} of {len(here)} draws fell among the likeliest "
                    f"tokens that hold {at:.3g} of the chances, expected {low} to {high}"
                )
    told = {"draws": float(2 * sizes.draws), "miss": sizes.miss, "deviation": worst}
    if odd:
        raise Wrong(f"{why_drawn(probe, rows, heat, drawn, _ROWS)} ({odd})", told)
    blind = "" if sizes.cut < MISS else "; a top-p of 0.95 would not have shown"
    return Found(
        f"{2 * sizes.draws} one-token draws at T = {probe.low:.3g} and {probe.high:.3g}, mixed in "
        f"one batch, follow softmax(z / T){blind}",
        told,
    )


def _rows(probe: Probe, draws: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return which prompt each row has and its temperature, in no order."""
    rows = np.arange(2 * draws) % len(probe.prompts)
    heat = np.where(np.arange(2 * draws) < draws, probe.low, probe.high).astype(np.float32)
    order = np.random.default_rng(probe.seed + 3).permutation(2 * draws)
    return rows[order], heat[order]


def _drawn(
    trainer: Guarded, probe: Probe, rows: NDArray[np.int64], heat: NDArray[np.float32]
) -> NDArray[np.int64]:
    parts = []
    for start in range(0, len(rows), _ROWS):
        take = slice(start, start + _ROWS)
        got = trainer.sample(
            probe.prompts[torch.from_numpy(rows[take])], torch.from_numpy(heat[take]), 1
        )
        parts.append(got[:, 0].numpy().astype(np.int64))
    drawn = np.concatenate(parts)
    if drawn.min() < 0 or drawn.max() >= trainer.vocabulary:
        raise Wrong(f"`sample` gave ids from {drawn.min()} to {drawn.max()}")
    return drawn


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
