"""Random numbers from a key and a counter, with nothing to advance: Philox4x32-10.

Whoever asks for the same counter gets the same numbers, in any order and in any process.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["philox"]

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_FACTORS = np.array([[0xD2511F53], [0xCD9E8D57]], dtype=np.uint64)
_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10


def philox(counter: NDArray[np.uint64], key: int) -> NDArray[np.uint64]:
    """Return four random words of 32 bits for each counter, (4, m), held in 64.

    Args:
        counter: four words each, below 2**32, (4, m).
        key: 0 to 2**64 - 1.

    Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
    """
    even, odd = counter[0::2].copy(), counter[1::2].copy()
    product = np.empty_like(even)
    keys = _round_keys(key)
    for at in range(_ROUNDS):
        np.multiply(even, _FACTORS, out=product)
        # The halves of each product change places: word 0 comes of word 2 and the other way.
        np.right_shift(product[::-1], _SHIFT, out=even)
        even ^= odd
        even ^= keys[at]
        np.bitwise_and(product[::-1], _LOW, out=odd)
    words = np.empty_like(counter)
    words[0::2], words[1::2] = even, odd
    return words


def _round_keys(key: int) -> NDArray[np.uint64]:
    """Return the two words that each round mixes in, (rounds, 2, 1)."""
    words = [
        [(word + at * step) & 0xFFFFFFFF for word, step in zip(_halves(key), _STEPS, strict=True)]
        for at in range(_ROUNDS)
    ]
    return np.array(words, dtype=np.uint64)[:, :, None]


def _halves(key: int) -> tuple[int, int]:
    return key & 0xFFFFFFFF, key >> 32
