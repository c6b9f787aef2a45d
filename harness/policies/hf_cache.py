"""Attention states of prompts seen before, so that a conversation is read once."""

from __future__ import annotations

import bisect
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from agentenvs.harness.policies.hf_states import KV, size

__all__ = ["PrefixStore"]

#: bytes of a token in a key
_WIDTH = 4


class PrefixStore:
    """Keeps the states of the latest sequences, up to a number of bytes.

    Sequences are held in the order of their tokens, where what shares most with a prompt stands
    right beside it: a look-up costs the same whether ten are kept or a hundred thousand.

    Args:
        limit: bytes; 0 keeps nothing.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._kept: OrderedDict[bytes, tuple[KV, int]] = OrderedDict()
        self._order: list[bytes] = []
        self._bytes = 0

    def __len__(self) -> int:
        """Return how many sequences are kept."""
        return len(self._kept)

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._order.clear()
        self._bytes = 0

    def find(self, ids: Sequence[int]) -> tuple[KV, int]:
        """Return the states that reach furthest into a prompt, and how many tokens they cover.

        At least the last token is left to read, since its logits are wanted.
        """
        wanted = _key(ids[:-1])
        at = bisect.bisect_left(self._order, wanted)
        best, reach = b"", 0
        for key in self._order[max(0, at - 1) : at + 1]:
            shared = _common(key, wanted)
            if shared > reach:
                best, reach = key, shared
        if not reach:
            return [], 0
        self._kept.move_to_end(best)
        return self._kept[best][0], reach

    def add(self, ids: Sequence[int], kv: KV) -> None:
        """Keep copies of the states of a sequence, in place of what it continues."""
        cost = size(kv)
        if cost > self.limit:
            return
        fresh = _key(ids)
        at = bisect.bisect_left(self._order, fresh)
        if self._order[at : at + 1] and self._order[at].startswith(fresh):
            return
        # None that is kept continues another, so no more than one can be continued here.
        if at and fresh.startswith(self._order[at - 1]):
            self._drop(self._order[at - 1])
            at -= 1
        self._order.insert(at, fresh)
        self._kept[fresh] = [(keys.clone(), values.clone()) for keys, values in kv], cost
        self._bytes += cost
        while self._bytes > self.limit:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: bytes) -> None:
        self._bytes -= self._kept.pop(key)[1]
        del self._order[bisect.bisect_left(self._order, key)]


def _key(ids: Sequence[int]) -> bytes:
    """Return tokens as bytes that sort as the tokens do."""
    return np.asarray(ids, dtype=">u4").tobytes()


def _common(left: bytes, right: bytes) -> int:
    """Return how many tokens two keys share at their beginning."""
    length = min(len(left), len(right)) // _WIDTH
    ours, theirs = (np.frombuffer(key, np.uint32, length) for key in (left, right))
    differ = ours != theirs
    return int(differ.argmax()) if differ.any() else length
