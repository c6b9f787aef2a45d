"""The policy's loss: every probability at the temperature at which its row was sampled.

A row sampled from softmax(z / T) is scored with log softmax(z / T): old and new log-probability,
the ratio between them, entropy and KL to the reference. Scored at T = 1 instead, the gradient of
the log-probability no longer averages to zero over the samples, and any baseline biases it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from agentenvs.errors import BadArgument

__all__ = [
    "PolicyLoss",
    "Scores",
    "agent_positions",
    "agent_scores",
    "clipped_objective",
    "entropy",
    "exact_kl",
    "policy_loss",
]


class Scores(NamedTuple):
    """The model's view of the agent's N tokens, in row-major order.

    Attributes:
        log_probs: (N, V) log softmax(z / T) of the row's own T.
        chosen: (N,) the same for the token that was sampled.
    """

    log_probs: Any
    chosen: Any


class PolicyLoss(NamedTuple):
    """The loss of some rows, and what it was made of.

    Attributes:
        loss: the number to minimise, a scalar with its graph.
        clipped: tokens whose ratio the clip cut off.
        drift: the sum over tokens of old minus new log-probability.
        entropy: the sum over tokens of the entropies, in nats.
        kl: the sum over tokens of the KL to the reference; 0 without one.
        tokens: how many tokens there were.
    """

    loss: Any
    clipped: float
    drift: float
    entropy: float
    kl: float
    tokens: int


def agent_positions(agent: Any) -> tuple[Any, Any]:
    """Return rows and columns of the agent's tokens, both (N,), in row-major order.

    Raises:
        BadArgument: a row begins with an agent's token, for which nothing was read before.
    """
    if agent.shape[1] and bool(agent[:, 0].any()):
        raise BadArgument("Expected each row to begin with words that are not the agent's.")
    rows, columns = agent.nonzero(as_tuple=True)
    return rows, columns


def agent_scores(model: Any, ids: Any, agent: Any, temperatures: Any) -> Scores:
    """Return log-probabilities for the agent's tokens, each row at its own temperature.

    Args:
        model: ids (B, L) -> logits (B, L, V), those at a place for the token after it.
        ids: (B, L) tokens, padded on the right.
        agent: (B, L) bool, the tokens that the agent chose.
        temperatures: (B,) above 0.

    Raises:
        BadArgument: as `agent_positions`, or a temperature that is not above 0 and finite.
    """
    if not bool(((temperatures > 0) & temperatures.isfinite()).all()):
        raise BadArgument(f"Expected temperatures above 0, got {temperatures.min().item()}.")
    rows, columns = agent_positions(agent)
    # Nothing is asked after the last of the agent's tokens.
    read = int(columns.max()) if columns.numel() else 0
    logits = model(ids[:, : max(read, 1)])[rows, columns - 1]
    log_probs = (logits / temperatures.to(logits.dtype)[rows, None]).log_softmax(-1)
    return Scores(log_probs, log_probs.gather(1, ids[rows, columns][:, None])[:, 0])


def clipped_objective(
    new: Any, old: Any, advantages: Any, low: float, high: float
) -> tuple[Any, Any]:
    """Return PPO's clipped surrogate, to be maximised, and where the clip holds.

    Args:
        new: (N,) log-probabilities under the model in training.
        old: (N,) those under which the tokens were sampled, at the same temperatures.
        advantages: (N,).
        low: ratios are clipped to at least 1 - low,
        high: and to at most 1 + high.

    Returns:
        (N,) min(r A, clip(r) A), and (N,) bool: tokens that get no gradient.
    """
    ratio = (new - old).exp()
    plain, held = ratio * advantages, ratio.clamp(1 - low, 1 + high) * advantages
    return torch.minimum(plain, held), held < plain


def entropy(log_probs: Any) -> Any:
    """Return the entropy of each distribution in nats: (N, V) -> (N,)."""
    return -(log_probs.exp() * log_probs).sum(-1)


def exact_kl(log_probs: Any, reference: Any) -> Any:
    """Return KL(policy, reference) over the whole vocabulary: two (N, V) -> (N,) nats."""
    return (log_probs.exp() * (log_probs - reference)).sum(-1)


def policy_loss(
    model: Any,
    rollouts: Any,
    advantages: Any,
    *,
    scale: float,
    clip: tuple[float, float] = (0.2, 0.28),
    kl: float = 0.0,
    bonus: float = 0.0,
    reference: Any = None,
) -> PolicyLoss:
    """Return the loss of some rows: a sum over their tokens, divided by a fixed number.

    A fixed number rather than the count of tokens: where that count depends on what was sampled,
    a mean over tokens bends the gradient's expectation.

    Args:
        model: ids (B, L) -> logits (B, L, V).
        rollouts: `ids`, `agent`, `logps` (B, L) and `temperatures` (B,) as sampled.
        advantages: (B, L), or (B,) for one number a row; constants.
        scale: what the sum is divided by.
        clip: how far the ratio may fall below and rise above 1.
        kl: weight of the KL to `reference`, both at the row's temperature.
        bonus: weight of the entropy.
        reference: the model to stay close to; needed where `kl` is above 0.

    Raises:
        BadArgument: `kl` without a reference, or as `agent_scores`.
    """
    if kl and reference is None:
        raise BadArgument("Expected a `reference` model for a KL weight above 0, got none.")
    ids, agent, temperatures = rollouts.ids, rollouts.agent, rollouts.temperatures
    rows, columns = agent_positions(agent)
    scores = agent_scores(model, ids, agent, temperatures)
    gains = (advantages[rows] if advantages.ndim == 1 else advantages[rows, columns]).detach()
    old = rollouts.logps[rows, columns]
    objective, held = clipped_objective(scores.chosen, old, gains, *clip)
    spread = entropy(scores.log_probs if bonus else scores.log_probs.detach())
    total = objective.sum() + bonus * spread.sum()
    away = 0.0
    if kl:
        with torch.no_grad():
            there = agent_scores(reference, ids, agent, temperatures).log_probs
        distance = exact_kl(scores.log_probs, there).sum()
        total, away = total - kl * distance, float(distance.detach())
    with torch.no_grad():
        drift = float((old - scores.chosen).sum())
    sums = (int(held.sum()), drift, float(spread.detach().sum()), away, len(rows))
    return PolicyLoss(-total / scale, *sums)
