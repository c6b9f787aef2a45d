"""Seeds that depend on what they are for and never on when they are drawn."""

from __future__ import annotations

import hashlib

__all__ = ["derive", "nth"]

_MASK = 2**64 - 1


def derive(seed: int, *parts: str | int) -> int:
    """Return a seed in [0, 2**63) for one purpose.

    The same arguments give the same seed on every machine and in every order of work.

    Args:
        seed: the run's seed.
        parts: what the seed is for: a task id and a rollout index, say.
    """
    text = "\0".join([str(int(seed)), *(f"{type(p).__name__[0]}{p}" for p in parts)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


def nth(seed: int, index: int) -> int:
    """Return the `index`-th of a stream of seeds in [0, 2**63), at a quarter of `derive`'s cost.

    Args:
        seed: the stream; one that `derive` gave.
        index: from 0.

    Source: SplitMix64 (Steele, Lea and Flood, 2014).
    """
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return (z ^ (z >> 31)) >> 1
