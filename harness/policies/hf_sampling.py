"""Drawing one token a row: temperature, nucleus and generator of each row's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["draw"]


def draw(
    logits: Any,
    temperatures: Sequence[float],
    top_ps: Sequence[float],
    uniforms: Sequence[float],
) -> tuple[list[int | None], list[float]]:
    """Draw one token for each row, by inverting the row's cumulative distribution.

    Args:
        logits: tensor of shape (rows, vocabulary).
        temperatures: one a row; 0 takes the likeliest token.
        top_ps: one a row; the smallest set of likeliest tokens with at least this mass is kept.
        uniforms: one number in [0, 1) a row. Rows do not share randomness, so a row's draw
            changes with its neighbours only as far as its logits do.

    Returns:
        Token ids (None for a row whose logits give no distribution), and their log-probabilities
        under the distribution drawn from (0 for rows of temperature 0, whose distribution is a
        single token).
    """
    import torch

    device = logits.device if logits.device.type != "mps" else torch.device("cpu")
    logits = logits.to(device, torch.float32)
    best = logits.argmax(-1)
    # The largest of logits with a NaN among them is NaN.
    sound = torch.isfinite(logits.gather(-1, best[:, None]))[:, 0]
    tokens, logprobs = best, torch.zeros(len(best), dtype=torch.float64, device=device)
    hot = [row for row, temperature in enumerate(temperatures) if temperature > 0]
    if hot:
        every = len(hot) == len(temperatures)
        drawn, scores = _draw_hot(
            logits if every else logits[hot],
            *([values[row] for row in hot] for values in (temperatures, top_ps, uniforms)),
        )
        tokens[hot], logprobs[hot] = drawn, scores
        sound &= torch.isfinite(logprobs)
    told = zip(tokens.tolist(), sound.tolist(), strict=True)
    return [token if fine else None for token, fine in told], logprobs.tolist()


def _draw_hot(
    logits: Any, temperatures: Sequence[float], top_ps: Sequence[float], uniforms: Sequence[float]
) -> tuple[Any, Any]:
    """Draw at temperatures above 0; a log-probability is NaN where there is no distribution."""
    import torch

    def column(values: Sequence[float], dtype: Any) -> Any:
        return torch.tensor(values, dtype=dtype, device=logits.device)[:, None]

    # Subtracting first keeps tiny temperatures from overflowing.
    shifted = logits - logits.amax(-1, keepdim=True)
    probs = torch.softmax(shifted / column(temperatures, torch.float32).clamp(min=1e-30), -1)
    cut = [row for row, top_p in enumerate(top_ps) if top_p < 1]
    if cut:
        probs[cut] = _nucleus(probs[cut], column([top_ps[row] for row in cut], torch.float64))
    cdf = probs.cumsum(-1, dtype=torch.float64)
    total = cdf[:, -1:].contiguous()
    target = column(uniforms, torch.float64) * total
    last = torch.searchsorted(cdf, total)
    tokens = torch.minimum(torch.searchsorted(cdf, target, right=True), last)
    tokens = tokens.clamp(max=logits.shape[-1] - 1)
    return tokens[:, 0], (probs.gather(-1, tokens).double() / total).log()[:, 0]


def _nucleus(probs: Any, mass: Any) -> Any:
    """Set to 0 what does not belong to the smallest set of likeliest tokens with such a mass."""
    import torch

    ordered, order = probs.sort(dim=-1, descending=True, stable=True)
    cut = ordered.cumsum(-1, dtype=torch.float64) - ordered >= mass
    cut[:, 0] = False
    return probs.masked_fill(torch.zeros_like(cut).scatter(-1, order, cut), 0.0)
