"""Seeds that depend on what they are for and never on when they are drawn."""

from __future__ import annotations

import hashlib

__all__ = ["derive"]


def derive(seed: int, *parts: str | int) -> int:
    """Return a seed in [0, 2**63) for one purpose.

    The same arguments give the same seed on every machine and in every order of work.

    Args:
        seed: the run's seed.
        parts: what the seed is for: a task id and a rollout index, say.
    """
    text = "\0".join([str(int(seed)), *(f"{type(p).__name__[0]}{p}" for p in parts)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1
