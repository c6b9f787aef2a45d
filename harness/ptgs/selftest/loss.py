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
from agentenvs.harness.ptgs.selftest.outcome import Seen, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.probe import Precision, last_logits, sizes_of
from agentenvs.harness.ptgs.selftest.protocol import Trained
from agentenvs.harness.ptgs.selftest.steps import Run, shows

__all__ = ["loss"]

#: most rows that are looked at, and most scored tokens of each
_MOST, _FIRST = 32, 64


def loss(run: Run, precision: Precision) -> Seen:
    """Compare what the loss saw before the first update.

    Raises:
        Wrong: old and current log-probabilities differ, or neither are those at T.
        Undecided: the trace does not say enough.
    """
    if run.first is None:
        raise Undecided(
            "no row with a scored token reached the loss before the first update of a step"
        )
    rows = [row for row in run.first.trace.trained if shows(row)][:_MOST]
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
        judged = [_Judged(run, row, precision) for row in rows]
    return _sum_up(judged, rows)


class _Judged:
    """One row: how far the numbers lie from those at T, and from those at 1, and what is fine."""

    def __init__(self, run: Run, row: Trained, precision: Precision) -> None:
        places, old, current = _columns(row)
        end = places[-1] + 1
        ids = torch.tensor([row.tokens[:end]])
        z = last_logits(run.trainer, ids, end - places[0] + 1)[0, :-1]
        z = z[[at - places[0] for at in places]]
        chosen, t = ids[0, places][:, None], z.new_full((len(z),), row.temperature)
        sizes = sizes_of(z).maximum(z.gather(1, chosen)[:, 0].abs())
        self.tolerance = float(precision.of_logs(sizes, row.temperature).max())
        at_t = right(z, t).gather(1, chosen)[:, 0]
        at_one = z.log_softmax(-1).gather(1, chosen)[:, 0]
        both = {"old": z.new_tensor(old), "current": z.new_tensor(current)}
        self.apart = _far(at_t, at_one)
        self.off = {which: _far(numbers, at_t) for which, numbers in both.items()}
        self.off_one = {which: _far(numbers, at_one) for which, numbers in both.items()}


def _columns(row: Trained) -> tuple[list[int], list[float], list[float]]:
    """Return positions, old and current log-probabilities of the first scored tokens."""
    places, old, current = row.positions or (), row.old_log_probs or (), row.log_probs or ()
    size = len(row.tokens)
    orderly = list(places) == sorted(set(places)) and all(0 < at < size for at in places)
    if not places or not orderly or not len(places) == len(old) == len(current):
        raise Wrong(
            "`log_probs`, `old_log_probs` and `positions` have to be one number a scored token, "
            f"and positions have to rise from 1 on and stay below {size}, the row's length"
        )
    return list(places[:_FIRST]), list(old[:_FIRST]), list(current[:_FIRST])


def _far(one: Any, other: Any) -> float:
    return float((one - other).abs().max())


def _sum_up(judged: list[_Judged], rows: Sequence[Trained]) -> Seen:
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
    return Seen(
        f"before the first update old and current log-probabilities of {len(rows)} rows in the "
        f"loss are those at the row's T, to {max(worst.values()):.1g}",
        told,
    )


def _gap(row: Trained) -> float:
    old, current = row.old_log_probs or (), row.log_probs or ()
    if len(old) != len(current):
        raise Wrong("`log_probs` and `old_log_probs` have to be of one length")
    return max((abs(x - y) for x, y in zip(old, current, strict=True)), default=0.0)


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
