"""The trainer behind a guard: what it raises or returns amiss is told apart from our own faults."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from agentenvs.harness.ptgs.selftest.outcome import TrainerRaised, Wrong
from agentenvs.harness.ptgs.selftest.protocol import Played, Trace, Trained, Trainer

__all__ = ["Guarded"]


class Guarded:
    """A trainer whose answers have the shapes that they should.

    Args:
        build: makes the trainer.
        sampler: for it.

    Raises:
        TrainerRaised, NotImplementedError: what `build` raised.
        Wrong: `vocabulary` or `tokens` make no sense, or there is nothing in training.
    """

    def __init__(self, build: Callable[[Any], Trainer], sampler: Any) -> None:
        with _told("build"):
            self._trainer = build(sampler)
        with _told("vocabulary"):
            self.vocabulary = self._trainer.vocabulary
        size = self.vocabulary
        if isinstance(size, bool) or not isinstance(size, int) or size < 2:
            raise Wrong(f"`vocabulary` is {size!r}, expected an int of at least 2")
        self.tokens = self._tokens()

    def parameters(self) -> list[Any]:
        """Return the tensors in training."""
        with _told("parameters"):
            found = list(self._trainer.parameters())
        if not all(isinstance(p, torch.Tensor) for p in found):
            raise Wrong("`parameters` gave something that is no tensor")
        if not any(p.requires_grad for p in found):
            raise Wrong("`parameters` gave no tensor that requires a gradient")
        return [p for p in found if p.requires_grad]

    def logits(self, ids: Any) -> Any:
        """Return (B, L, V)."""
        with _told("logits"):
            got = self._trainer.logits(ids)
        got = _shaped("logits", got, (*ids.shape, self.vocabulary))
        if not got.is_floating_point():
            raise Wrong(f"`logits` gave {got.dtype}, expected floats")
        return got

    def sample(self, prompts: Any, temperatures: Any, length: int) -> Any:
        """Return (B, length) on the CPU."""
        with _told("sample"):
            got = self._trainer.sample(prompts, temperatures, length)
        got = _shaped("sample", got, (len(prompts), length)).detach().cpu()
        if got.is_floating_point() or got.is_complex():
            raise Wrong(f"`sample` gave {got.dtype}, expected whole numbers")
        return got

    def score(self, prompts: Any, completions: Any, temperatures: Any) -> tuple[Any, Any]:
        """Return log-probabilities and entropies, (B, L)."""
        with _told("score"):
            got = self._trainer.score(prompts, completions, temperatures)
        if not isinstance(got, tuple | list) or len(got) != 2:
            raise Wrong(f"`score` gave {type(got).__name__}, expected (log_probs, entropies)")
        wanted = tuple(completions.shape)
        logs = _shaped("score", got[0], wanted)
        return logs, None if got[1] is None else _shaped("score", got[1], wanted)

    def gradients(self, value: Any, method: str, *, again: bool = False) -> list[Any]:
        """Return the gradient of a number for each of the parameters, None where it has none.

        Args:
            value: the number.
            method: whose graph it is.
            again: whether the graph is needed again.
        """
        if not value.requires_grad:
            raise Wrong(f"`{method}` gave numbers without a graph: nothing can learn from them")
        with _told(f"{method}, backwards"):
            return list(
                torch.autograd.grad(value, self.parameters(), retain_graph=again, allow_unused=True)
            )

    def step(self) -> Trace:
        """Return the trace of one step."""
        with _told("step"):
            got = self._trainer.step()
        if not isinstance(got, Trace):
            raise Wrong(f"`step` gave {type(got).__name__}, expected a Trace")
        played, trained = _rows(got, "played", Played), _rows(got, "trained", Trained)
        if not played:
            raise Wrong("`step` showed no rollouts in `Trace.played`")
        try:
            return Trace(list(map(_played, played)), list(map(_trained, trained)))
        except Exception as error:
            raise Wrong(f"`step` showed rows that cannot be read: {error}") from error

    def save(self, folder: str) -> None:
        """Write a checkpoint."""
        with _told("save"):
            self._trainer.save(folder)

    def load(self, folder: str) -> None:
        """Read a checkpoint."""
        with _told("load"):
            self._trainer.load(folder)

    def _tokens(self) -> Any:
        trainer: Any = self._trainer
        with _told("tokens"):
            # `getattr` takes a property that raises AttributeError for none.
            there = hasattr(type(trainer), "tokens") or hasattr(trainer, "tokens")
            named = trainer.tokens if there else None
        if named is None:
            return torch.arange(self.vocabulary)
        try:
            ids = [operator.index(i) for i in named]
        except (TypeError, ValueError):
            raise Wrong(f"`tokens` is {_short(named)}, expected ids") from None
        if len(set(ids)) < 2 or min(ids) < 0 or max(ids) >= self.vocabulary:
            raise Wrong(f"`tokens` are {ids[:8]}, expected 2 ids or more below {self.vocabulary}")
        return torch.tensor(ids)


def _rows(trace: Trace, name: str, kind: type) -> list[Any]:
    given = getattr(trace, name)
    if not isinstance(given, Iterable):
        raise Wrong(f"`Trace.{name}` is a {type(given).__name__}, expected a list")
    with _told("step"):
        rows = list(given)
    for one in rows:
        if not isinstance(one, kind):
            raise Wrong(f"`Trace.{name}` has a {type(one).__name__}, no {kind.__name__}")
    return rows


def _short(value: Any) -> str:
    words = repr(value)
    return words if len(words) <= 60 else f"{words[:60]}..."


def _played(row: Played) -> Played:
    task = row.task.item() if isinstance(row.task, np.generic) else row.task
    if not isinstance(task, str | int):
        raise ValueError(f"`task` is {_short(task)}, expected a string or a whole number")
    return Played(task, float(row.temperature), _ids(row.tokens), _verdict(row.success))


def _verdict(success: Any) -> bool | None:
    if success is None:
        return None
    if success != success:
        raise ValueError("`success` is no number; give None where there is no verdict")
    return bool(success)


def _trained(row: Trained) -> Trained:
    return Trained(
        _ids(row.tokens),
        float(row.temperature),
        None if row.log_probs is None else [float(x) for x in row.log_probs],
        None if row.old_log_probs is None else [float(x) for x in row.old_log_probs],
        None if row.positions is None else _ids(row.positions),
        int(row.update),
    )


def _ids(values: Iterable[Any]) -> tuple[int, ...]:
    return tuple(int(i) for i in values)


@contextmanager
def _told(method: str) -> Iterator[None]:
    try:
        yield
    except NotImplementedError:
        raise
    except Exception as error:
        raise TrainerRaised(method, error) from error


def _shaped(method: str, got: Any, wanted: tuple[int, ...]) -> Any:
    if not isinstance(got, torch.Tensor):
        raise Wrong(f"`{method}` gave {type(got).__name__}, expected a tensor")
    if tuple(got.shape) != wanted:
        raise Wrong(f"`{method}` gave shape {tuple(got.shape)}, expected {wanted}")
    return got
