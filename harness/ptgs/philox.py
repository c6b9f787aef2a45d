"""Random numbers from a key and a counter, with nothing to advance: Philox4x32-10.

Whoever asks for the same counter gets the same numbers, in any order and in any process.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Words", "philox"]

Words = tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]
"""Four words of 32 bits for each counter, held in 64."""

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10


def philox(counter: Words, key: int) -> Words:
    """Return four words for each counter.

    Args:
        counter: four arrays of one shape, uint64 below 2**32.
        key: 0 to 2**64 - 1.

    Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
    """
    c0, c1, c2, c3 = counter
    low, high = key & 0xFFFFFFFF, key >> 32
    for _ in range(_ROUNDS):
        first, second = c0 * _FACTORS[0], c2 * _FACTORS[1]
        c0 = second >> _SHIFT
        c0 ^= c1
        c0 ^= np.uint64(low)
        c2 = first >> _SHIFT
        c2 ^= c3
        c2 ^= np.uint64(high)
        second &= _LOW
        first &= _LOW
        c1, c3 = second, first
        low, high = (low + _STEPS[0]) & 0xFFFFFFFF, (high + _STEPS[1]) & 0xFFFFFFFF
    return c0, c1, c2, c3
