"""What a trainer is probed with: prompts and temperatures at which mistakes show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from agentenvs.harness.ptgs.selftest.guard import Guarded
from agentenvs.harness.ptgs.selftest.outcome import Seen, Wrong

__all__ = [
    "Precision",
    "Probe",
    "chunk_rows",
    "exact",
    "forward",
    "last_logits",
    "make_probe",
    "sizes_of",
]

#: prompts that are looked at, their length, and how many of them are used
_POOL, _LENGTH, _USED = 64, 4, 8
#: pairs of temperatures, the first that will do is taken: then come colder ones for flat models
PAIRS = ((2 / 3, 1.5), (0.4, 2.5), (0.2, 0.6), (0.05, 0.15), (0.01, 0.03), (2.0, 6.0))
#: logits so far below the largest do not count
_FAR = 100.0
#: most numbers of one tensor of logits
_MOST = 1 << 25


@dataclass(frozen=True)
class Precision:
    """How far right numbers may lie apart.

    Attributes:
        name: the coarsest type among parameters and logits.
        eps: the distance of 1 to the next number of this type.
        noise: how far the logits of one row moved when the rows around it were others.
    """

    name: str
    eps: float
    noise: float = 0.0

    @property
    def steps(self) -> float:
        """How many steps of the type are granted to a number.

        Coarse types are rounded to from finer sums; in fine ones the order of a sum tells.
        """
        return 2.0 if self.eps > 1e-5 else 64.0

    def of_logits(self, largest: Any) -> Any:
        """Return the tolerance of logits up to `largest`, numbers or tensors."""
        return self.steps * self.eps * (1 + largest)

    def of_logs(self, largest: Any, t: Any) -> Any:
        """Return the tolerance of log-probabilities at temperature t, numbers or tensors."""
        return self.steps * self.eps * (1 + largest / t) + 4 * self.noise / t

    def of_sums(self, t: float) -> float:
        """Return the tolerance of a sum of gradients, relative to the size of its terms."""
        return 8 * self.steps * self.eps + 4 * self.noise / t


@dataclass(frozen=True)
class Probe:
    """Prompts for which two temperatures tell most, and those temperatures.

    Attributes:
        prompts: (M, P) int64.
        z: (M, V) float64, on the CPU.
        low: the colder temperature.
        high: the hotter one.
        precision: of the trainer's numbers.
        tokens: ids for prompts and completions.
        seed: of what the self-test draws.
    """

    prompts: Any
    z: Any
    low: float
    high: float
    precision: Precision
    tokens: Any
    seed: int

    @property
    def largest(self) -> float:
        """The size of the largest logit that counts."""
        return float(sizes_of(self.z).max())

    def temperatures(self, rows: int) -> Any:
        """Return as many different temperatures, in no order, float32."""
        rising = np.geomspace(self.low, self.high, rows)
        mixed = np.random.default_rng(self.seed + 1).permutation(rising)
        return torch.tensor(mixed, dtype=torch.float32)

    def completions(self, rows: int, length: int) -> Any:
        """Return (rows, length) ids."""
        rng = np.random.default_rng(self.seed + 2)
        return self.tokens[torch.from_numpy(rng.integers(0, len(self.tokens), (rows, length)))]


def chunk_rows(vocabulary: int, length: int) -> int:
    """Return how many rows of `length` tokens are fed at once."""
    return max(1, min(1024, _MOST // (vocabulary * length)))


def exact(x: Any) -> Any:
    """Return a tensor in float64, where its device knows that type, else on the CPU."""
    return (x.cpu() if x.device.type == "mps" else x).double()


def sizes_of(z: Any) -> Any:
    """Return the size of each row's largest logit, (..., V) to (...,), of those that count.

    Logits far below their row's largest, as of places that fill up a vocabulary, are never drawn.
    """
    return z.abs().where(z >= z.amax(-1, keepdim=True) - _FAR, 0.0).amax(-1)


def last_logits(trainer: Guarded, ids: Any, last: int = 1) -> Any:
    """Return the logits of the last places of (R, L) rows, (R, last, V), float64, on the CPU."""
    length = ids.shape[1]
    parts = []
    with torch.no_grad():
        for part in ids.split(chunk_rows(trainer.vocabulary, length)):
            parts.append(exact(trainer.logits(part)[:, length - last :]).cpu())
    return torch.cat(parts)


def forward(trainer: Guarded, seed: int) -> tuple[Precision, Seen]:
    """Return the precision of a trainer's forward pass, once it is known to repeat.

    Raises:
        Wrong: it does not, or rows or later tokens move it.
    """
    rng, tokens = np.random.default_rng(seed), trainer.tokens
    ids = tokens[torch.from_numpy(rng.integers(0, len(tokens), (_USED, _LENGTH + 2)))]
    ids = ids[: chunk_rows(trainer.vocabulary, ids.shape[1])]
    width = ids.shape[1]
    z = last_logits(trainer, ids, width)
    precision = _precision(trainer, ids)
    if not bool(torch.isfinite(z).all()):
        raise Wrong("`logits` gave numbers that are not finite")
    again = float((last_logits(trainer, ids, width) - z).abs().max())
    largest = float(sizes_of(z).max())
    allowed = precision.of_logits(largest)
    if again > allowed:
        raise Wrong(
            f"two forward passes over the same ids differ by {again:.2g}: dropout has to be off",
            {"difference": again, "tolerance": allowed},
        )
    turned = float((last_logits(trainer, ids.flip(0), width).flip(0) - z).abs().max())
    alone = float((last_logits(trainer, ids[:1], width) - z[:1]).abs().max())
    short = float((last_logits(trainer, ids[:, :-2], width - 2) - z[:, :-2]).abs().max())
    noise = max(again, turned, alone, short)
    if noise > allowed:
        what = "later tokens" if noise == short else "other rows"
        raise Wrong(
            f"{what} move a row's logits by {noise:.2g}: the forward pass has to be causal, and "
            "rows on their own",
            {"difference": noise, "tolerance": allowed},
        )
    return (
        Precision(precision.name, precision.eps, noise),
        Seen(
            f"the forward pass repeats, alone and among other rows, to {noise:.1g} "
            f"({precision.name})",
            {"difference": noise, "tolerance": allowed, "largest_logit": largest},
        ),
    )


def _precision(trainer: Guarded, ids: Any) -> Precision:
    types = [p.dtype for p in trainer.parameters()]
    with torch.no_grad():
        types.append(trainer.logits(ids[:1]).dtype)
    # Temperatures are float32, and so are scores, however fine the model is.
    types.append(torch.float32)
    coarsest = max(types, key=lambda kind: float(torch.finfo(kind).eps))
    return Precision(str(coarsest).removeprefix("torch."), float(torch.finfo(coarsest).eps))


def make_probe(
    trainer: Guarded, precision: Precision, seed: int, pair: tuple[float, float]
) -> Probe:
    """Return prompts of a pool for which the two temperatures tell most."""
    rng, tokens = np.random.default_rng(seed), trainer.tokens
    pool = tokens[torch.from_numpy(rng.integers(0, len(tokens), (_POOL, _LENGTH)))]
    z = last_logits(trainer, pool)[:, 0]
    cold, hot = ((z / t).softmax(-1) for t in pair)
    apart = (cold - hot).abs().sum(-1)
    best = apart.argsort(descending=True, stable=True)[:_USED]
    return Probe(pool[best], z[best], *pair, precision, tokens, seed)
