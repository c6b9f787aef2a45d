"""A model as a trainer asks it for log-probabilities, which gives them at each row's temperature.

TRL patches its models: `model(..., labels=..., fused_lm_head=True)` returns log-probabilities at
one temperature that was fixed when the trainer was made. `RowScored` stands before the model and
answers that one call from plain logits, so that all of the trainer's handling of inputs, images
among them, stays as it is.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from agentenvs.errors import BadArgument

__all__ = ["RowScored", "Scores", "head_in_float32"]

#: most logits that are scored at once; of more, the softmax is not kept for the gradient
_MOST = 1 << 26
#: what a model is given for text alone, and need not place by itself
_TEXT = {"input_ids", "attention_mask", "output_router_logits"}
_AGAIN = {"use_reentrant": False, "preserve_rng_state": False}


class Scores(NamedTuple):
    """What TRL reads of the call.

    Attributes:
        log_probs: of the tokens that `labels` names, (rows, kept); 0 where it names none.
        entropy: of the distributions that they were drawn from, (rows, kept); 0 likewise.
        aux_loss: a mixture of experts' balancing loss, where it was asked for.
    """

    log_probs: Any
    entropy: Any
    aux_loss: Any


class RowScored:
    """Answers a trainer's fused call row by row.

    Args:
        model: the model, in whatever wrapper it is trained.
        inner: the same without wrappers, whose `forward` tells what it takes.
        temperatures: of all rows that will be asked for, (B,), in the order of the calls.
        keep: how many of the last tokens are scored.
    """

    def __init__(self, model: Any, inner: Any, temperatures: Any, keep: int) -> None:
        self._model = model
        self._temperatures = temperatures
        self._keep = keep
        self._done = 0
        takes = inspect.signature(inner.forward).parameters
        self._trims = "logits_to_keep" in takes
        self._placed = "position_ids" in takes

    def __call__(self, *, labels: Any, fused_lm_head: bool, **inputs: Any) -> Scores:
        """Return the scores of the next rows.

        Raises:
            BadArgument: more rows than temperatures.
        """
        first, self._done = self._done, self._done + len(labels)
        if self._done > len(self._temperatures):
            raise BadArgument(
                f"Expected a temperature for each row, got {len(self._temperatures)} for more "
                f"than {self._done - 1} rows."
            )
        if self._placed and inputs.keys() <= _TEXT:
            # As `generate` counts them: padding on the left has no positions of its own.
            inputs["position_ids"] = (inputs["attention_mask"].long().cumsum(-1) - 1).clamp(min=0)
        if self._trims:
            # One more: the logits of a position are of the token behind it.
            inputs["logits_to_keep"] = self._keep + 1
        out = self._model(**inputs, use_cache=False)
        logits = out.logits[:, -self._keep - 1 : -1]
        tokens = labels[:, -self._keep :].to(logits.device)
        silent = tokens == -100
        heat = self._temperatures[first : self._done]
        log_probs, entropies = _scored(logits, tokens.masked_fill(silent, 0), heat)
        return Scores(
            log_probs.masked_fill(silent, 0.0),
            entropies.masked_fill(silent, 0.0),
            getattr(out, "aux_loss", None),
        )


def head_in_float32(model: Any) -> None:
    """Keep autocast from a model's projection on the vocabulary.

    With `cast_lm_head_to_fp32` TRL casts that module's weights and input to float32, which
    autocast takes back within; TRL's own scoring does not go through the module.

    Args:
        model: without wrappers.
    """
    import torch

    head = model.get_output_embeddings()
    project = head.forward

    def projected(hidden_states: Any) -> Any:
        with torch.autocast(hidden_states.device.type, enabled=False):
            return project(hidden_states)

    head.forward = projected


def _scored(logits: Any, tokens: Any, heat: Any) -> tuple[Any, Any]:
    """Return log-probabilities and entropies, in a part of the rows at a time if need be."""
    import torch
    from torch.utils.checkpoint import checkpoint

    from agentenvs.harness.ptgs.scoring import row_scores

    rows = len(logits)
    if logits.numel() <= _MOST:
        return tuple(row_scores(logits, tokens, heat))
    size = max(1, _MOST * rows // logits.numel())
    parts = [
        checkpoint(row_scores, *(x[at : at + size] for x in (logits, tokens, heat)), **_AGAIN)
        for at in range(0, rows, size)
    ]
    log_probs, entropies = (torch.cat(column) for column in zip(*parts, strict=True))
    return log_probs, entropies
