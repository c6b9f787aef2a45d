"""The rows that are being decoded, and their attention states."""

from __future__ import annotations

from typing import Any

from agentenvs.harness.policies.hf_decode import Decoder
from agentenvs.harness.policies.hf_rows import Row
from agentenvs.harness.policies.hf_states import KV, layer_class, unstack

__all__ = ["ROOM", "Alone", "Live", "grown"]

#: columns by which a batch's memory grows
ROOM = 256


def grown(rows: int) -> int:
    """Return for how many rows memory is set aside when so many are needed."""
    return rows + rows // 4


class Live:
    """A batch that rows join and leave between steps.

    The latest token of every row stands in the same column, the last one; what is left of a
    row's first token is padding. So a step appends one column, a row that joins is copied in
    from the right, and columns that none reaches any more are left behind.

    Args:
        decoder: a plain model.
        most: most rows.
    """

    def __init__(self, decoder: Decoder, most: int) -> None:
        self._decoder = decoder
        self._most = most
        self._rows: list[Row | None] = []
        self._lengths: list[int] = []
        self._cache: Any = None
        self._end = 0

    @property
    def rows(self) -> list[Row]:
        """The rows, in no particular order."""
        return [row for row in self._rows if row is not None]

    def join(self, row: Row, states: KV, length: int) -> None:
        """Take in a row whose last drawn token is still to be read.

        Args:
            row: with at least one drawn token.
            states: of all its tokens before that one.
            length: how many those are.
        """
        self._fit(states, length, 1)
        if None in self._rows:
            index = self._rows.index(None)
            self._rows[index], self._lengths[index] = row, length
        else:
            index = len(self._rows)
            self._rows.append(row)
            self._lengths.append(length)
        for layer, pair in zip(self._cache.layers, states, strict=True):
            for whole, new in zip(layer.whole, pair, strict=True):
                whole[index, :, self._end - length : self._end] = new

    def leave(self, row: Row, *, broken: bool = False) -> None:
        """Let a row go; of a broken one nothing stays, since a masked NaN would still spread."""
        index = self._rows.index(row)
        self._rows[index], self._lengths[index] = None, 0
        if broken:
            for layer in self._cache.layers:
                for whole in layer.whole:
                    whole[index] = 0
        if not self.rows:
            self.clear()

    def clear(self) -> None:
        """Let all rows go, and the memory."""
        self._rows, self._lengths, self._cache, self._end = [], [], None, 0

    def states(self, row: Row) -> KV:
        """Return the states of all tokens of a row but its last, as views."""
        index = self._rows.index(row)
        return unstack(self._cache, index, self._lengths[index])

    def step(self) -> tuple[list[Row], Any]:
        """Read the last token of every row; return the rows and their logits in order.

        Where it fails, nothing has changed.
        """
        import torch

        decoder = self._decoder
        self._close_gaps()
        rows, width = self.rows, max(self._lengths)
        self._fit(None, width, 1)
        for layer in self._cache.layers:
            layer.show(len(rows), self._end - width, self._end)
        lengths = decoder.tensor(self._lengths)[:, None]
        columns = torch.arange(width + 1, device=lengths.device)
        mask = (columns >= width - lengths).long()
        ids = decoder.tensor([row.ids[-1:] for row in rows])
        logits, _ = decoder.forward(ids, self._cache, mask)
        self._end += 1
        self._lengths = [length + 1 for length in self._lengths]
        return rows, logits

    def _close_gaps(self) -> None:
        for index in reversed(range(len(self._rows))):
            if self._rows[index] is not None:
                continue
            row, length = self._rows.pop(), self._lengths.pop()
            if index == len(self._rows):
                continue
            self._rows[index], self._lengths[index] = row, length
            for layer in self._cache.layers:
                for whole in layer.whole:
                    part = slice(self._end - length, self._end)
                    whole[index, :, part] = whole[len(self._rows), :, part]

    def _fit(self, states: KV | None, width: int, room: int) -> None:
        """Make sure of memory for one more row, of so many columns, and for columns to come."""
        used = max(self._lengths, default=0)
        width = max(width, used)
        rows = len(self._rows) + (states is not None and None not in self._rows)
        if self._cache is None:
            from transformers import DynamicCache

            self._cache = DynamicCache()
            self._cache.layers.extend(
                layer_class()(*(part.new_zeros(0, *part[:, :0].shape) for part in pair))
                for pair in states or ()
            )
        have, _, columns, _ = self._cache.layers[0].whole[0].shape
        if rows <= have and width <= self._end and self._end + room <= columns:
            return
        have = have if rows <= have else max(rows, min(grown(rows), self._most))
        for layer in self._cache.layers:
            moved = []
            for whole in layer.whole:
                # Zeros, not what memory happens to hold: a masked NaN would still spread.
                block = whole.new_zeros(have, whole.shape[1], width + ROOM, whole.shape[3])
                old = whole[:, :, self._end - used : self._end]
                block[: len(old), :, width - used : width] = old
                moved.append(block)
            layer.whole = tuple(moved)
            # What is shown keeps the old memory.
            layer.show(0, 0, 0)
        self._end = width


class Alone:
    """A single row, for models whose states bear no padding; used as `Live` is."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._cache: Any = None
        self.rows: list[Row] = []

    def join(self, row: Row, states: Any, length: int) -> None:
        """Take in a row with the cache that its prompt was read into."""
        self.rows, self._cache = [row], states

    def leave(self, row: Row, *, broken: bool = False) -> None:
        """Let the row go."""
        self.clear()

    def clear(self) -> None:
        """Let the row go, and its states."""
        self.rows, self._cache = [], None

    def step(self) -> tuple[list[Row], Any]:
        """Read the row's last token; return the row and its logits."""
        ids = self._decoder.tensor([self.rows[0].ids[-1:]])
        logits, self._cache = self._decoder.forward(ids, self._cache)
        return list(self.rows), logits
