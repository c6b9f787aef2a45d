"""Is the mean gradient of the scored log-probability nothing under the policy that played?

At its own temperature the sum over all y of pi_T(y) grad log pi_T(y) is 0, whatever the model.
All one-token completions are enumerated, and all of two tokens where they are few. pi_T comes
from plain forward passes, log pi from the trainer's scoring, with one backward a chunk.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from agentenvs.harness.ptgs.selftest.explanations import right
from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.outcome import Found, Undecided, Wrong
from agentenvs.harness.ptgs.selftest.probe import Probe, chunk_rows, last_logits

__all__ = ["MOST_PAIRS", "identity"]

#: two-token completions are enumerated up to this number of them
MOST_PAIRS = 4096


class _Sum(NamedTuple):
    """The sum, relative to the size of its terms, and the same of log pi_1."""

    length: int
    t: float
    rest: float
    at_one: float
    tolerance: float


def identity(trainer: Guarded, probe: Probe) -> Found:
    """Enumerate at two temperatures, mixed in one batch.

    Raises:
        Wrong: the sum is not 0.
        Undecided: it would be as small if T were 1.
    """
    lengths = [1] + [2] * (trainer.vocabulary**2 <= MOST_PAIRS)
    sums = [one for length in lengths for one in _sums(trainer, probe, length)]
    told = {
        f"{name}/{one.length}/{one.t:.3g}": getattr(one, name)
        for one in sums
        for name in ("rest", "at_one")
    }
    worst = max(sums, key=lambda one: one.rest / one.tolerance)
    every = " and ".join("one-token" if length == 1 else "two-token" for length in lengths)
    if worst.rest > worst.tolerance:
        raise Wrong(
            f"over all {every} completions the mean gradient of the scored log-probability at "
            f"T = {worst.t:.3g} is {worst.rest:.2g} of its terms, expected 0 "
            f"(allowed {worst.tolerance:.1g}; scored at T = 1 it would be {worst.at_one:.2g})",
            told,
        )
    if any(one.at_one < 3 * one.tolerance for one in sums):
        raise Undecided(
            "the sum is 0, but it would be as small if scores were those at T = 1", told
        )
    return Found(
        f"over all {every} completions the mean gradient of the scored log-probability is 0, to "
        f"{worst.rest:.1g} of its terms; scored at T = 1 it would be "
        f"{min(one.at_one for one in sums):.2g}",
        told,
    )


def _sums(trainer: Guarded, probe: Probe, length: int) -> list[_Sum]:
    vocabulary = trainer.vocabulary
    prompt, heat = probe.prompts[:1], (probe.low, probe.high)
    every = torch.cartesian_prod(*[torch.arange(vocabulary)] * length).view(-1, length)
    weights = [_chances(trainer, prompt, t, length) for t in heat]
    totals = [
        [torch.zeros_like(p, dtype=torch.float64) for p in trainer.parameters()] for _ in heat
    ]
    step = max(1, chunk_rows(vocabulary, prompt.shape[1] + length) // 2)
    for at in torch.arange(len(every)).split(step):
        # Both temperatures in one batch: one for all rows would be wrong for one of the two.
        rows = at.repeat_interleave(2)
        t = torch.tensor(heat, dtype=torch.float32).repeat(len(at))
        logs, _ = trainer.score(prompt.expand(len(rows), -1), every[rows], t)
        for which, total in enumerate(totals):
            weight = weights[which][at].to(logs.device)
            value = (weight * logs[which::2].sum(-1).double()).sum()
            grads = trainer.gradients(value, "score", again=which == 0)
            for kept, grad in zip(total, grads, strict=True):
                if grad is not None:
                    kept += grad
    sizes = [_sizes(trainer, prompt, t, probe.seed) for t in heat]
    found = []
    for t, total, (terms, at_one) in zip(heat, totals, sizes, strict=True):
        rest = _norm(total) / terms
        allowed = probe.precision.of_sums(t)
        found.append(_Sum(length, t, rest, at_one / terms, allowed))
    return found


def _chances(trainer: Guarded, prompt: Any, t: float, length: int) -> Any:
    """Return pi_T of all completions, (V ** length,), float64."""
    vocabulary = trainer.vocabulary
    first = last_logits(trainer, prompt)[:, 0]
    logs = right(first, first.new_full((1,), float(np.float32(t))))[0]
    if length == 2:
        ids = torch.cat([prompt.expand(vocabulary, -1), torch.arange(vocabulary)[:, None]], 1)
        second = last_logits(trainer, ids)[:, 0]
        logs = (
            logs[:, None] + right(second, second.new_full((vocabulary,), float(np.float32(t))))
        ).ravel()
    return logs.exp()


def _sizes(trainer: Guarded, prompt: Any, t: float, seed: int) -> tuple[float, float]:
    """Return how large the terms are, and the sum of pi_T grad log pi_1, both of one token.

    The terms' size is the root of the sum of their squares: with random signs, terms add up to
    that on average.
    """
    z = trainer.logits(prompt)[0, -1].double()
    logs = (z / t).log_softmax(-1)
    chances = logs.detach().exp()
    rng = np.random.default_rng(seed + 5)
    squares = []
    for _ in range(4):
        signs = torch.from_numpy(rng.choice([-1.0, 1.0], len(z))).to(z.device)
        value = (signs * chances * logs).sum()
        squares.append(_norm(trainer.gradients(value, "logits", again=True)) ** 2)
    at_one = _norm(trainer.gradients((chances * z.log_softmax(-1)).sum(), "logits"))
    return max(float(np.mean(squares)) ** 0.5, 1e-300), at_one


def _norm(parts: list[Any]) -> float:
    squares = (float(part.double().square().sum()) for part in parts if part is not None)
    return math.sqrt(sum(squares))
