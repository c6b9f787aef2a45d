"""Beta and uniform draws that hang on (seed, task, visit) alone.

The counter is (task, visit, number of the draw): neither the order of the tasks, nor the batch
that they come in, nor the number of processes changes a draw.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agentenvs.harness.ptgs.philox import philox

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
        logs = _log_gammas(shapes, _counters(tasks[part], visits[part]), seed)
        # Beyond 709 the ratio is 0 in double precision, which is what this gives.
        out[part] = 1 / (1 + np.exp(np.minimum(logs[1] - logs[0], 709.0)))
    return out


def uniform(
    tasks: NDArray[np.uint64], visits: NDArray[np.uint64], seed: int
) -> NDArray[np.float64]:
    """Return one draw from (0, 1) for each task, independent of its Beta draw, (m,)."""
    words = philox(_numbered(_counters(tasks, visits), _UNIFORM), seed)
    return _fine(words[0], words[1])


def _log_gammas(
    shapes: NDArray[np.float64], counters: NDArray[np.uint64], seed: int
) -> NDArray[np.float64]:
    """Return logarithms of two gamma draws a task, (2, m)."""
    small = shapes < 1
    # A draw of shape a is one of shape a + 1, times U ** (1 / a).
    d = shapes + small - 1 / 3
    logs = _tries(d, _numbered(counters, 0), seed)
    tried = 1
    while (missing := np.isnan(logs)).any():
        late = np.flatnonzero(missing.any(axis=0))
        # A few tries at once cost a short array nothing; which one is taken stays the same.
        more = max(1, min(4, 512 // late.size))
        numbers = np.tile(np.arange(tried, tried + more, dtype=np.uint64), late.size)
        again = _numbered(np.repeat(counters[:, late], more, axis=1), numbers)
        found = _tries(np.repeat(d[:, late], more, axis=1), again, seed)
        found = found.reshape(2, late.size, more)
        taken = np.argmin(np.isnan(found), axis=2)[:, :, None]
        first = np.take_along_axis(found, taken, axis=2)[:, :, 0]
        logs[:, late] = np.where(missing[:, late], first, logs[:, late])
        tried += more
    boosted = np.flatnonzero(small.any(axis=0))
    if boosted.size:
        words = philox(_numbered(counters[:, boosted], _BOOST), seed)
        fine = np.stack((_fine(words[0], words[1]), _fine(words[2], words[3])))
        # A draw of a shape near 0 is 0 itself, whose logarithm is -inf.
        with np.errstate(over="ignore"):
            logs[:, boosted] += np.where(small[:, boosted], np.log(fine) / shapes[:, boosted], 0.0)
    return logs


def _tries(d: NDArray[np.float64], counters: NDArray[np.uint64], seed: int) -> NDArray[np.float64]:
    """Return logarithms of gamma draws of shape d + 1/3, NaN where a try is turned down, (2, m)."""
    words = _coarse(philox(counters, seed))
    radius, angle = np.sqrt(-2 * np.log(words[0])), (2 * np.pi) * words[1]
    normal = np.stack((radius * np.cos(angle), radius * np.sin(angle)))
    root = 1 + normal / np.sqrt(9 * d)
    log_v = 3 * np.log(np.maximum(root, 1e-300))
    bound = 0.5 * normal * normal + d * (1 - root * root * root + log_v)
    good = (root > 0) & (np.log(words[2:]) < bound)
    return np.where(good, np.log(d) + log_v, np.nan)


def _counters(tasks: NDArray[np.uint64], visits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return counters, (4, m), whose last word is still 0."""
    low, high = tasks & np.uint64(0xFFFFFFFF), tasks >> np.uint64(32)
    return np.stack((low, high, visits, np.zeros_like(tasks)))


def _numbered(counters: NDArray[np.uint64], number: int | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the counters of the draws of that number, (4, m)."""
    counters = counters.copy()
    counters[3] = number
    return counters


def _coarse(word: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return 32 random bits as a number in (0, 1)."""
    return (word.astype(np.float64) + 0.5) * 2.0**-32


def _fine(high: NDArray[np.uint64], low: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return 52 random bits of two words as a number in (0, 1)."""
    bits = (high << np.uint64(20)) | (low >> np.uint64(12))
    return (bits.astype(np.float64) + 0.5) * 2.0**-52
