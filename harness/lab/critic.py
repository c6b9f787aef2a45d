"""PPO's critic: a small head that reads the policy's hidden states and guesses the outcome."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["Critic"]


class Critic:
    """Guesses the chance of success before each of the agent's tokens.

    The head (one hidden layer) reads the policy's last hidden state and the row's log
    temperature, for success depends on it. It does not reach back into the policy: states come
    as constants, so a poor guess cannot bend the policy.

    Args:
        width: size of a hidden state.
        seed: of the initial weights.
        lr: learning rate.
        inner: units of the hidden layer.
    """

    def __init__(self, width: int, seed: int, lr: float = 3e-3, inner: int = 64) -> None:
        draw = torch.Generator().manual_seed(seed)
        first = torch.randn(inner, width + 1, generator=draw) / (width + 1) ** 0.5
        self._weights = [first, torch.zeros(inner), torch.zeros(1, inner), torch.zeros(1)]
        for weight in self._weights:
            weight.requires_grad_()
        self._optimizer = torch.optim.AdamW(self._weights, lr=lr, weight_decay=0.0)

    def features(self, hidden: Any, temperatures: Any) -> Any:
        """Return what the head reads: states (N, d) and temperatures (N,) -> (N, d + 1)."""
        return torch.cat([hidden.detach(), temperatures.to(hidden.dtype).log()[:, None]], 1)

    def values(self, features: Any) -> Any:
        """Return guesses in (0, 1): (N, d + 1) -> (N,), without a graph."""
        with torch.no_grad():
            return self._logits(features).sigmoid()

    def fit(self, features: Any, returns: Any) -> float:
        """Take one step towards the returns and return the cross-entropy before it, in nats.

        Args:
            features: (N, d + 1).
            returns: (N,) in [0, 1].
        """
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            self._logits(features), returns.clamp(0, 1)
        )
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        return float(loss.detach())

    def _logits(self, features: Any) -> Any:
        first, offset, second, base = self._weights
        inside = torch.tanh(torch.nn.functional.linear(features, first, offset))
        return torch.nn.functional.linear(inside, second, base)[:, 0]
