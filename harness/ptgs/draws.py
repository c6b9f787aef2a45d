"""Beta and uniform draws that hang on (seed, task, visit) alone.

The counter is (task, visit, number of the draw): neither the order of the tasks, nor the batch
that they come in, nor the number of processes changes a draw.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.ptgs.philox import Words, philox

__all__ = ["beta", "uniform"]

# Numbers of draws: the tries of the gamma sampler count from 0.
_BOOST = 1 << 31
_UNIFORM = 1 << 30
# Arrays of a block fit in the cache.
_BLOCK = 1 << 13


def beta(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    tasks: NDArray[np.uint64],
    visits: NDArray[np.uint64],
    seed: int,
) -> NDArray[np.float64]:
    """Return one draw from each Beta(a, b), (m,).

    Two gamma draws, kept as logarithms, so that shapes of 0.01 do not underflow to 0 / 0.

    Args:
        a: first shapes, above 0, (m,).
        b: second shapes, above 0, (m,).
        tasks: what tells the tasks apart, 64 bits each, (m,).
        visits: how often each was visited before, (m,), below 2**32.
        seed: 0 to 2**64 - 1.

    Source: Marsaglia and Tsang, A simple method for generating gamma variables (2000).
    """
    out = np.empty(len(a), dtype=np.float64)
    for start in range(0, len(a), _BLOCK):
        part = slice(start, start + _BLOCK)
        shapes = np.stack((a[part], b[part]))
        logs = _log_gammas(shapes, tasks[part], visits[part], seed)
        # Beyond 709 the ratio is 0 in double precision, which is what this gives.
        out[part] = 1 / (1 + np.exp(np.minimum(logs[1] - logs[0], 709.0)))
    return out


def uniform(
    tasks: NDArray[np.uint64], visits: NDArray[np.uint64], seed: int
) -> NDArray[np.float64]:
    """Return one draw from (0, 1) for each task, independent of its Beta draw, (m,)."""
    words = _words(tasks, visits, _UNIFORM, seed)
    return _fine(words[0], words[1])


def _log_gammas(
    shapes: NDArray[np.float64],
    tasks: NDArray[np.uint64],
    visits: NDArray[np.uint64],
    seed: int,
) -> NDArray[np.float64]:
    """Return logarithms of two gamma draws a task, (2, m)."""
    small = shapes < 1
    # A draw of shape a is one of shape a + 1, times U ** (1 / a).
    d = shapes + small - 1 / 3
    out = np.empty_like(shapes)
    open_: NDArray[np.intp] = np.arange(shapes.shape[1])
    missing = np.ones(shapes.shape, dtype=bool)
    tries = 0
    while open_.size:
        words = _words(tasks[open_], visits[open_], tries, seed)
        radius = np.sqrt(-2 * np.log(_coarse(words[0])))
        angle = (2 * np.pi) * _coarse(words[1])
        normal = np.stack((radius * np.cos(angle), radius * np.sin(angle)))
        chance = np.stack((_coarse(words[2]), _coarse(words[3])))
        scale = d[:, open_]
        root = 1 + normal / np.sqrt(9 * scale)
        log_v = 3 * np.log(np.maximum(root, 1e-300))
        bound = 0.5 * normal**2 + scale * (1 - root * root * root + log_v)
        good = (root > 0) & (np.log(chance) < bound) & missing[:, open_]
        rows, columns = np.nonzero(good)
        out[rows, open_[columns]] = (np.log(scale) + log_v)[good]
        missing[rows, open_[columns]] = False
        open_ = open_[missing[:, open_].any(axis=0)]
        tries += 1
    boosted = np.flatnonzero(small.any(axis=0))
    if boosted.size:
        words = _words(tasks[boosted], visits[boosted], _BOOST, seed)
        fine = np.stack((_fine(words[0], words[1]), _fine(words[2], words[3])))
        out[:, boosted] += np.where(small[:, boosted], np.log(fine) / shapes[:, boosted], 0.0)
    return out


def _words(tasks: NDArray[np.uint64], visits: NDArray[np.uint64], number: int, seed: int) -> Words:
    low = tasks & np.uint64(0xFFFFFFFF)
    high = tasks >> np.uint64(32)
    return philox((low, high, visits, np.full_like(tasks, number)), seed)


def _coarse(word: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return 32 random bits as a number in (0, 1)."""
    return (word.astype(np.float64) + 0.5) * 2.0**-32


def _fine(high: NDArray[np.uint64], low: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return 52 random bits of two words as a number in (0, 1)."""
    bits = (high << np.uint64(20)) | (low >> np.uint64(12))
    return (bits.astype(np.float64) + 0.5) * 2.0**-52
