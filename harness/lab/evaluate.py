"""How often a model succeeds at tasks, from many rollouts of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.model import TinyLM
from agentenvs.harness.lab.rollouts import sample
from agentenvs.harness.lab.world import TensorWorld
from agentenvs.harness.seeds import derive

__all__ = ["evaluate"]


def evaluate(
    model: TinyLM,
    world: TensorWorld,
    tasks: Sequence[int] | ArrayLike,
    n: int,
    temperature: float = 1.0,
    seed: int = 0,
) -> NDArray[np.bool_]:
    """Return the outcomes of `n` rollouts of each task, (T, n).

    Args:
        model: who acts.
        world: the rules.
        tasks: (T,) task indices.
        n: rollouts a task.
        temperature: of every rollout, above 0.
        seed: of the draws.

    Raises:
        BadArgument: an argument out of range.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise BadArgument(f"Expected `n` to be an int of at least 1, got {n!r}.")
    wanted = torch.from_numpy(np.array(tasks, dtype=np.int64, ndmin=1))
    world.check_tasks(wanted)
    rows = wanted.repeat_interleave(n)
    generator = torch.Generator().manual_seed(derive(seed, "evaluate"))
    played = sample(model, world, rows, torch.full((len(rows),), float(temperature)), generator)
    success: NDArray[np.bool_] = played.success.numpy().reshape(len(wanted), n)
    return success
