"""The decoding loop: read prompts, draw tokens row by row, let finished rows go."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from agentenvs.errors import PolicyError
from agentenvs.harness.policies.hf_cache import KV, PrefixStore, is_plain, stack, unstack
from agentenvs.harness.policies.hf_rows import Row
from agentenvs.harness.policies.hf_sampling import draw

__all__ = ["Decoder"]

#: unread tokens up to which prompts are read together; longer ones fill the machine alone
_SHORT = 256


class Decoder:
    """Completes rows with one causal language model.

    Of the model it uses `forward` alone: no setting of its generation config takes part.

    Args:
        model: a transformers causal language model.
        prefix_bytes: how much to keep of the attention states of past prompts.

    Raises:
        PolicyError: the model's `forward` takes no cache.
    """

    def __init__(self, model: Any, prefix_bytes: int) -> None:
        accepted = inspect.signature(model.forward).parameters
        # The name differs between versions of transformers.
        names = [name for name in ("cache", "past_key_values") if name in accepted]
        if not names:
            raise PolicyError(f"Expected a model that takes a cache, got {type(model).__name__}.")
        self.model = model
        # Rows of different lengths need their own positions, and states that can be padded.
        self.plain = "position_ids" in accepted and is_plain(model)
        self.store = PrefixStore(prefix_bytes if self.plain else 0)
        self._accepted = accepted
        self._cache_name = names[0]
        self._weights: tuple[tuple[int, int], ...] = ()

    def run(self, rows: Sequence[Row]) -> None:
        """Complete every row, in place."""
        import torch

        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode():
                self._forget_if_trained()
                if self.plain:
                    self._run(list(rows))
                else:
                    for row in rows:
                        self._run_alone(row)
        finally:
            self.model.train(training)

    def _forget_if_trained(self) -> None:
        """Drop kept states when the weights have changed in place since the last batch."""
        weights = tuple(
            (p.data_ptr(), 0 if p.is_inference() else p._version) for p in self.model.parameters()
        )
        if weights != self._weights:
            self.store.clear()
            self._weights = weights

    def _forward(self, ids: Any, mask: Any, cache: Any) -> tuple[Any, Any]:
        """Return the last token's logits, (rows, vocabulary), and the cache."""
        inputs = {"input_ids": ids, self._cache_name: cache, "use_cache": True}
        if mask is not None:
            inputs["attention_mask"] = mask
            inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        if "logits_to_keep" in self._accepted:
            inputs["logits_to_keep"] = 1
        out = self.model(**inputs)
        return out.logits[:, -1], getattr(out, self._cache_name)

    def _tensor(self, values: Any) -> Any:
        import torch

        return torch.tensor(values, dtype=torch.long, device=self.model.device)

    def _run_alone(self, row: Row) -> None:
        """Complete one row without padding, which some models' states do not bear."""
        ids, cache = self._tensor([row.prompt_ids]), None
        while not row.done:
            logits, cache = self._forward(ids, None, cache)
            self._draw(logits, [row])
            ids = self._tensor([row.ids[-1:]])

    def _draw(self, logits: Any, rows: Sequence[Row]) -> None:
        tokens, logprobs = draw(
            logits,
            [row.temperature for row in rows],
            [row.top_p for row in rows],
            [row.uniform() for row in rows],
        )
        for row, token, logprob in zip(rows, tokens, logprobs, strict=True):
            row.take(token, logprob)

    def _read(self, prompts: Sequence[tuple[int, ...]]) -> list[tuple[Any, KV]]:
        """Return each prompt's last logits and states, reading only what is not kept."""
        read: dict[tuple[int, ...], tuple[Any, KV]] = {}
        waiting = list(prompts)
        while waiting:
            # A long prompt is read alone, and what it shares with the others is then known.
            short = [p for p in waiting if len(p) - self.store.find(p)[1] <= _SHORT]
            self._read_together(short or waiting[:1], read)
            waiting = [p for p in waiting if p not in read]
        return [read[p] for p in prompts]

    def _read_together(
        self, prompts: Sequence[tuple[int, ...]], read: dict[tuple[int, ...], tuple[Any, KV]]
    ) -> None:
        found = [self.store.find(p) for p in prompts]
        width = max(len(p) for p in prompts)
        chunk = max(len(p) - reach for p, (_, reach) in zip(prompts, found, strict=True))
        cached = [max(0, len(p) - chunk) for p in prompts]
        cache = stack([kv for kv, _ in found], cached, width - chunk, chunk)
        ids = [[0] * (chunk - len(p)) + list(p[-chunk:]) for p in prompts]
        mask = [[0] * (width - len(p)) + [1] * len(p) for p in prompts]
        logits, cache = self._forward(self._tensor(ids), self._tensor(mask), cache)
        for index, prompt in enumerate(prompts):
            kv = unstack(cache, index, len(prompt))
            read[prompt] = (logits[index], kv)
            self.store.add(prompt, kv)

    def _run(self, rows: list[Row]) -> None:
        import torch

        prompts = [tuple(row.prompt_ids) for row in rows]
        distinct = list(dict.fromkeys(prompts))
        read = dict(zip(distinct, self._read(distinct), strict=True))
        lengths = [len(p) for p in prompts]
        width = max(lengths)
        longest = max(row.max_tokens for row in rows)
        cache = stack([read[p][1] for p in prompts], lengths, width, longest)
        logits = torch.stack([read[p][0] for p in prompts])
        del read
        mask = self._tensor([[0] * (width - n) + [1] * n for n in lengths])
        while True:
            # Rows that have ended but are not yet dropped are fed on, and drawn for no more.
            live = [i for i, row in enumerate(rows) if not row.done]
            if live:
                self._draw(logits[live], [rows[i] for i in live])
            ended = [i for i in live if rows[i].done]
            for i in ended:
                self._keep(rows[i], cache, i)
            live = [i for i in live if not rows[i].done]
            if not live:
                return
            if len(live) <= 0.75 * len(rows):
                cache.batch_select_indices(self._tensor(live))
                mask, rows = mask[live], [rows[i] for i in live]
            ids = self._tensor([row.ids[-1:] or [0] for row in rows])
            mask = torch.cat([mask, mask.new_ones(len(rows), 1)], -1)
            logits, cache = self._forward(ids, mask, cache)

    def _keep(self, row: Row, cache: Any, index: int) -> None:
        """Keep an ended row's states: its next prompt most likely goes on from here."""
        ids = row.prompt_ids + row.ids[:-1]
        if self.store.limit and row.finish_reason is not None:
            self.store.add(ids, unstack(cache, index, len(ids)))
