"""A small language model, the same as a Llama of transformers, for thousands of short dialogues.

Stepping many rows at once takes small matrix products; what surrounds them decides the speed.
Here the three projections of attention are one product, the two of the gate another, and
stepping keeps features before rows, so that every operation runs along memory.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from agentenvs.errors import BadArgument
from agentenvs.harness.lab import llama
from agentenvs.harness.lab.llama import EPS, THETA, Shape
from agentenvs.toollab.vocabulary import VOCABULARY

__all__ = ["Cache", "Shape", "TinyLM", "load", "save"]


class Cache:
    """Keys and values of every token that a batch has been fed, all rows equally many.

    Attributes:
        length: tokens fed so far.
        keys, values: for each layer, (room, heads, head size, rows).
    """

    def __init__(self, keys: list[Any], values: list[Any], length: int) -> None:
        self.keys = keys
        self.values = values
        self.length = length

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.keys[0].shape[-1])

    def take(self, rows: Any) -> Cache:
        """Return a cache of these rows, (R,) indices; a row may be taken several times."""

        def taken(whole: Any) -> Any:
            part = whole.new_empty(*whole.shape[:-1], len(rows))
            # Flat, since torch is ten times as slow at picking from the last of many dimensions.
            old, new = (t[: self.length].flatten(0, 2) for t in (whole, part))
            torch.index_select(old, 1, rows, out=new)
            return part

        return Cache([taken(k) for k in self.keys], [taken(v) for v in self.values], self.length)


class _Block(nn.Module):  # type: ignore[misc]
    """Attention and gated part of one layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        d, m = shape.width, shape.inner
        self.shape = shape
        self.norm1 = nn.Parameter(torch.ones(d))
        self.qkv = nn.Parameter(torch.empty(3 * d, d))
        self.out = nn.Parameter(torch.empty(d, d))
        self.norm2 = nn.Parameter(torch.ones(d))
        self.gate_up = nn.Parameter(torch.empty(2 * m, d))
        self.down = nn.Parameter(torch.empty(d, m))

    def forward(self, x: Any, turn: Any, mask: Any) -> Any:
        """Return (B, L, d) from (B, L, d), the rotations (L, 1, head / 2) and the mask (L, L)."""
        batch, length, d = x.shape
        heads, size = self.shape.heads, self.shape.head
        mixed = functional.linear(functional.rms_norm(x, (d,), self.norm1, EPS), self.qkv)
        # Splits, not slices: their gradients are put together once, not each into zeros.
        both, v = mixed.split((2 * d, d), -1)
        pairs = torch.view_as_complex(both.view(batch, length, 2 * heads, size // 2, 2))
        turned = torch.view_as_real(pairs * turn).flatten(-2)
        q, k = turned.split(heads, 2)
        v = v.view(batch, length, heads, size)
        weights = torch.matmul(q.transpose(1, 2), k.permute(0, 2, 3, 1)) * size**-0.5 + mask
        seen = torch.matmul(weights.softmax(-1), v.transpose(1, 2))
        x = x + functional.linear(seen.transpose(1, 2).reshape(batch, length, d), self.out)
        both = functional.linear(functional.rms_norm(x, (d,), self.norm2, EPS), self.gate_up)
        gate, up = both.chunk(2, -1)
        return x + functional.linear(functional.silu(gate) * up, self.down)

    def step(self, x: Any, keys: Any, values: Any, turn: tuple[Any, Any], at: int) -> Any:
        """Return (d, B) from the newest token's (d, B); its key and value are put at `at`."""
        d, batch = x.shape
        heads, size, m = self.shape.heads, self.shape.head, self.shape.inner
        mixed = self.qkv @ _norm(x, self.norm1)
        even, odd = mixed[: 2 * d].view(2 * heads, size // 2, 2, batch).unbind(2)
        cos, sin = turn
        turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), 2)
        turned = turned.view(2 * heads, size, batch)
        keys[at] = turned[heads:]
        values[at] = mixed[2 * d :].view(heads, size, batch)
        scores = (keys[: at + 1] * turned[:heads]).sum(2).mul_(size**-0.5)
        weights = scores.softmax(0).unsqueeze(2)
        x = x + self.out @ (values[: at + 1] * weights).sum(0).view(d, batch)
        both = self.gate_up @ _norm(x, self.norm2)
        return x + self.down @ functional.silu(both[:m]).mul_(both[m:])


def _norm(x: Any, weight: Any) -> Any:
    """Normalise columns: x / sqrt(mean(x^2) + eps) * weight."""
    return x.square().mean(0, keepdim=True).add_(EPS).rsqrt_() * x * weight[:, None]


class TinyLM(nn.Module):  # type: ignore[misc]
    """A causal language model with the architecture of `LlamaForCausalLM`.

    RMS norms, rotary positions and a gated inner part; embeddings and output are not tied.
    `save` writes a folder that transformers loads, `load` reads it back; the logits agree with
    those of transformers to 1e-5.

        >>> model = TinyLM.fresh(0)              # doctest: +SKIP
        >>> logits = model(torch.tensor([[3, 12, 16]]))         # (1, 3, 86) # doctest: +SKIP

    Args:
        shape: how large.

    Attributes:
        shape: the same.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Parameter(torch.empty(shape.vocabulary, shape.width))
        self.blocks = nn.ModuleList([_Block(shape) for _ in range(shape.layers)])
        self.norm = nn.Parameter(torch.ones(shape.width))
        self.head = nn.Parameter(torch.empty(shape.vocabulary, shape.width))
        speed = THETA ** -(torch.arange(0, shape.head, 2, dtype=torch.float64) / shape.head)
        angles = torch.arange(shape.context, dtype=torch.float64)[:, None] * speed
        turns = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
        self.register_buffer("turns", turns, persistent=False)

    @classmethod
    def fresh(cls, seed: int, **sizes: int) -> TinyLM:
        """Return an untrained model; the same seed and sizes give the same weights.

        Args:
            seed: of the model's own generator.
            sizes: fields of `Shape`.
        """
        model = cls(Shape(**sizes))
        generator = torch.Generator().manual_seed(seed)
        depth = math.sqrt(2 * model.shape.layers)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if weight.dim() != 2:
                    continue
                scale = 1.0 if name == "embed" else weight.shape[1] ** -0.5
                # What layers add to one another must not grow with their number.
                scale /= depth if name.endswith(("out", "down")) else 1.0
                weight.normal_(0.0, scale, generator=generator)
        return model

    def hidden(self, ids: Any) -> Any:
        """Return the last layer's normalised states, (B, L, d).

        Args:
            ids: (B, L) token ids. What stands behind a position does not matter to it, so that
                shorter rows may be filled up with anything at their end.

        Raises:
            BadArgument: sequences longer than the context.
        """
        length = ids.shape[1]
        if length > self.shape.context:
            raise BadArgument(
                f"Expected sequences of at most {self.shape.context} tokens, got {length}."
            )
        turn = self.turns[:length, None]
        mask = torch.full((length, length), -math.inf).triu(1)
        x = functional.embedding(ids, self.embed)
        for block in self.blocks:
            x = block(x, turn, mask)
        return functional.rms_norm(x, (self.shape.width,), self.norm, EPS)

    def forward(self, ids: Any) -> Any:
        """Return the logits of each next token, (B, L, vocabulary), from ids (B, L)."""
        return functional.linear(self.hidden(ids), self.head)

    def start(self, rows: int, length: int) -> Cache:
        """Return an empty cache for `rows` sequences of up to `length` tokens.

        Raises:
            BadArgument: a length beyond the context.
        """
        shape = self.shape
        if length > shape.context:
            raise BadArgument(f"Expected at most {shape.context} tokens, got {length}.")
        size = (length, shape.heads, shape.head, rows)
        keys, values = ([torch.empty(size) for _ in range(shape.layers)] for _ in range(2))
        return Cache(keys, values, 0)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, ids: Any, cache: Cache) -> Any:
        """Feed one token a row and return the logits of the next, (B, vocabulary).

        Args:
            ids: (B,) token ids.
            cache: what was fed before; it grows by this token.
        """
        at = cache.length
        turn = self.turns[at][:, None]
        x = self.embed[ids].t()
        for block, keys, values in zip(self.blocks, cache.keys, cache.values, strict=True):
            x = block.step(x, keys, values, (turn.real, turn.imag), at)
        cache.length = at + 1
        return _norm(x, self.norm).t() @ self.head.t()

    def copy(self) -> TinyLM:
        """Return a model with the same weights that shares none of them."""
        other = TinyLM(self.shape)
        other.load_state_dict(self.state_dict())
        return other

    def size(self) -> int:
        """Return the number of weights."""
        return sum(int(weight.numel()) for weight in self.parameters())


def save(model: TinyLM, folder: str | os.PathLike[str], words: Sequence[str] = VOCABULARY) -> None:
    """Write a model with a world's tokenizer as a folder that transformers loads.

    Args:
        model: the model.
        folder: made where it is missing; files of an earlier model are overwritten.
        words: the world's vocabulary, of which the tokenizer makes one token each; default
            ToolLab's. `agentenvs.harness.lab.tokenizer.words_of` reads it back.

    Raises:
        BadArgument: the model has not one token for each of the words.
    """
    llama.write(model.state_dict(), model.shape, folder, words)


def load(folder: str | os.PathLike[str]) -> TinyLM:
    """Return the model that `save` wrote.

    Raises:
        BadArgument: the folder holds no such model.
    """
    shape, state = llama.read(folder)
    model = TinyLM(shape)
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise BadArgument(f"The weights in {folder} are not of its config: {error}") from error
    return model
