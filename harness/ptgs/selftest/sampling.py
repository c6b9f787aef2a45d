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

from agentenvs.harness.ptgs.selftest.binomial import accepted, chance_within
from agentenvs.harness.ptgs.selftest.diagnosis import why_drawn
from agentenvs.harness.ptgs.selftest.explanations import nucleus, right
from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.outcome import Found, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.probe import Probe

__all__ = ["ALPHA", "MISS", "Plan", "plan", "samples"]

#: the chance that a right trainer fails, and that a wrong one of those planned for passes
ALPHA, MISS = 1e-7, 1e-4
_AT = (
    0.002,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    0.95,
    0.98,
    0.99,
    0.998,
)
_SIZES = tuple(1 << k for k in range(8, 17))
_ROWS = 256


class Plan(NamedTuple):
    """How many draws there are to be at each of the two temperatures.

    Attributes:
        draws: at each temperature; 0 where even the most would not do.
        miss: the largest chance, over the mistakes planned for, that one passes.
        cut: the chance that draws from the likeliest tokens alone, 95 % of the mass, pass.
    """

    draws: int
    miss: float
    cut: float


class _Law(NamedTuple):
    """Chances below each mark, as they are at T and as mistakes make them, (marks,) each."""

    slack: float
    mistakes: dict[str, NDArray[np.float64]]
    cut: NDArray[np.float64]


def plan(probe: Probe, most: int) -> Plan:
    """Return how many draws tell mistakes from chance, at most `most` at each temperature.

    Planned for: T = 1 for all, the mean T for all, one T for all, and T that do not go with
    their rows.
    """
    laws = [_law(probe, t) for t in (probe.low, probe.high)]
    found = Plan(0, 1.0, 1.0)
    for draws in (size for size in _SIZES if size <= most):
        ranges = [_ranges(draws, law.slack) for law in laws]
        miss = max(
            math.prod(
                _missed(draws, law.mistakes[name], bounds)
                for law, bounds in zip(laws, ranges, strict=True)
            )
            for name in laws[0].mistakes
        )
        cut = math.prod(
            _missed(draws, law.cut, bounds) for law, bounds in zip(laws, ranges, strict=True)
        )
        found = Plan(draws if miss < MISS else 0, miss, cut)
        if found.draws:
            break
    return found


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
        bounds = _ranges(len(here), _slack(probe, t))
        for at, (low, high) in zip(_AT, bounds, strict=True):
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
    starts, chances = _starts(z, t)
    return np.asarray(starts[rows, drawn] + share * chances[rows, drawn], dtype=np.float64)


def _starts(z: Any, t: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the chance of all likelier tokens, and of the token itself, both (M, V)."""
    logs = right(z, torch.full((len(z),), t, dtype=z.dtype))
    values, order = logs.exp().sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(-1) - values
    starts = torch.zeros_like(before).scatter(-1, order, before)
    chances = torch.zeros_like(before).scatter(-1, order, values)
    return starts.numpy(), chances.numpy()


def _slack(probe: Probe, t: float) -> float:
    """Return how far the chance of any set of tokens may move by rounding of the logits."""
    moved = 2 * probe.precision.noise + 2 * probe.precision.eps * (1 + probe.largest)
    return math.tanh(moved / (2 * t))


def _law(probe: Probe, t: float) -> _Law:
    ones = torch.ones(len(probe.z), dtype=probe.z.dtype)
    low, high = right(probe.z, ones * probe.low).exp(), right(probe.z, ones * probe.high).exp()
    middle = (probe.low + probe.high) / 2
    wrong = {
        "T = 1": right(probe.z, ones).exp(),
        "mean T": right(probe.z, ones * middle).exp(),
        "the colder T": low,
        "the hotter T": high,
        "T of other rows": (low + high) / 2,
    }
    cut = nucleus(right(probe.z, ones * t), 0.95).exp()
    return _Law(
        _slack(probe, t),
        {name: _below(probe.z, t, law) for name, law in wrong.items()},
        _below(probe.z, t, cut),
    )


def _below(z: Any, t: float, law: Any) -> NDArray[np.float64]:
    """Return the chance of u up to each mark where tokens are drawn from `law`, (M, V)."""
    starts, chances = _starts(z, t)
    q = law.numpy()
    inside = [np.clip((at - starts) / np.maximum(chances, 1e-300), 0, 1) for at in _AT]
    return np.array([(q * part).sum(-1).mean() for part in inside])


def _ranges(draws: int, slack: float) -> list[tuple[int, int]]:
    alpha = ALPHA / (2 * len(_AT))
    return [accepted(draws, max(at - slack, 0.0), min(at + slack, 1.0), alpha) for at in _AT]


def _missed(draws: int, law: NDArray[np.float64], bounds: list[tuple[int, int]]) -> float:
    return min(chance_within(draws, float(p), bound) for p, bound in zip(law, bounds, strict=True))
