"""What log-probabilities should be, and what the commonest mistakes make of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

__all__ = ["entropy", "explanations", "nucleus", "right"]


def right(z: Any, t: Any) -> Any:
    """Return log softmax(z / T), z (R, V) float64 and t (R,)."""
    return (z / t[:, None]).log_softmax(-1)


def entropy(logs: Any) -> Any:
    """Return the entropies of log-probabilities, (R,)."""
    return -(logs.exp() * logs.clamp(min=-1e30)).sum(-1)


def nucleus(logs: Any, top_p: float) -> Any:
    """Return log-probabilities cut off to the fewest tokens that hold `top_p`."""
    values, order = logs.sort(-1, descending=True)
    chances = values.exp()
    kept = chances.cumsum(-1) - chances < top_p
    cut = torch.full_like(logs, -torch.inf).scatter(-1, order, values.where(kept, -torch.inf))
    return cut.log_softmax(-1)


def explanations(z: Any, t: Any) -> Iterator[tuple[str, Any]]:
    """Yield what may have happened in the place of log softmax(z / T), and its (R, V).

    Args:
        z: (R, V) logits, float64.
        t: (R,) the rows' temperatures, in the order of the batch.
    """
    once = torch.ones_like(t)
    yield "those at T = 1 for every row", right(z, once)
    yield "those at the mean T of the batch for every row", right(z, once * t.mean())
    yield "those at the first row's T for every row", right(z, once * t[0])
    yield "those at T squared: the logits were divided by T twice", right(z, t * t)
    yield "those at 1 / T: the logits were multiplied by T", right(z, 1 / t)
    yield (
        "log softmax(z) / T: divided behind the log-softmax, not in front of it",
        z.log_softmax(-1) / t[:, None],
    )
    yield "those at the T of the rows in reverse order", right(z, t.flip(0))
    yield "those at the T of the row before", right(z, t.roll(1))
    yield "those at the T of the row behind", right(z, t.roll(-1))
    yield "those at the T of the rows in ascending order", right(z, t.sort().values)
