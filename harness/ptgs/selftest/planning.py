"""How many draws tell a mistake from chance, and what counts are to be expected of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from agentenvs.harness.ptgs.selftest.binomial import accepted, chance_within
from agentenvs.harness.ptgs.selftest.explanations import nucleus, right
from agentenvs.harness.ptgs.selftest.probe import Probe

__all__ = ["ALPHA", "MARKS", "MISS", "Plan", "bounds", "plan", "starts"]

#: the chance that a right trainer fails, and that a wrong one of those planned for passes
ALPHA, MISS = 2e-7, 1e-4
#: chances of the likeliest tokens below which draws are counted
MARKS = (
    *(0.002, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5),
    *(0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.998),
)
_SIZES = tuple(1 << k for k in range(8, 21))


class Plan(NamedTuple):
    """How many draws there are to be at each of the two temperatures.

    Attributes:
        draws: at each temperature; 0 where even the most would not do.
        miss: the largest chance, over the mistakes planned for, that one passes.
        cut: the chance that a top-p of 0.95 passes.
    """

    draws: int
    miss: float
    cut: float


class _Law(NamedTuple):
    """The chance of a draw below each mark as mistakes make it, (marks,) each."""

    t: float
    mistakes: dict[str, NDArray[np.float64]]
    cut: NDArray[np.float64]


def plan(probe: Probe, most: int) -> Plan:
    """Return how many draws tell mistakes from chance, at most `most` at each temperature.

    Planned for: T = 1 for all, the mean T for all, one T for all, and T that do not go with
    their rows; and a top-p of 0.95, if so many draws can show it.
    """
    laws = [_law(probe, t) for t in (probe.low, probe.high)]
    found = Plan(0, 1.0, 1.0)
    for draws in (size for size in _SIZES if size <= most):
        ranges = [bounds(probe, law.t, draws) for law in laws]
        miss = max(
            _passes(draws, ranges, [law.mistakes[name] for law in laws])
            for name in laws[0].mistakes
        )
        if miss >= MISS:
            found = found if found.draws else Plan(0, miss, 1.0)
            continue
        cut = _passes(draws, ranges, [law.cut for law in laws])
        if not found.draws or cut < MISS:
            found = Plan(draws, miss, cut)
        if cut < MISS:
            break
    return found


def bounds(probe: Probe, t: float, draws: int) -> list[tuple[int, int]]:
    """Return for each mark the counts that right draws give, both ends included.

    Over all marks and both temperatures, others come with chance `ALPHA` at most, rounding of
    the logits allowed for.
    """
    moved = 2 * probe.precision.noise + 2 * probe.precision.eps * (1 + probe.largest)
    # Logits that move by at most d change the chance of any set by at most tanh(d / 2 T).
    slack = math.tanh(moved / (2 * t))
    alpha = ALPHA / (2 * len(MARKS))
    return [accepted(draws, max(at - slack, 0.0), min(at + slack, 1.0), alpha) for at in MARKS]


def starts(z: Any, t: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the chance of all likelier tokens, and of the token itself, both (M, V)."""
    logs = right(z, torch.full((len(z),), t, dtype=z.dtype))
    values, order = logs.exp().sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(-1) - values
    below = torch.zeros_like(before).scatter(-1, order, before)
    chances = torch.zeros_like(before).scatter(-1, order, values)
    return below.numpy(), chances.numpy()


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
    below, chances = starts(probe.z, t)

    def marks(law: Any) -> NDArray[np.float64]:
        inside = (np.clip((at - below) / np.maximum(chances, 1e-300), 0, 1) for at in MARKS)
        return np.array([(law.numpy() * part).sum(-1).mean() for part in inside])

    cut = nucleus(right(probe.z, ones * t), 0.95).exp()
    return _Law(t, {name: marks(law) for name, law in wrong.items()}, marks(cut))


def _passes(
    draws: int, ranges: list[list[tuple[int, int]]], laws: list[NDArray[np.float64]]
) -> float:
    """Return a bound on the chance that draws from these laws pass at both temperatures."""
    return math.prod(
        min(chance_within(draws, float(p), bound) for p, bound in zip(law, each, strict=True))
        for law, each in zip(laws, ranges, strict=True)
    )
