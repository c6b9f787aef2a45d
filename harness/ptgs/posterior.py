"""What is known of a task: discounted counts, and the Beta posterior over its success."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PRIOR_MASS", "forget", "shapes"]

PRIOR_MASS = 2.0
"""How many rollouts the prior is worth."""


def shapes(
    success: NDArray[np.float64], failure: NDArray[np.float64], target: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shapes (a, b) of the Beta posterior; its prior has mean `target`, mass 2."""
    prior = PRIOR_MASS * np.asarray(target, dtype=np.float64)
    return prior + success, PRIOR_MASS - prior + failure


def forget(old: NDArray[np.float64], gamma: float, new: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return discounted counts after a group: gamma * old + new."""
    return (gamma * old + new).astype(np.float32)
