"""Dialogues to imitate: own successes, demonstrations, and batches of either."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.gather import select
from agentenvs.harness.lab.model import TinyLM
from agentenvs.harness.lab.rollouts import sample
from agentenvs.harness.lab.world import TensorWorld
from agentenvs.harness.seeds import derive
from agentenvs.toollab.demos import Demos, Quality, demonstrations
from agentenvs.toollab.design import Design

__all__ = ["Examples", "as_examples", "batches", "mixed_demonstrations", "own_successes"]


class Examples(NamedTuple):
    """Dialogues to imitate: ids (M, L) padded with 0, and which tokens are the agent's (M, L)."""

    ids: Any
    agent: Any


def own_successes(
    model: TinyLM,
    world: TensorWorld,
    tasks: ArrayLike,
    n: int,
    seed: int,
    temperature: float = 1.0,
    keep: int | None = None,
) -> tuple[Examples, float]:
    """Play each task and return the successes, without repeats, and their share of all rollouts.

    Args:
        model: the policy.
        world: the tensor world.
        tasks: task indices.
        n: rollouts of each.
        seed: of the rollouts.
        temperature: at which they are played.
        keep: most successes of a task to keep, the first ones played; None for all.

    Raises:
        BadArgument: `n` below 1.
    """
    if n < 1:
        raise BadArgument(f"Expected `n` of at least 1 rollout a task, got {n!r}.")
    generator = torch.Generator().manual_seed(derive(seed, "rollouts"))
    rows = torch.from_numpy(np.repeat(np.asarray(tasks, dtype=np.int64), n))
    with torch.no_grad():
        heat = torch.full((len(rows),), float(temperature))
        played = sample(model, world, rows, heat, generator)
    good = played.success.nonzero()[:, 0]
    seen: set[bytes] = set()
    count: dict[int, int] = {}
    chosen = []
    for row in good.tolist():
        task, text = int(played.tasks[row]), played.ids[row].numpy().tobytes()
        if text in seen or (keep is not None and count.get(task, 0) >= keep):
            continue
        seen.add(text)
        count[task] = count.get(task, 0) + 1
        chosen.append(row)
    kept = select(played, torch.tensor(chosen, dtype=torch.long))
    return Examples(kept.ids, kept.agent), len(good) / len(rows)


def mixed_demonstrations(
    design: Design, n: int, seed: int, *parts: tuple[float, Quality]
) -> Examples:
    """Return demonstrations by demonstrators of several qualities.

    Args:
        design: the world.
        n: how many in all.
        seed: of the demonstrations.
        parts: a share of `n` and a quality each; shares add up to 1.

    Raises:
        BadArgument: shares that do not.
    """
    if not math.isclose(sum(share for share, _ in parts), 1):
        raise BadArgument(f"Expected shares that add up to 1, got {[s for s, _ in parts]}.")
    rng = np.random.Generator(np.random.PCG64(derive(seed, "demonstrations")))
    ends = [round(n * sum(share for share, _ in parts[: at + 1])) for at in range(len(parts))]
    sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    pairs = zip(sizes, parts, strict=True)
    made = [as_examples(demonstrations(design, m, rng, quality)) for m, (_, quality) in pairs]
    return Examples(torch.cat([one.ids for one in made]), torch.cat([one.agent for one in made]))


def as_examples(examples: Examples | Demos) -> Examples:
    """Return dialogues as tensors: ids (M, L) int64, agent (M, L) bool."""
    ids = torch.as_tensor(examples.ids).long()
    return Examples(ids, torch.as_tensor(examples.agent))


def batches(examples: Examples, size: int, seed: int) -> Iterator[Examples]:
    """Yield batches of examples for ever, all of them before any comes again.

    Args:
        examples: what to go through.
        size: dialogues in a batch.
        seed: of the order.

    Raises:
        BadArgument: there are none.
    """
    total = len(examples.ids)
    if not total:
        raise BadArgument("Expected one or more dialogues to imitate, got none.")
    return _cycle(examples, size, torch.Generator().manual_seed(seed))


def _cycle(examples: Examples, size: int, generator: Any) -> Iterator[Examples]:
    left = torch.empty(0, dtype=torch.long)
    while True:
        while len(left) < size:
            left = torch.cat([left, torch.randperm(len(examples.ids), generator=generator)])
        rows, left = left[:size], left[size:]
        yield Examples(examples.ids[rows], examples.agent[rows])
