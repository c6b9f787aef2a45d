"""Is the mean gradient of the scored log-probability nothing under the policy that played?

At its own temperature the sum over all y of pi_T(y) grad log pi_T(y) is 0, whatever the model.
All one-token completions are enumerated, and all of two tokens where they are few. pi_T comes
from plain forward passes, log pi from the trainer's scoring, with one backward a chunk. Of a large
vocabulary the likeliest tokens are taken, and their part of the sum is compared with that of a
plain forward pass.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from agentenvs.harness.ptgs.selftest.explanations import right
from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.outcome import Seen, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.probe import Probe, chunk_rows, exact, last_logits

__all__ = ["MOST_PAIRS", "identity"]

#: two-token completions are enumerated up to this number of them
MOST_PAIRS = 4096
#: how many times as far as a plain pass the trainer's scoring may be off
_SLACK = 4.0


class _Sum(NamedTuple):
    """What is left of the sum where nothing should be, relative to the size of its terms.

    Attributes:
        length: tokens of a completion.
        t: the temperature.
        rest: what is left.
        at_one: what would be left if scores were those at T = 1.
        tolerance: what rounding may leave.
    """

    length: int
    t: float
    rest: float
    at_one: float
    tolerance: float


def identity(trainer: Guarded, probe: Probe, most: int) -> Seen:
    """Enumerate at two temperatures, mixed in one batch.

    Args:
        trainer: to be asked for scores.
        probe: prompts and temperatures.
        most: how many tokens of the vocabulary to take.

    Raises:
        Wrong: the sum is not 0.
        Undecided: it would be as small if T were 1.
    """
    vocabulary = trainer.vocabulary
    sums = _every(trainer, probe, most, "score")
    if any(one.rest > one.tolerance for one in sums):
        # Where a pass goes through coarser types than its logits show, a plain one tells how far
        # rounding goes.
        plain = _every(trainer, probe, most, "logits")
        sums = [
            one._replace(tolerance=max(one.tolerance, _SLACK * other.rest))
            for one, other in zip(sums, plain, strict=True)
        ]
    told = {
        f"{name}/{one.length}/{one.t:.3g}": getattr(one, name)
        for one in sums
        for name in ("rest", "at_one")
    }
    if vocabulary <= most:
        over = "one-token" + " and two-token" * (len(sums) > 2)
        words = f"over all {over} completions the mean gradient of the scored log-probability is"
        should = "0"
    else:
        words = f"over the {most} likeliest of {vocabulary} tokens the mean gradient of the scored "
        words, should = f"{words}log-probability is", "that of log softmax(z / T)"
    worst = max(sums, key=lambda one: one.rest / one.tolerance)
    if worst.rest > worst.tolerance:
        raise Wrong(
            f"{words} not {should}: at T = {worst.t:.3g} it is off by {worst.rest:.2g} of its "
            f"terms (allowed {worst.tolerance:.1g}; scored at T = 1 it would be "
            f"{worst.at_one:.2g})",
            told,
        )
    if any(one.at_one < 3 * one.tolerance for one in sums):
        raise Undecided(f"{words} {should}, but so it would be if scores were those at T = 1", told)
    return Seen(
        f"{words} {should}, to {worst.rest:.1g} of its terms; scored at T = 1 it would be off by "
        f"{min(one.at_one for one in sums):.2g}",
        told,
    )


def _likeliest(probe: Probe, most: int) -> Any:
    """Return the ids to enumerate; all of them in their order, if they are few."""
    z = probe.z[0]
    return torch.arange(len(z)) if len(z) <= most else z.topk(most).indices


def _every(trainer: Guarded, probe: Probe, most: int, method: str) -> list[_Sum]:
    """Return the sums over completions of one token, and of two where they are few."""
    vocabulary = trainer.vocabulary
    sums = _sums(trainer, probe, _likeliest(probe, most), 1, method)
    if vocabulary**2 <= MOST_PAIRS and vocabulary <= most:
        sums += _sums(trainer, probe, torch.arange(vocabulary), 2, method)
    return sums


def _scored(trainer: Guarded, prompts: Any, completions: Any, t: Any, method: str) -> Any:
    """Return log-probabilities by the trainer's scoring, or by its plain forward pass, (B, L)."""
    if method == "score":
        return trainer.score(prompts, completions, t)[0]
    z = exact(trainer.logits(torch.cat([prompts, completions], 1))[:, prompts.shape[1] - 1 : -1])
    logs = (z / t.to(z)[:, None, None]).log_softmax(-1)
    return logs.gather(-1, completions.to(z.device)[..., None])[..., 0]


def _sums(trainer: Guarded, probe: Probe, ids: Any, length: int, method: str) -> list[_Sum]:
    prompt, both = probe.prompts[:1], (probe.low, probe.high)
    every = torch.cartesian_prod(*[ids] * length).view(-1, length)
    weights = [_chances(trainer, prompt, t, ids, length) for t in both]
    totals = [[torch.zeros_like(exact(p)) for p in trainer.parameters()] for _ in both]
    step = max(1, chunk_rows(trainer.vocabulary, prompt.shape[1] + length) // 2)
    for at in torch.arange(len(every)).split(step):
        # Both temperatures in one batch: one for all rows would be wrong for one of the two.
        rows = at.repeat_interleave(2)
        t = torch.tensor(both, dtype=torch.float32).repeat(len(at))
        logs = _scored(trainer, prompt.expand(len(rows), -1), every[rows], t, method)
        for which, total in enumerate(totals):
            each = exact(logs[which::2].sum(-1))
            value = (weights[which][at].to(each.device) * each).sum()
            _add(total, trainer.gradients(value, method, again=which == 0))
    found = []
    for t, total in zip(both, totals, strict=True):
        terms, expected, at_one = _sizes(trainer, prompt, t, ids, probe.seed)
        if len(ids) < trainer.vocabulary:
            _add(total, [None if part is None else -part for part in expected])
        allowed = probe.precision.of_sums(t)
        found.append(_Sum(length, t, _norm(total) / terms, at_one / terms, allowed))
    return found


def _chances(trainer: Guarded, prompt: Any, t: float, ids: Any, length: int) -> Any:
    """Return pi_T of all completions of these tokens, (K ** length,), float64."""
    exactly = float(np.float32(t))
    first = last_logits(trainer, prompt)[:, 0]
    logs = right(first, first.new_full((1,), exactly))[0, ids]
    if length == 2:
        longer = torch.cat([prompt.expand(len(ids), -1), ids[:, None]], 1)
        second = last_logits(trainer, longer)[:, 0]
        behind = right(second, second.new_full((len(ids),), exactly))[:, ids]
        logs = (logs[:, None] + behind).ravel()
    return logs.exp()


def _sizes(
    trainer: Guarded, prompt: Any, t: float, ids: Any, seed: int
) -> tuple[float, list[Any], float]:
    """Return how large the terms are, their sum, and how far that of pi_T grad log pi_1 is off.

    All by plain forward passes, for completions of one token. The terms' size is the root of the
    sum of their squares: with random signs, terms add up to that on average.
    """
    z = exact(trainer.logits(prompt)[0, -1])
    here = ids.to(z.device)
    logs = (z / float(np.float32(t))).log_softmax(-1)[here]
    chances = logs.detach().exp()
    rng = np.random.default_rng(seed + 5)
    squares = []
    for _ in range(4):
        signs = torch.from_numpy(rng.choice([-1.0, 1.0], len(ids))).to(z.device)
        value = (signs * chances * logs).sum()
        squares.append(_norm(trainer.gradients(value, "logits", again=True)) ** 2)
    expected = trainer.gradients((chances * logs).sum(), "logits", again=True)
    gap = (chances * (z.log_softmax(-1)[here] - logs)).sum()
    off = _norm(trainer.gradients(gap, "logits"))
    return max(float(np.mean(squares)) ** 0.5, 1e-300), expected, off


def _add(total: list[Any], parts: list[Any]) -> None:
    for kept, part in zip(total, parts, strict=True):
        if part is not None:
            kept += exact(part)


def _norm(parts: list[Any]) -> float:
    squares = (float(exact(part).square().sum()) for part in parts if part is not None)
    return math.sqrt(sum(squares))
