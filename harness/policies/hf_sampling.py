"""Drawing one token a row: temperature, nucleus and generator of each row's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentenvs.errors import PolicyError

__all__ = ["draw"]


def draw(
    logits: Any,
    temperatures: Sequence[float],
    top_ps: Sequence[float],
    uniforms: Sequence[float],
) -> tuple[list[int], list[float]]:
    """Draw one token for each row, by inverting the row's cumulative distribution.

    Args:
        logits: tensor of shape (rows, vocabulary).
        temperatures: one a row; 0 takes the likeliest token.
        top_ps: one a row; the smallest set of likeliest tokens with at least this mass is kept.
        uniforms: one number in [0, 1) a row. Rows do not share randomness, so a row's draw
            changes with its neighbours only as far as its logits do.

    Returns:
        Token ids, and their log-probabilities under the distribution drawn from (0 for rows of
        temperature 0, whose distribution is a single token).

    Raises:
        PolicyError: a row's logits give no distribution (NaN).
    """
    import torch

    device = logits.device if logits.device.type != "mps" else torch.device("cpu")
    logits = logits.to(device, torch.float32)
    best = logits.argmax(-1)
    if not any(temperatures):
        if torch.isnan(logits).any():
            raise PolicyError("The model's logits hold NaN; try another dtype.")
        return best.tolist(), [0.0] * len(temperatures)
    heat = torch.tensor(temperatures, dtype=torch.float32, device=device)[:, None]
    hot = heat[:, 0] > 0
    # Subtracting first keeps tiny temperatures from overflowing.
    shifted = logits - logits.gather(-1, best[:, None])
    probs = torch.softmax(shifted / torch.where(heat > 0, heat, 1.0).clamp(min=1e-30), -1)
    if any(p < 1 for p in top_ps):
        mass = torch.tensor(top_ps, dtype=torch.float64, device=device)[:, None]
        ordered, order = probs.sort(dim=-1, descending=True, stable=True)
        before = ordered.cumsum(-1, dtype=torch.float64) - ordered
        cut = (before >= mass) & (mass < 1)
        cut[:, 0] = False
        probs = probs.masked_fill(torch.zeros_like(cut).scatter(-1, order, cut), 0.0)
    cdf = probs.cumsum(-1, dtype=torch.float64)
    total = cdf[:, -1:].contiguous()
    if not torch.isfinite(total).all():
        raise PolicyError("The model's logits hold NaN; try another dtype.")
    target = torch.tensor(uniforms, dtype=torch.float64, device=device)[:, None] * total
    last = torch.searchsorted(cdf, total)
    tokens = torch.minimum(torch.searchsorted(cdf, target, right=True), last)
    logprobs = (probs.gather(-1, tokens).double() / total).log()[:, 0]
    tokens = torch.where(hot, tokens[:, 0], best)
    return tokens.tolist(), torch.where(hot, logprobs, 0.0).tolist()
