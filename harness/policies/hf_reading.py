"""Prompts being read, a bounded number of tokens at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from agentenvs.harness.policies.hf_decode import Decoder
from agentenvs.harness.policies.hf_rows import Row
from agentenvs.harness.policies.hf_states import KV, stack, unstack

__all__ = ["Read", "Reading"]


class Read(NamedTuple):
    """A prompt that was read.

    Attributes:
        ids: its tokens.
        rows: those that begin with it.
        logits: of the token behind it, (vocabulary,).
        states: of all its tokens, as views; the whole cache where the model is not plain.
    """

    ids: tuple[int, ...]
    rows: list[Row]
    logits: Any
    states: Any


class Reading:
    """Reads different prompts as one batch, from where the kept states end.

    Args:
        decoder: the model.
        rows: by prompt (with what was drawn already), the rows that begin with it. More than one
            prompt only where the model is plain.
    """

    def __init__(self, decoder: Decoder, rows: dict[tuple[int, ...], list[Row]]) -> None:
        self.rows = rows
        self._logits: Any = None
        self._decoder = decoder
        self._prompts = list(rows)
        self._width = max(map(len, self._prompts))
        found = [decoder.store.find(prompt) for prompt in self._prompts]
        # Whoever lacks less reads as many tokens as who lacks most, so that all end together.
        lacking = zip(self._prompts, found, strict=True)
        self._unread = max(len(prompt) - reach for prompt, (_, reach) in lacking)
        kept = [max(0, len(prompt) - self._unread) for prompt in self._prompts]
        self._cache: Any = None
        if decoder.plain:
            states: Sequence[KV] = [kv for kv, _ in found]
            self._cache = stack(states, kept, self._width - self._unread, self._unread)

    def __iter__(self) -> Iterator[Read]:
        """Yield each prompt, once all is read."""
        plain = self._decoder.plain
        for index, ids in enumerate(self._prompts):
            states = unstack(self._cache, index, len(ids)) if plain else self._cache
            yield Read(ids, self.rows[ids], self._logits[index], states)

    def step(self, tokens: int) -> bool:
        """Read about so many tokens more; True when all is read."""
        decoder = self._decoder
        take = min(self._unread, max(1, tokens // len(self._prompts)))
        if not decoder.plain:
            take = self._unread
        end = self._width - self._unread + take
        padding = [self._width - len(prompt) for prompt in self._prompts]
        ids = [
            [prompt[column - pad] if column >= pad else 0 for column in range(end - take, end)]
            for prompt, pad in zip(self._prompts, padding, strict=True)
        ]
        mask = None
        if decoder.plain:
            mask = decoder.tensor([[0] * min(pad, end) + [1] * (end - pad) for pad in padding])
        self._logits, self._cache = decoder.forward(decoder.tensor(ids), self._cache, mask)
        self._unread -= take
        return not self._unread
