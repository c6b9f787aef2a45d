"""PPO's critic: a small head that reads the policy's hidden states and guesses the outcome."""

from __future__ import annotations

import math
from typing import Any

import torch

from agentenvs.errors import BadArgument

__all__ = ["Critic"]


class Critic:
    """Guesses the chance of success before each of the agent's tokens.

    The head (one hidden layer) reads the policy's last hidden state there, the one before the
    agent's first token, which knows the task, and the row's log temperature, for success depends
    on it. It does not reach back into the policy: states come as constants, so a poor guess
    cannot bend the policy.

    A step shows a few tasks out of many, and a head fitted to them alone forgets the others; so
    it goes on learning from the last `memory` steps. On a fixed policy with 8 tasks of 200 a step
    that takes its squared error on tasks to come from 0.24, hardly better than the base rate,
    to 0.15, what the tasks' own chances of success leave.

    Args:
        width: size of a hidden state.
        seed: of the initial weights and of what is drawn from memory.
        lr: learning rate.
        memory: steps to remember.
        updates: updates a step.
        batch: tokens an update draws.
        inner: units of the hidden layer.

    Raises:
        BadArgument: a size below 1.
    """

    def __init__(
        self,
        width: int,
        seed: int,
        *,
        lr: float = 3e-3,
        memory: int = 25,
        updates: int = 8,
        batch: int = 1024,
        inner: int = 64,
    ) -> None:
        sizes = {"width": width, "memory": memory, "updates": updates}
        for name, size in {**sizes, "batch": batch, "inner": inner}.items():
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise BadArgument(f"Expected `{name}` to be an int of 1 up, got {size!r}.")
        self._draw = torch.Generator().manual_seed(seed)
        read = 2 * width + 1
        first = torch.randn(inner, read, generator=self._draw) / read**0.5
        self._weights = [first, torch.zeros(inner), torch.zeros(1, inner), torch.zeros(1)]
        for weight in self._weights:
            weight.requires_grad_()
        self._optimizer = torch.optim.AdamW(self._weights, lr=lr, weight_decay=0.0)
        self._memory: list[tuple[Any, Any]] = []
        self._sizes = memory, updates, batch

    def features(self, hidden: Any, agent: Any, temperatures: Any) -> Any:
        """Return what the head reads before each of the agent's N tokens, in row-major order.

        Args:
            hidden: (B, L, d) the policy's states.
            agent: (B, L) bool, the agent's tokens; none at a row's beginning.
            temperatures: (B,).

        Returns:
            (N, 2 d + 1).
        """
        rows, columns = agent.nonzero(as_tuple=True)
        opening = agent.int().argmax(1)[rows] - 1
        states = hidden.detach()
        heat = temperatures.to(states.dtype).log()[rows, None]
        return torch.cat([states[rows, columns - 1], states[rows, opening], heat], 1)

    def values(self, features: Any) -> Any:
        """Return guesses in (0, 1): (N, 2 d + 1) -> (N,), without a graph."""
        with torch.no_grad():
            return self._logits(features).sigmoid()

    def learn(self, features: Any, returns: Any) -> float:
        """Remember a step and learn from what is remembered.

        Args:
            features: (N, 2 d + 1) of the step.
            returns: (N,) in [0, 1].

        Returns:
            The mean cross-entropy of the updates, each before it was made, in nats; NaN where
            there is nothing to learn from.
        """
        memory, updates, batch = self._sizes
        if len(returns):
            self._memory = [*self._memory, (features, returns.clamp(0, 1))][-memory:]
        if not self._memory:
            return math.nan
        read, told = (torch.cat(parts) for parts in zip(*self._memory, strict=True))
        losses = []
        for _ in range(updates):
            some = torch.randint(len(told), (batch,), generator=self._draw)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                self._logits(read[some]), told[some]
            )
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
            losses.append(float(loss.detach()))
        return math.fsum(losses) / updates

    def _logits(self, features: Any) -> Any:
        first, offset, second, base = self._weights
        inside = torch.tanh(torch.nn.functional.linear(features, first, offset))
        return torch.nn.functional.linear(inside, second, base)[:, 0]
