"""Kinds of servers: what each takes beyond OpenAI's own fields, and what it tells of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from agentenvs.errors import PolicyError, did_you_mean

__all__ = ["KINDS", "Kind", "Offer", "find_model"]


class Kind(NamedTuple):
    """What one kind of server takes.

    Attributes:
        name: "openai", "vllm", "sglang", "llamacpp" or "transformers".
        pins: fields beyond OpenAI's, at values that change nothing in a distribution.
        left: sampling fields that this kind may default by itself and takes from nobody.
        stops: most stop strings in a request, or None for any number.
        at_once: requests at a time where the user does not say.
    """

    name: str
    pins: Mapping[str, Any]
    left: tuple[str, ...] = ()
    stops: int | None = None
    at_once: int = 256

    def fields(self, temperature: float) -> Mapping[str, Any]:
        """Return `pins` as they are sent."""
        if self.name != "transformers":
            return self.pins
        # It takes them as one text, and samples nothing unless it is told to.
        settings = {**self.pins["generation_config"], "do_sample": temperature > 0}
        return {"generation_config": json.dumps(settings)}


_ENGINE = {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
_TRANSFORMERS = {
    "top_k": 0,
    "min_p": 0.0,
    "typical_p": 1.0,
    "epsilon_cutoff": 0.0,
    "eta_cutoff": 0.0,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "num_beams": 1,
}
# Temperature comes before the nucleus, as in vLLM, SGLang and transformers: by itself llama.cpp
# takes the nucleus of the distribution at temperature 1.
_LLAMACPP = {
    "samplers": ["temperature", "top_p"],
    "top_k": 0,
    "min_p": 0.0,
    "typical_p": 1.0,
    "top_n_sigma": -1.0,
    "xtc_probability": 0.0,
    "dry_multiplier": 0.0,
    "dynatemp_range": 0.0,
    "mirostat": 0,
    "adaptive_target": -1.0,
    "repeat_penalty": 1.0,
    "repeat_last_n": 0,
    # A prompt that is read in other portions is rounded otherwise: with the cache, the order of
    # requests changed 3 of 12 replies at temperature 1.
    "cache_prompt": False,
}

#: name -> kind; a server of no known kind is treated as "openai"
KINDS: Mapping[str, Kind] = {
    "openai": Kind("openai", {}, ("min_p", "repetition_penalty", "top_k"), stops=4),
    "vllm": Kind("vllm", _ENGINE),
    "sglang": Kind("sglang", _ENGINE),
    "llamacpp": Kind("llamacpp", _LLAMACPP),
    # Its seed is the whole process's, set as a request comes in.
    "transformers": Kind("transformers", {"generation_config": _TRANSFORMERS}, at_once=1),
}


class Offer(NamedTuple):
    """What a server tells of a model.

    Attributes:
        kind: of the server, None where it cannot be told.
        context: most tokens of prompt and completion together, None where it is not told.
    """

    kind: str | None = None
    context: int | None = None


def find_model(listed: Any, model: str) -> Offer:
    """Return what the reply to `GET /models` says of a model.

    Args:
        listed: the reply; anything that is no list of models tells nothing.
        model: its name.

    Raises:
        PolicyError: the server lists models, and not this one.
    """
    rows = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        return Offer()
    named = {name: row for row in rows if isinstance(row, dict) for name in _names(row)}
    if model not in named:
        if not named:
            return Offer()
        raise PolicyError(
            f"The server has no model {model!r:.200}.{did_you_mean(model, list(named))}"
        )
    row = named[model]
    return Offer(_kind(row), _context(row))


def _names(row: Mapping[str, Any]) -> list[str]:
    aliases = row.get("aliases")
    names = [row.get("id"), *(aliases if isinstance(aliases, list) else ())]
    return [name for name in names if isinstance(name, str)]


def _kind(row: Mapping[str, Any]) -> str | None:
    owner = row.get("owned_by")
    if owner in ("vllm", "sglang", "llamacpp"):
        return str(owner)
    if owner in ("openai", "system", "openai-internal"):
        return "openai"
    # `transformers serve` gives the model's owner, and alone says whether the model is loaded.
    status = row.get("status")
    if isinstance(status, dict) and status.get("value") in ("loaded", "unloaded"):
        return "transformers"
    return None


def _context(row: Mapping[str, Any]) -> int | None:
    meta = row.get("meta")
    told = [row.get("max_model_len"), meta.get("n_ctx") if isinstance(meta, dict) else None]
    for length in (*told, row.get("context_length")):
        if isinstance(length, int) and not isinstance(length, bool) and length > 0:
            return length
    return None
