"""A causal language model's forward pass, as the decoding loop uses it."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

from agentenvs.errors import PolicyError
from agentenvs.harness.policies.hf_cache import PrefixStore
from agentenvs.harness.policies.hf_states import is_plain

__all__ = ["Decoder"]


class Decoder:
    """Runs one causal language model and keeps states of past prompts.

    Of the model it uses `forward` alone: no setting of its generation config takes part.

    Args:
        model: a transformers causal language model.
        prefix_bytes: how much to keep of the attention states of past prompts.

    Attributes:
        plain: True where rows can be padded and joined.
        store: the states of past prompts.

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

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Put the model into the state for answering, and back into the one before."""
        import torch

        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self.model.train(training)

    def forget_if_trained(self) -> bool:
        """Drop kept states when the weights have changed in place since the last call."""
        weights = tuple(
            (p.data_ptr(), 0 if p.is_inference() else p._version) for p in self.model.parameters()
        )
        if weights == self._weights:
            return False
        self.store.clear()
        self._weights = weights
        return True

    def release(self) -> None:
        """Drop kept states, and give memory that is not in use back to the device."""
        import torch

        self.store.clear()
        device: Any = getattr(torch, self.model.device.type, None)
        if hasattr(device, "empty_cache"):
            device.empty_cache()

    def tensor(self, values: Any) -> Any:
        """Return integers as a tensor where the model lies."""
        import torch

        return torch.tensor(values, dtype=torch.long, device=self.model.device)

    def forward(self, ids: Any, cache: Any, mask: Any = None) -> tuple[Any, Any]:
        """Return the last column's logits, (rows, vocabulary), and the cache.

        Args:
            ids: tokens to read, (rows, new).
            cache: states of what was read before, or None.
            mask: 1 for tokens and 0 for padding on the left, (rows, before + new); None where a
                model is run a row at a time.
        """
        inputs = {"input_ids": ids, self._cache_name: cache, "use_cache": True}
        if mask is not None:
            inputs["attention_mask"] = mask
            inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        if "logits_to_keep" in self._accepted:
            inputs["logits_to_keep"] = 1
        out = self.model(**inputs)
        return out.logits[:, -1], getattr(out, self._cache_name)
