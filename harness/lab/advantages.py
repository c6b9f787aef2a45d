"""How much better than expected: advantages of rollouts (GRPO) and of their tokens (PPO)."""

from __future__ import annotations

from typing import Any

import torch

from agentenvs.errors import BadArgument

__all__ = ["group_advantages", "informative", "token_advantages", "whitened"]


def group_advantages(rewards: Any, size: int, eps: float = 1e-6) -> Any:
    """Return how far each rollout lies above its group, in the group's standard deviations.

    A group whose rollouts all ended alike has nothing to say and gets zeros. Rollouts of one
    group may have been sampled at different temperatures: the mean is a baseline all the same.

    Args:
        rewards: (G * size,) numbers or booleans; rollouts of a group lie side by side.
        size: rollouts in a group.
        eps: added to the standard deviation.

    Returns:
        (G * size,) float32: (r - mean) / (sd + eps), sd with `size - 1` (GRPO, arXiv 2402.03300).

    Raises:
        BadArgument: `size` is below 1 or does not divide the rollouts.
    """
    grouped = _grouped(rewards, size).to(torch.float32)
    if size == 1:
        return torch.zeros_like(grouped).flatten()
    centred = grouped - grouped.mean(1, keepdim=True)
    alike = (grouped == grouped[:, :1]).all(1, keepdim=True)
    # Rounding of the mean would otherwise be blown up by 1 / eps.
    return torch.where(alike, 0.0, centred / (grouped.std(1, keepdim=True) + eps)).flatten()


def informative(rewards: Any, size: int) -> Any:
    """Return which groups are mixed, so that their rollouts can be told apart: (G,) bool.

    Raises:
        BadArgument: as `group_advantages`.
    """
    grouped = _grouped(rewards, size)
    return (grouped != grouped[:, :1]).any(1)


def token_advantages(
    rewards: Any, values: Any, agent: Any, gamma: float = 1.0, lam: float = 1.0
) -> tuple[Any, Any]:
    """Return generalised advantage estimates over the agent's own tokens (arXiv 1506.02438).

    Only the agent's tokens are steps: what the environment writes in between costs no discount.
    The reward comes with a row's last such token. With gamma = lam = 1, the default, the
    advantage is the row's reward minus the value and the return is the reward.

    Args:
        rewards: (B,) the rollouts' rewards.
        values: (B, L) the critic's guess before each token; read at the agent's tokens alone.
        agent: (B, L) bool, the agent's tokens.
        gamma: the discount of a step, in [0, 1].
        lam: how far the estimate trusts returns over values, in [0, 1].

    Returns:
        Advantages and returns (B, L) float32, both zero away from the agent's tokens.

    Raises:
        BadArgument: `gamma` or `lam` out of range.
    """
    for name, value in (("gamma", gamma), ("lam", lam)):
        if not 0 <= value <= 1:
            raise BadArgument(f"Expected `{name}` in [0, 1], got {value!r}.")
    values = values.to(torch.float32)
    advantages = torch.zeros_like(values)
    # What follows the last token is the reward itself, undiscounted: it is paid with that token.
    ahead = rewards.to(torch.float32).clone()
    beyond, last = torch.zeros_like(ahead), torch.ones_like(ahead, dtype=torch.bool)
    for at in range(values.shape[1] - 1, -1, -1):
        mine, here = agent[:, at], values[:, at]
        now = torch.where(last, ahead, gamma * ahead) - here + gamma * lam * beyond
        advantages[:, at] = torch.where(mine, now, 0.0)
        ahead = torch.where(mine, here, ahead)
        beyond = torch.where(mine, now, beyond)
        last = last & ~mine
    return advantages, torch.where(agent, advantages + values, 0.0)


def whitened(advantages: Any, agent: Any) -> Any:
    """Return advantages with mean 0 and standard deviation 1 over the agent's tokens.

    Fewer than two tokens, or tokens all alike, come back as zeros.

    Args:
        advantages: (B, L).
        agent: (B, L) bool, the tokens that count; all others come back as zero.
    """
    chosen = advantages[agent]
    if chosen.numel() < 2:
        return torch.zeros_like(advantages)
    centred = (advantages - chosen.mean()) / (chosen.std() + 1e-8)
    return torch.where(agent, centred, 0.0)


def _grouped(rewards: Any, size: int) -> Any:
    if size < 1 or rewards.ndim != 1 or rewards.shape[0] % size:
        raise BadArgument(
            f"Expected rewards in groups of `size`, got shape {tuple(rewards.shape)}, size {size}."
        )
    return rewards.reshape(-1, size)
