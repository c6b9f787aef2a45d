"""Sampling and scoring rows of a batch, each at its own temperature.

Divide a row's logits by its T before the log-softmax, for the new and the old policy alike, and
take the entropy there too. Needs torch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from agentenvs.errors import BadArgument

__all__ = ["RowScores", "RowTemperature", "check_temperatures", "row_scores"]


class RowScores(NamedTuple):
    """What B rows of L tokens get, float32, with graph.

    Attributes:
        log_probs: (B, L) log-probability of the chosen token at the row's temperature.
        entropies: (B, L) entropy in nats of the distribution that it was chosen from.
    """

    log_probs: Any
    entropies: Any


def check_temperatures(temperatures: Any, rows: int, *, device: Any = None) -> Any:
    """Return the temperatures of a batch as a float32 tensor, (B,), once they make sense.

    Args:
        temperatures: one number a row: a tensor, an array or a list.
        rows: B.
        device: where the tensor is to lie; default where it is.

    Raises:
        BadArgument: None, not one number a row, not finite, or not above 0.
    """
    if temperatures is None:
        raise BadArgument(
            f"Expected the temperatures that {rows} rows were sampled at, got None: "
            "log-probabilities are those of the sampled policy only at its own temperature."
        )
    try:
        given = torch.as_tensor(temperatures, device=device)
    except (TypeError, ValueError, RuntimeError):
        raise BadArgument(
            f"Expected `temperatures` to be numbers, got {type(temperatures).__name__}."
        ) from None
    if given.dtype == torch.bool or given.is_complex():
        raise BadArgument(f"Expected `temperatures` to be numbers, got {given.dtype}.")
    if given.shape != (rows,):
        raise BadArgument(
            f"Expected one temperature a row, shape ({rows},), got shape {tuple(given.shape)}."
        )
    checked = given.detach().to(torch.float32)
    fine = torch.isfinite(checked) & (checked > 0)
    if not bool(fine.all()):
        odd = float(checked[~fine][0])
        raise BadArgument(f"Expected temperatures that are finite and above 0, got {odd:g}.")
    return checked


def row_scores(logits: Any, tokens: Any, temperatures: Any) -> RowScores:
    """Return log softmax(z / T) of the chosen tokens, and the entropy there, row by row.

    >>> z = torch.tensor([[[0.0, 1.0]], [[0.0, 1.0]]])
    >>> scores = row_scores(z, torch.tensor([[1], [1]]), [1.0, 0.5])
    >>> [round(x, 4) for x in scores.log_probs.flatten().tolist()]
    [-0.3133, -0.1269]

    Args:
        logits: (B, L, V), of any floating type; `logits[:, i]` is what `tokens[:, i]` was, or
            would be, drawn from.
        tokens: (B, L) ids from 0 to V - 1.
        temperatures: (B,).

    Raises:
        BadArgument: shapes that do not fit, ids out of range, or as `check_temperatures`.
    """
    if logits.dim() != 3 or not logits.is_floating_point():
        raise BadArgument(
            f"Expected logits of shape (B, L, V), floats, got {tuple(logits.shape)}, "
            f"{logits.dtype}."
        )
    rows, length, vocabulary = logits.shape
    t = check_temperatures(temperatures, rows, device=logits.device)
    if tuple(tokens.shape) != (rows, length) or tokens.dtype != torch.int64:
        raise BadArgument(
            f"Expected tokens of shape ({rows}, {length}), int64, got {tuple(tokens.shape)}, "
            f"{tokens.dtype}."
        )
    if tokens.numel():
        least, most = int(tokens.min()), int(tokens.max())
        if least < 0 or most >= vocabulary:
            raise BadArgument(
                f"Expected token ids from 0 to {vocabulary - 1}, got {least} to {most}: give "
                "places that do not count any id of the vocabulary."
            )
    logs = (logits.float() / t[:, None, None]).log_softmax(-1)
    chances = logs.exp()
    # A token that is ruled out has log-probability -inf, and 0 times that is no number.
    entropies = -(chances * logs.masked_fill(chances == 0, 0.0)).sum(-1)
    return RowScores(logs.gather(-1, tokens[..., None])[..., 0], entropies)


class RowTemperature:
    """Divides each row's next-token scores by its temperature, within `generate` of transformers.

    Give it as `logits_processor=LogitsProcessorList([RowTemperature(t)])` with `do_sample=True`,
    `temperature=1.0`, `top_k=0`, `top_p=1.0`, and no beams. With `num_return_sequences=g` rows
    are repeated, and so has to be the temperature: `t.repeat_interleave(g)`.

    >>> RowTemperature([2.0, 0.5])(None, torch.tensor([[1.0, 2.0], [1.0, 2.0]])).tolist()
    [[0.5, 1.0], [2.0, 4.0]]

    Args:
        temperatures: (B,).

    Raises:
        BadArgument: None, no list, an empty one, not finite, or not above 0.
    """

    def __init__(self, temperatures: Any) -> None:
        self.temperatures = _listed(temperatures)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return scores / T, (B, V).

        Raises:
            BadArgument: another number of rows than of temperatures.
        """
        if len(scores) != len(self.temperatures):
            raise BadArgument(
                f"Expected {len(self.temperatures)} rows, one a temperature, got {len(scores)}: "
                "beams and `num_return_sequences` repeat rows; repeat the temperatures as they do."
            )
        t = self.temperatures.to(scores.device)[:, None]
        return (scores.float() / t).to(scores.dtype)


def _listed(temperatures: Any) -> Any:
    """Return the temperatures of as many rows as there are, checked."""
    if temperatures is None:
        raise BadArgument("Expected the temperatures that rows are to be drawn at, got None.")
    try:
        rows = len(temperatures)
    except TypeError:
        raise BadArgument(
            f"Expected a list of temperatures, one a row, got {temperatures!r} alone."
        ) from None
    if not rows:
        raise BadArgument("Expected a list of temperatures, one a row, got an empty one.")
    return check_temperatures(temperatures, rows)
