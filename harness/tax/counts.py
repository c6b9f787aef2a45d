"""Successes and rollouts of each task: what every measure here starts from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Counts"]


class Counts(NamedTuple):
    """What came out of a policy's rollouts, task by task.

    Attributes:
        task_ids: T names, all different.
        c: (T,) successes, integers, 0 <= c <= n.
        n: (T,) rollouts, integers.
    """

    task_ids: Sequence[str]
    c: NDArray[np.int64]
    n: NDArray[np.int64]
