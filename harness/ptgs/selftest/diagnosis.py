"""Which mistake makes draws that do not follow softmax(z / T) likeliest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from agentenvs.harness.ptgs.selftest.explanations import nucleus, right
from agentenvs.harness.ptgs.selftest.probe import Probe

__all__ = ["why_drawn"]

_NONE = "draws do not follow softmax(z / T), and no common mistake says why"


def why_drawn(
    probe: Probe,
    rows: NDArray[np.int64],
    temperatures: NDArray[np.float32],
    drawn: NDArray[np.int64],
    batch: int,
) -> str:
    """Return the likeliest mistake in words.

    Args:
        probe: the prompts and the two temperatures.
        rows: (N,) which prompt each row has.
        temperatures: (N,) its temperature.
        drawn: (N,) the token that was drawn.
        batch: how many rows were sampled at a time.
    """
    hot = torch.from_numpy((temperatures != np.float32(probe.low)).astype(np.int64))
    first = hot[torch.arange(len(hot)) // batch * batch]
    where, tokens = torch.from_numpy(rows), torch.from_numpy(drawn)
    kinds = [
        (name, laws[at, where, tokens])
        for name, laws, at in _mistakes(probe, hot, first, (where, tokens))
    ]
    name, best = max(kinds, key=lambda kind: float(kind[1].mean()))
    near = [other for other, logs in kinds if other != name and _alike(best - logs)]
    return " or ".join([name, *(_short(other) for other in near)])


def _alike(gains: Any) -> bool:
    """Return whether chance may have made one law likelier than another."""
    if not bool(torch.isfinite(gains).all()):
        return False
    return float(gains.mean()) <= 3 * float(gains.std()) / math.sqrt(len(gains))


def _short(words: str) -> str:
    return words.removeprefix("draws are ")


def _mistakes(
    probe: Probe, hot: Any, first: Any, drawn: tuple[Any, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield words, log-probabilities (2, M, V), and which of the two each row has, (N,)."""
    kinds, ones = (probe.low, probe.high), torch.ones(len(probe.z), dtype=probe.z.dtype)

    def of(cold: float, warm: float) -> Any:
        return torch.stack([right(probe.z, ones * t) for t in (cold, warm)])

    at, mean = of(*kinds), sum(kinds) / 2
    yield _NONE, at, hot
    yield "draws are those at T = 1 for every row", of(1.0, 1.0), hot
    yield "draws are those at the mean T of the batch for every row", of(mean, mean), hot
    yield "draws are those at the first row's T for every row", at, first
    yield "draws are those at one T for every row, the colder", of(kinds[0], kinds[0]), hot
    yield "draws are those at one T for every row, the hotter", of(kinds[1], kinds[1]), hot
    either = (at[0].logaddexp(at[1]) - math.log(2)).expand_as(at)
    yield "draws are those at the T of other rows", either, hot
    low, high = kinds
    yield "draws are those at T squared: logits were divided by T twice", of(low**2, high**2), hot
    yield "draws are those at 1 / T: logits were multiplied by T", of(1 / low, 1 / high), hot
    flat = at.flatten(0, 1)
    for share in (0.8, 0.9, 0.95, 0.98):
        words = f"draws are at T, but unlikely tokens are cut off, as by a top-p of {share:g}"
        yield words, nucleus(flat, share).view_as(at), hot
    where, tokens = drawn
    ranks = probe.z.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    most = int(ranks[where, tokens].max()) + 1
    if most < probe.z.shape[1]:
        cut = at.masked_fill(ranks >= most, -torch.inf).log_softmax(-1)
        words = f"draws are at T, but unlikely tokens are cut off, as by a top-k of {most}"
        yield words, cut, hot
