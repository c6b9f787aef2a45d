"""The order of tasks as a trainer goes through them, also where it is resumed in a later epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["Order"]


class Order:
    """A sampler of TRL's whose order hangs on its seed and on the epoch alone.

    TRL's `RepeatSampler` shuffles by a generator that starts anew when training is resumed, so
    that every later epoch would repeat the first. This one draws what was drawn before.

    Args:
        sampler: a `RepeatSampler`.
        trainer: its `state.epoch` tells the epoch.
    """

    def __init__(self, sampler: Any, trainer: Any) -> None:
        self._sampler, self._trainer = sampler, trainer

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[int]:
        import torch

        inner = self._sampler
        if inner.shuffle and inner.seed is not None:
            inner.generator.manual_seed(inner.seed)
            for _ in range(int(self._trainer.state.epoch or 0)):
                torch.randperm(inner.num_samples, generator=inner.generator)
        yield from inner
