"""A trainer's own generation, made to draw each row at its own temperature."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs.trl.rows import temperatures_of

__all__ = ["by_transformers", "by_vllm", "limited"]

#: what a model's own generation config may ask for, and what stands for nothing of it
_PINNED = {
    "do_sample": True,
    "num_beams": 1,
    "temperature": 1.0,
    "top_k": 0,
    "top_p": 1.0,
    "repetition_penalty": 1.0,
}
#: arguments of `generate` by which it draws from something else
_SHAPING = ("logits_processor", "prefix_allowed_tokens_fn", "custom_generate")


@contextlib.contextmanager
def by_transformers(model: Any, config: Any, temperatures: Sequence[float]) -> Iterator[None]:
    """Let `model.generate` divide each row's logits by its temperature, and by nothing else.

    Fields that `config` leaves open are not filled in from the model's own generation config,
    which may ask for a cut of the distribution.

    Args:
        model: without wrappers.
        config: the generation config that the trainer passes.
        temperatures: of the rows, in their order.

    Raises:
        BadArgument: within, `generate` is asked to change the distribution further.
    """
    import torch
    from transformers import GenerationConfig, LogitsProcessorList

    from agentenvs.harness.ptgs.scoring import RowTemperature

    generate = model.generate
    # A wrapper passes the method of what it wraps; that one's config is read.
    inner = getattr(generate, "__self__", model)
    inner = inner.get_base_model() if hasattr(inner, "get_base_model") else inner
    own = inner.generation_config
    heat = torch.tensor(temperatures, dtype=torch.float32, device=inner.device)

    def generated(*args: Any, **kwargs: Any) -> Any:
        for name in _SHAPING:
            if kwargs.get(name):
                raise BadArgument(
                    f"Expected `generate` without `{name}`, got {kwargs[name]!r}: tokens are "
                    "scored under softmax(z / T) of the whole vocabulary."
                )
        kwargs["logits_processor"] = LogitsProcessorList([RowTemperature(heat)])
        return generate(*args, **kwargs)

    inner.generation_config = GenerationConfig()
    try:
        with _set(config, _PINNED), _generating(model, generated):
            yield
    finally:
        inner.generation_config = own


@contextlib.contextmanager
def by_vllm(generation: Any) -> Iterator[None]:
    """Let TRL's vLLM backend ask for each prompt at its own temperature.

    The prompts bring their temperatures, also those of other processes. Colocated, each has its
    own sampling parameters in the one call. A server gets one request for each temperature.

    Args:
        generation: `trainer.vllm_generation`.
    """
    if generation.mode == "colocate":
        holder, through = generation.llm, _in_process
    else:
        holder, through = getattr(generation, "vllm_client", None), _by_server
    if holder is None:  # only the main process talks to the server
        yield
        return
    with _generating(holder, through(holder.generate)):
        yield


@contextlib.contextmanager
def limited(trainer: Any, tokens: int) -> Iterator[None]:
    """Let a trainer draw at most so many tokens a row."""
    if trainer.use_vllm:
        holder, name = trainer.vllm_generation, "max_completion_length"
    else:
        holder, name = trainer.generation_config, "max_new_tokens"
    with _set(holder, {name: tokens}):
        yield


@contextlib.contextmanager
def _set(holder: Any, values: Mapping[str, Any]) -> Iterator[None]:
    """Let attributes have other values, their own after that."""
    before = {name: getattr(holder, name) for name in values}
    for name, value in values.items():
        setattr(holder, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(holder, name, value)


@contextlib.contextmanager
def _generating(holder: Any, generate: Any) -> Iterator[None]:
    """Let `holder.generate` be another function, its own after that."""
    before = vars(holder).get("generate")
    holder.generate = generate
    try:
        yield
    finally:
        if before is None:
            del holder.generate
        else:
            holder.generate = before


def _in_process(generate: Any) -> Any:
    def generated(prompts: Sequence[Any], *, sampling_params: Any, **kwargs: Any) -> Any:
        heat = temperatures_of([prompt["prompt_token_ids"] for prompt in prompts])
        each = []
        for temperature in heat:
            params = sampling_params.clone()
            params.temperature = temperature
            each.append(params)
        return generate(prompts, sampling_params=each, **kwargs)

    return generated


def _by_server(generate: Any) -> Any:
    def generated(
        prompts: Sequence[Any], *, n: int, features: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        if n != 1:
            raise BadArgument(f"Expected one completion a prompt, each has its own row, got n={n}.")
        heat = temperatures_of(prompts)
        places: dict[float, list[int]] = {}
        for at, temperature in enumerate(heat):
            places.setdefault(temperature, []).append(at)
        merged: dict[str, Any] = {}
        for temperature, rows in places.items():
            told = generate(
                prompts=[list(prompts[at]) for at in rows],
                features=None if features is None else [features[at] for at in rows],
                n=1,
                **{**kwargs, "temperature": temperature},
            )
            for key, values in told.items():
                if values is None:
                    merged.setdefault(key, None)
                    continue
                if len(values) != len(rows):
                    raise BadArgument(
                        f"Expected {len(rows)} `{key}` from the server, got {len(values)}."
                    )
                column = merged.setdefault(key, [None] * len(prompts))
                for at, value in zip(rows, values, strict=True):
                    column[at] = value
        return merged

    return generated
