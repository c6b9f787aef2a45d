"""Attention states of sequences, and windows on the memory that a batch of them grows in."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["KV", "is_plain", "layer_class", "size", "stack", "unstack"]

#: for each layer, keys and values of one sequence: (heads, tokens, head size)
KV = list[tuple[Any, Any]]

#: kinds of rotary positions whose frequencies follow the longest row of a batch
_SHARED_POSITIONS = ("dynamic", "longrope")


def is_plain(model: Any) -> bool:
    """Tell whether a model keeps nothing but keys and values of every token.

    Such states can be cut, padded and joined; recurrent ones (or layers that share states)
    cannot, and their models are run a row at a time. So are those whose positions depend on
    the longest row of a batch.
    """
    from transformers import cache_utils

    if not hasattr(cache_utils.DynamicCache(), "layers"):
        return False
    config = model.config.get_text_config(decoder=True)
    if getattr(config, "num_kv_shared_layers", 0):
        return False
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None)
    if _rope_kinds(rope) & set(_SHARED_POSITIONS):
        return False
    layers = cache_utils.DynamicCache(config=model.config).layers
    plain = (cache_utils.DynamicLayer, cache_utils.DynamicSlidingWindowLayer)
    return all(type(layer) in plain for layer in layers)


def _rope_kinds(rope: object) -> set[str]:
    """Return the kinds of rotary positions that a config names, for all layers or for each kind."""
    if not isinstance(rope, Mapping):
        return set()
    own = {str(rope[key]) for key in ("rope_type", "type") if key in rope}
    return own.union(*(_rope_kinds(value) for value in rope.values()))


def size(kv: KV) -> int:
    """Return the bytes that one sequence's states take."""
    return sum(t.numel() * t.element_size() for pair in kv for t in pair)


@functools.cache
def layer_class() -> Any:
    """Return the class of a cache layer that shows a part of memory set aside beforehand.

    The layers of transformers copy all states at every step; this one writes beside them.
    """
    from transformers.cache_utils import DynamicLayer

    class Window(DynamicLayer):  # type: ignore[misc]
        """Keys and values: some rows and some columns of `whole`."""

        def __init__(self, keys: Any, values: Any) -> None:
            super().__init__()
            self.device, self.dtype = keys.device, keys.dtype
            self.is_initialized = True
            self.whole = (keys, values)
            self.show(0, 0, 0)

        def show(self, rows: int, begin: int, end: int) -> None:
            """Show the first rows, from column `begin` to before `end`."""
            self._rows, self._begin, self._end = rows, begin, end
            self.keys, self.values = (whole[:rows, :, begin:end] for whole in self.whole)

        def update(self, key_states: Any, value_states: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
            end = self._end + key_states.shape[-2]
            for whole, new in zip(self.whole, (key_states, value_states), strict=True):
                whole[: self._rows, :, self._end : end] = new
            self.show(self._rows, self._begin, end)
            return self.keys, self.values

    return Window


def stack(rows: Sequence[KV], lengths: Sequence[int], width: int, room: int) -> Any:
    """Return a cache of a batch, from the first tokens of each row's states, padded on the left.

    Args:
        rows: states, of at least as many tokens as `lengths` says; [] for a row without any.
        lengths: tokens to take of each row.
        width: tokens of the batch.
        room: tokens that are to come.
    """
    from transformers import DynamicCache

    cache = DynamicCache()
    known = next((kv for kv in rows if kv), [])
    for layer in range(len(known) if width else 0):
        both = []
        for part in (0, 1):
            sample = known[layer][part]
            heads, _, depth = sample.shape
            # Zeros, not what memory happens to hold: a masked NaN would still spread.
            block = sample.new_zeros(len(rows), heads, width + room, depth)
            for index, (kv, length) in enumerate(zip(rows, lengths, strict=True)):
                if length:
                    block[index, :, width - length : width] = kv[layer][part][:, :length]
            both.append(block)
        window = layer_class()(*both)
        window.show(len(rows), 0, width)
        cache.layers.append(window)
    return cache


def unstack(cache: Any, row: int, length: int) -> KV:
    """Return the states of one row's last `length` tokens, as views."""
    return [
        (layer.keys[row, :, -length:], layer.values[row, :, -length:]) for layer in cache.layers
    ]
