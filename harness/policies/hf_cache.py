"""Attention states of prompts seen before, so that a conversation is read once."""

from __future__ import annotations

import bisect
import functools
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["KV", "ROOM", "PrefixStore", "is_plain", "size", "stack", "unstack"]

#: tokens by which a batch's memory grows
ROOM = 256

#: bytes of a token in a key
_WIDTH = 4

#: for each layer, keys and values of one sequence: (heads, tokens, head size)
KV = list[tuple[Any, Any]]


def is_plain(model: Any) -> bool:
    """Tell whether a model keeps nothing but keys and values of every token.

    Such states can be cut, padded and joined; recurrent ones (or layers that share states)
    cannot, and their models are run a row at a time.
    """
    from transformers import cache_utils

    if not hasattr(cache_utils.DynamicCache(), "layers"):
        return False
    config = model.config.get_text_config(decoder=True)
    if getattr(config, "num_kv_shared_layers", 0):
        return False
    layers = cache_utils.DynamicCache(config=model.config).layers
    plain = (cache_utils.DynamicLayer, cache_utils.DynamicSlidingWindowLayer)
    return all(type(layer) in plain for layer in layers)


def size(kv: KV) -> int:
    """Return the bytes that one sequence's states take."""
    return sum(t.numel() * t.element_size() for pair in kv for t in pair)


@functools.cache
def _layer_class() -> Any:
    import torch
    from transformers.cache_utils import DynamicLayer

    class RoomyLayer(DynamicLayer):  # type: ignore[misc]
        """A layer with memory set aside to grow in, where transformers copies all each step."""

        def __init__(self, keys: Any, values: Any, length: int) -> None:
            super().__init__()
            self.device, self.dtype = keys.device, keys.dtype
            self.is_initialized = True
            self._all = (keys, values)
            self._show(length)

        def _show(self, length: int) -> None:
            self.keys, self.values = (whole[:, :, :length] for whole in self._all)

        def update(self, key_states: Any, value_states: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
            begin = self.keys.shape[-2]
            end = begin + key_states.shape[-2]
            lacking = end - self._all[0].shape[-2]
            if lacking > 0:
                size = max(lacking, ROOM)
                self._all = tuple(
                    torch.nn.functional.pad(whole, (0, 0, 0, size)) for whole in self._all
                )
            for whole, new in zip(self._all, (key_states, value_states), strict=True):
                whole[:, :, begin:end] = new
            self._show(end)
            return self.keys, self.values

        def batch_select_indices(self, indices: Any) -> None:
            length = self.keys.shape[-2]
            self._all = tuple(whole[indices.to(whole.device)] for whole in self._all)
            self._show(length)

    return RoomyLayer


def stack(rows: Sequence[KV], lengths: Sequence[int], width: int, room: int | None = None) -> Any:
    """Return a cache of a batch, from the first tokens of each row's states, padded on the left.

    Args:
        rows: states, of at least as many tokens as `lengths` says; [] for a row without any.
        lengths: tokens to take of each row.
        width: tokens of the batch.
        room: tokens that are to come; memory for no more than `ROOM` of them is set aside.
    """
    import torch
    from transformers import DynamicCache

    ahead = width + (ROOM if room is None else min(room, ROOM))
    cache = DynamicCache()
    known = next((kv for kv in rows if kv), [])
    for layer in range(len(known) if width else 0):
        both = []
        for part in (0, 1):
            sample = known[layer][part]
            heads, _, depth = sample.shape
            # Zeros, not what memory happens to hold: a masked NaN would still spread.
            block = torch.zeros(
                len(rows), heads, ahead, depth, dtype=sample.dtype, device=sample.device
            )
            for index, (kv, length) in enumerate(zip(rows, lengths, strict=True)):
                if length:
                    block[index, :, width - length : width] = kv[layer][part][:, :length]
            both.append(block)
        cache.layers.append(_layer_class()(*both, width))
    return cache


def unstack(cache: Any, row: int, length: int) -> KV:
    """Return the states of one row's last `length` tokens, as copies."""
    return [
        (layer.keys[row, :, -length:].clone(), layer.values[row, :, -length:].clone())
        for layer in cache.layers
    ]


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
        """Keep the states of a sequence, in place of what it continues."""
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
        self._kept[fresh] = kv, cost
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
