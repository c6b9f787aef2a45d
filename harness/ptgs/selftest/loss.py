"""Were the log-probabilities that reached the loss those at T, the old ones too?

Scoring may be right and the loss may yet see something else: old log-probabilities from another
path, or a temperature that went astray behind the scoring. Before a trainer's first update the
current policy is the one that played, so that the two have to be equal, and equal to log
softmax(z / T) with the parameters of the start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from agentenvs.harness.ptgs.selftest.explanations import right
from agentenvs.harness.ptgs.selftest.outcome import Found, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.probe import Precision, last_logits
from agentenvs.harness.ptgs.selftest.protocol import Trained
from agentenvs.harness.ptgs.selftest.steps import Run

__all__ = ["loss"]

#: most rows that are looked at
_MOST = 64


def loss(run: Run, precision: Precision) -> Found:
    """Compare what the loss saw before the first update.

    Raises:
        Wrong: old and current log-probabilities differ, or neither are those at T.
        Undecided: the trace does not say enough.
    """
    rows = [row for row in run.steps[0].trace.trained if not row.update][:_MOST]
    if not rows:
        raise Undecided("no row of the first step reached the loss before the first update")
    if any(row.log_probs is None or row.old_log_probs is None for row in rows):
        raise Undecided(
            "`Trained.log_probs` and `old_log_probs` say nothing, so that what the loss saw is "
            "unknown"
        )
    if any(row.positions is None for row in rows):
        gap = max(_gap(row) for row in rows)
        if gap > precision.of_logs(10.0, 1.0):
            raise Wrong(
                f"before the first update old and current log-probabilities differ by up to "
                f"{gap:.2g}: they are not taken at the same temperature",
                {"gap": gap},
            )
        raise Undecided(
            "old and current log-probabilities agree, but without `Trained.positions` they "
            "cannot be compared with a forward pass"
        )
    with _as_before(run):
        judged = [_judge(run, row, precision) for row in rows]
    return _sum_up(judged, rows)


class _Judged:
    """One row: how far the numbers lie from those at T, and from those at 1, and what is fine."""

    def __init__(self, row: Trained, z: Any, precision: Precision) -> None:
        ids = torch.tensor([int(row.tokens[at]) for at in row.positions or ()])[:, None]
        largest = float((z - z.mean(-1, keepdim=True)).abs().max())
        heat = z.new_full((len(z),), row.temperature)
        self.t = row.temperature
        self.tolerance = precision.of_logs(largest, row.temperature)
        at_t = right(z, heat).gather(1, ids)[:, 0]
        at_one = z.log_softmax(-1).gather(1, ids)[:, 0]
        self.apart = float((at_t - at_one).abs().max())
        self.off = {
            which: float((numbers - at_t).abs().max()) for which, numbers in _both(row).items()
        }
        self.off_one = {
            which: float((numbers - at_one).abs().max()) for which, numbers in _both(row).items()
        }


def _judge(run: Run, row: Trained, precision: Precision) -> _Judged:
    positions = [int(at) for at in row.positions or ()]
    size = len(row.tokens)
    lengths = {len(row.log_probs or ()), len(row.old_log_probs or ()), len(positions)}
    if len(lengths) > 1 or not positions or min(positions) < 1 or max(positions) >= size:
        raise Wrong(
            "`log_probs`, `old_log_probs` and `positions` have to be one number a scored token, "
            f"and positions have to lie from 1 to {size - 1}"
        )
    z = last_logits(run.trainer, torch.tensor([[int(i) for i in row.tokens]]), size)[0]
    return _Judged(row, z[[at - 1 for at in positions]], precision)


def _sum_up(judged: list[_Judged], rows: Sequence[Trained]) -> Found:
    words = {"old": "old log-probabilities", "current": "log-probabilities"}
    worst = {which: max(one.off[which] for one in judged) for which in words}
    told = {f"error/{which}": value for which, value in worst.items()}
    for which, name in words.items():
        if all(one.off[which] <= one.tolerance for one in judged):
            continue
        decides = [one for one in judged if one.apart > 2 * one.tolerance]
        plain = decides and all(one.off_one[which] <= one.tolerance for one in decides)
        raise Wrong(
            f"the {name} that reached the loss are "
            + ("those at T = 1" if plain else "not those at the row's T")
            + f" (off by up to {worst[which]:.2g})",
            told,
        )
    if not any(one.apart > 3 * one.tolerance for one in judged):
        raise Undecided("what the loss saw is right, but it would be the same at T = 1")
    return Found(
        f"before the first update old and current log-probabilities of {len(rows)} rows in the "
        f"loss are those at the row's T, to {max(worst.values()):.1g}",
        told,
    )


def _both(row: Trained) -> dict[str, Any]:
    return {
        "old": torch.tensor([float(x) for x in row.old_log_probs or ()], dtype=torch.float64),
        "current": torch.tensor([float(x) for x in row.log_probs or ()], dtype=torch.float64),
    }


def _gap(row: Trained) -> float:
    both = _both(row)
    if both["old"].shape != both["current"].shape:
        raise Wrong("`log_probs` and `old_log_probs` have to be of one length")
    return float((both["old"] - both["current"]).abs().max()) if len(both["old"]) else 0.0


@contextmanager
def _as_before(run: Run) -> Iterator[None]:
    """Give the trainer the parameters back that it had before its first step, for a while."""
    parameters = list(run.trainer.parameters())
    now = [p.detach().clone() for p in parameters]
    try:
        _put(parameters, run.start)
        yield
    finally:
        _put(parameters, now)


def _put(parameters: list[Any], values: list[Any]) -> None:
    with torch.no_grad():
        for p, value in zip(parameters, values, strict=True):
            p.copy_(value)
