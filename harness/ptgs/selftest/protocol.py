"""What the self-test asks of a trainer, and what a trainer shows of one step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Played", "Trace", "Trained", "Trainer"]


@dataclass(frozen=True)
class Played:
    """One rollout as it was played.

    Attributes:
        task: the id that the sampler was asked with.
        temperature: that it was played at.
        tokens: what tells the rollout from others: all its ids, or those that are scored. The
            same tokens as in `Trained`.
        success: whether it succeeded; None where there is no verdict, such as after an outage.
            Such a rollout counts in no group that the sampler is told of.
    """

    task: str | int
    temperature: float
    tokens: Sequence[int]
    success: bool | None


@dataclass(frozen=True)
class Trained:
    """One row that reached the loss. A row that reaches it twice is listed twice.

    Attributes:
        tokens: as in `Played`.
        temperature: that the row was scored at.
        log_probs: what the loss saw of the current policy, one number a scored token; none where
            the loss masks the whole row.
        old_log_probs: what it saw of the policy that played, likewise: those that the ratio is
            taken against, or `log_probs` themselves where a loss keeps no others.
        positions: where the scored tokens lie in `tokens`, if these are a whole row of ids that
            begins with the prompt and can be given to `Trainer.logits` as it is. With them, the
            numbers above are compared with a forward pass of the self-test's own.
        update: how many optimiser steps this `step` had taken when the row was scored. Rows with
            0 were scored by the policy that played.
    """

    tokens: Sequence[int]
    temperature: float
    log_probs: Sequence[float] | None = None
    old_log_probs: Sequence[float] | None = None
    positions: Sequence[int] | None = None
    update: int = 0


@dataclass(frozen=True)
class Trace:
    """One step: all rollouts that were played, and the rows that reached the loss, in order."""

    played: Sequence[Played]
    trained: Sequence[Trained]


class Trainer(Protocol):
    """A trainer as the self-test sees it; wrap yours in a class with these names.

    Ids are int64, temperatures float32, both on the CPU; what is returned may lie on any device.
    Have dropout switched off: the self-test compares forward passes. What a method cannot do, it
    says by raising NotImplementedError, and the checks that need it are not run.

    A trainer may have an attribute `tokens`, the ids that the self-test may put into prompts and
    completions: without those for padding and for the end, if these are treated in another way.
    """

    vocabulary: int

    def parameters(self) -> Iterable[Any]:
        """Return the tensors in training."""
        ...

    def logits(self, ids: Any) -> Any:
        """Return (B, L, V) of a plain forward pass over (B, L) ids, at T = 1, with graph."""
        ...

    def sample(self, prompts: Any, temperatures: Any, length: int) -> Any:
        """Return `length` tokens a row, (B, length), by the trainer's own generation.

        Args:
            prompts: (B, P).
            temperatures: (B,), one a row.
            length: how many tokens; behind an end token stands anything, -1 too.
        """
        ...

    def score(self, prompts: Any, completions: Any, temperatures: Any | None) -> tuple[Any, Any]:
        """Return log-probabilities and entropies, both (B, L), by the trainer's own scoring.

        With graph. None in the place of entropies where the trainer has none. With None in the
        place of temperatures it has to raise.
        """
        ...

    def step(self) -> Trace:
        """Do one whole step of training, the sampler asked and told as ever, and show it.

        Let it draw by the same function as `sample`: no check sees whether it does.
        """
        ...

    def save(self, folder: str) -> None:
        """Write a checkpoint into an empty folder."""
        ...

    def load(self, folder: str) -> None:
        """Take over a checkpoint; the trainer was built afresh."""
        ...
