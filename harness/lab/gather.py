"""Rollouts for a step of training: whose turn it is, at which temperature, and what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.advantages import informative
from agentenvs.harness.lab.model import TinyLM
from agentenvs.harness.lab.rollouts import Rollouts, sample
from agentenvs.harness.lab.world import TensorWorld
from agentenvs.toollab.design import Ints

__all__ = ["Gathered", "Heats", "Pool", "chunks", "gather", "join", "select"]


class Pool:
    """A finite pool of tasks, cycled in an order drawn once from its own seed.

    Args:
        tasks: task indices, each once.
        seed: what the order is drawn from.

    Raises:
        BadArgument: no tasks, or a task listed twice.
    """

    def __init__(self, tasks: ArrayLike, seed: int) -> None:
        ids = np.asarray(tasks, dtype=np.int64)
        if ids.ndim != 1 or not ids.size or len(np.unique(ids)) != ids.size:
            raise BadArgument(f"Expected a list of distinct task indices, got shape {ids.shape}.")
        self._order = np.random.Generator(np.random.PCG64(seed)).permutation(ids)
        self._at = 0

    def __len__(self) -> int:
        return len(self._order)

    def draw(self, count: int) -> Ints:
        """Return the next tasks, (count,), all different.

        Raises:
            BadArgument: more than the pool holds.
        """
        if not 1 <= count <= len(self):
            raise BadArgument(f"Expected 1 to {len(self)} tasks at a time, got {count!r}.")
        places = (self._at + np.arange(count)) % len(self)
        self._at = (self._at + count) % len(self)
        return self._order[places]


class Gathered(NamedTuple):
    """What a step trains on, and what it took to get it.

    Attributes:
        rollouts: those kept; the rollouts of a group lie side by side.
        played: how many were played, kept or not.
        successes: how many of these succeeded.
        groups: how many groups were played.
        mixed: how many of these had successes and failures.
        heat: the sum over all rollouts of log temperature.
        surprise: the sum over all tokens of minus log-probability, in nats.
        tokens: how many tokens the agent chose.
    """

    rollouts: Rollouts
    played: int
    successes: int
    groups: int
    mixed: int
    heat: float
    surprise: float
    tokens: int


class Heats(Protocol):
    """What a step of training asks of a sampler of temperatures."""

    def rollout_temperatures(self, ids: Ints, n: int, /) -> NDArray[np.float64]:
        """Return the temperature of each rollout of m groups of `n`, (m, n)."""
        ...

    def record(self, ids: Ints, outcomes: NDArray[np.bool_], /) -> None:
        """Take in who succeeded, (m, n) in that order."""
        ...


def gather(
    model: TinyLM,
    world: TensorWorld,
    pool: Pool,
    sampler: Heats,
    generator: Any,
    *,
    groups: int,
    size: int,
    refill: int = 0,
) -> Gathered:
    """Play groups of the next tasks of the pool, and tell the sampler of every one of them.

    With `refill`, groups that ended all alike are dropped and others played in their place
    (dynamic sampling, arXiv 2503.14476), up to that many times; then what is mixed is kept, be
    it fewer. A sampler that counts its own steps counts every time.

    Args:
        model: the policy.
        world: the tensor world.
        pool: the tasks.
        sampler: gives temperatures and hears outcomes, before anything is dropped.
        generator: torch's, for the sampled tokens.
        groups: groups to play.
        size: rollouts in each.
        refill: how many times `groups` more may be played to replace those all alike.
    """
    parts, kept, counts = [], 0, np.zeros(3, dtype=np.int64)
    heat = surprise = 0.0
    tokens = 0
    for _ in range(1 + refill):
        ids = pool.draw(groups)
        temperatures = np.asarray(sampler.rollout_temperatures(ids, size))
        flat = torch.from_numpy(temperatures.reshape(-1).astype(np.float32))
        rows = torch.from_numpy(np.repeat(ids, size))
        played = sample(model, world, rows, flat, generator)
        sampler.record(ids, played.success.reshape(groups, size).numpy())
        mixed = informative(played.success, size)
        counts += (len(rows), int(played.success.sum()), int(mixed.sum()))
        heat += float(np.log(temperatures).sum())
        surprise -= float(played.logps[played.agent].sum(dtype=torch.float64))
        tokens += int(played.agent.sum())
        if not refill:
            parts.append(played)
            break
        chosen = mixed.nonzero()[: groups - kept, 0]
        kept += len(chosen)
        places = (chosen[:, None] * size + torch.arange(size)).flatten()
        parts.append(select(played, places))
        if kept == groups:
            break
    together = parts[0] if len(parts) == 1 else join(parts)
    total, successes, informed = map(int, counts)
    return Gathered(together, total, successes, total // size, informed, heat, surprise, tokens)


def select(rollouts: Rollouts, rows: Any) -> Rollouts:
    """Return some rows, in the order given, cut after the last of their agent's tokens."""
    agent = rollouts.agent[rows]
    width = int(agent.any(0).nonzero().max()) + 1 if agent.any() else 1
    return Rollouts(
        ids=rollouts.ids[rows, :width],
        agent=agent[:, :width],
        logps=rollouts.logps[rows, :width],
        success=rollouts.success[rows],
        tasks=rollouts.tasks[rows],
        temperatures=rollouts.temperatures[rows],
        turns=rollouts.turns[rows],
    )


def join(parts: Sequence[Rollouts]) -> Rollouts:
    """Return rollouts one after the other, padded with 0 to the longest."""
    width = max(part.ids.shape[1] for part in parts)

    def wide(name: str) -> Any:
        return torch.cat(
            [
                torch.nn.functional.pad(value, (0, width - value.shape[1]))
                for value in (getattr(part, name) for part in parts)
            ]
        )

    def long(name: str) -> Any:
        return torch.cat([getattr(part, name) for part in parts])

    return Rollouts(
        ids=wide("ids"),
        agent=wide("agent"),
        logps=wide("logps"),
        success=long("success"),
        tasks=long("tasks"),
        temperatures=long("temperatures"),
        turns=long("turns"),
    )


def chunks(agent: Any, rows: Any, size: int) -> list[Any]:
    """Split rows into pieces of about `size` rows of like length, so that little is padding.

    Args:
        agent: (B, L) bool, the agent's tokens; a row is as long as up to the last of them.
        rows: (M,) the rows to split.
        size: rows in a piece.
    """
    places = torch.arange(1, agent.shape[1] + 1)
    lengths = (agent[rows] * places).max(1).values
    # Stable, so that the sums come out the same wherever they are made.
    order = rows[torch.sort(lengths, stable=True).indices]
    return list(torch.tensor_split(order, max(round(len(rows) / size), 1)))
