"""Settings of a trainer under which tokens would be scored otherwise than they were drawn."""

from __future__ import annotations

from typing import Any

from agentenvs.errors import BadArgument

__all__ = ["check_server", "check_settings", "drops_out"]

_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "top_p": (1.0,),
    "top_k": (0, None),
    "min_p": (0.0, None),
    "repetition_penalty": (1.0,),
}
# None of these changes what a token's probability is.
_HARMLESS = frozenset(
    {
        "cache_config",
        "cache_implementation",
        "compile_config",
        "disable_compile",
        "max_new_tokens",
        "max_time",
        "max_tokens",
        "pad_token_id",
        "prefill_chunk_size",
        "stop",
        "stop_token_ids",
        "use_cache",
    }
)
_REFUSED = {
    "logprobs": "the trainer asks for the chances that it needs",
    "seed": "every row is a request of its own, so that rows of one group would all be the same; "
    "give the trainer's own `seed`",
    "stop_strings": "transformers needs a tokenizer for it that the trainer does not pass on, and "
    "vLLM calls it `stop`",
}


def check_settings(args: Any) -> None:
    """Check that the temperature is all that stands between logits and drawn tokens.

    Raises:
        BadArgument: another setting reshapes the distribution; names it.
    """
    odd = [
        f"{name}={getattr(args, name)!r}"
        for name, neutral in _NEUTRAL.items()
        if getattr(args, name) not in neutral
    ]
    for name, value in (args.generation_kwargs or {}).items():
        if name in _REFUSED:
            raise BadArgument(
                f"Expected `generation_kwargs` without {name!r}, got {value!r}: {_REFUSED[name]}."
            )
        if name not in _HARMLESS and value not in _NEUTRAL.get(name, ()):
            odd.append(f"generation_kwargs[{name!r}]={value!r}")
    if odd:
        raise BadArgument(
            f"Expected the temperature alone to shape what is drawn, got {', '.join(odd)}: "
            "tokens are scored under softmax(z / T) of the whole vocabulary, so that they have "
            "to be drawn from it (top_p=1, top_k=0, min_p=None, repetition_penalty=1)."
        )
    if args.use_transformers_continuous_batching:
        raise BadArgument(
            "Expected `use_transformers_continuous_batching=False`: its generate_batch takes one "
            "temperature for all rows."
        )
    if args.use_liger_kernel:
        raise BadArgument(
            "Expected `use_liger_kernel=False`: it replaces the forward pass from which rows are "
            "scored."
        )
    if args.vllm_structured_outputs_regex is not None:
        raise BadArgument(
            "Expected `vllm_structured_outputs_regex=None`, got "
            f"{args.vllm_structured_outputs_regex!r}: what it rules out is scored as if it could "
            "be drawn."
        )
    temperature = args.temperature
    if not isinstance(temperature, int | float) or not 0 < temperature < float("inf"):
        raise BadArgument(f"Expected `temperature` above 0, got {temperature!r}.")


def check_server(trainer: Any) -> None:
    """Check that a vLLM server tells chances at the temperatures that it drew at.

    Colocated, TRL sees to that itself.

    Raises:
        BadArgument: it tells those at T = 1, and the trainer corrects by them.
    """
    if not (
        trainer.use_vllm
        and trainer.vllm_mode == "server"
        and trainer.vllm_importance_sampling_correction
        and trainer.accelerator.is_main_process
    ):
        return
    told = trainer.vllm_generation.vllm_client.get_server_info()["model_config"]["logprobs_mode"]
    if told != "processed_logprobs":
        raise BadArgument(
            f"Expected a vLLM server with `--logprobs-mode processed_logprobs`, got {told}: "
            "importance ratios would compare chances at T = 1 with those at each row's own "
            "temperature. Restart it so, or set `vllm_importance_sampling_correction=False`."
        )


def drops_out(model: Any) -> str | None:
    """Return the name of a module of the model that drops out, or None if there is none."""
    from torch.nn.modules.dropout import _DropoutNd

    layers = model.named_modules()
    return next((name for name, one in layers if isinstance(one, _DropoutNd) and one.p > 0), None)
