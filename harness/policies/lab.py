"""The small models that come along: two for ToolLab, one for FrozenLakeText."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from agentenvs.errors import PolicyError, UnknownName, did_you_mean
from agentenvs.harness.exchange import Completion, Request
from agentenvs.harness.policies.hf import HFPolicy
from agentenvs.harness.policies.hf_load import load

__all__ = ["MODELS", "folder", "from_spec"]

#: bundled models; `scripts/lab-models` and `scripts/lake-model` make them anew
MODELS = ("base", "grpo", "lake")
_WORLDS = {"base": "ToolLab", "grpo": "ToolLab", "lake": "FrozenLakeText"}


def folder(name: str) -> Path:
    """Return where a bundled model lies, in the format of transformers.

    Raises:
        UnknownName: there is no such model.
    """
    if name not in MODELS:
        raise UnknownName(f"There is no bundled model {name!r}.{did_you_mean(name, MODELS)}")
    return Path(str(resources.files("agentenvs.assets").joinpath("lab", name)))


class _LabPolicy(HFPolicy):
    """A bundled model, which says so where it is asked in words that it does not know."""

    def __init__(self, world: str, model: Any, tokenizer: Any, **settings: Any) -> None:
        super().__init__(model, tokenizer, **settings)
        self._world, self._words = world, frozenset(tokenizer.get_vocab())
        self._room = int(model.config.max_position_embeddings)

    async def generate(self, request: Request) -> Completion:
        said = request.messages or ({"role": "user", "content": request.prompt or ""},)
        words = (word for message in said[:1] for word in message["content"].split())
        strange = next((word for word in words if word not in self._words), None)
        if strange is not None:
            raise PolicyError(
                f"Expected words of {self._world} alone, got {strange!r:.40}. This bundled model "
                f'knows no others: play "{self._world}" with harness="none" and manual=False '
                "(--harness none --env manual=false --max-tokens 6)."
            )
        if request.max_tokens >= self._room:
            raise PolicyError(
                f"Expected `max_tokens` below {self._room}, all that this bundled model takes, "
                f"got {request.max_tokens}: its turns are of 6 tokens at most (--max-tokens 6)."
            )
        return await super().generate(request)


def from_spec(
    rest: str,
    *,
    dtype: str = "auto",
    device: str = "auto",
    max_batch: int = 128,
    threads: int | None = 1,
    **settings: Any,
) -> HFPolicy:
    """Return one of the policies `lab:NAME`, run by transformers as any `hf` policy.

    They know the words of one world alone: play them there with `harness="none"`.

    Args:
        rest: "base", pre-trained on ToolLab's demonstrations, "grpo", trained on from there on
            outcomes, or "lake", pre-trained on demonstrations for FrozenLakeText.
        dtype: as for `hf`.
        device: as for `hf`.
        max_batch: see `HFPolicy`; such small models are quickest in large batches.
        threads: see `HFPolicy`; and on one thread.
        settings: further arguments of `HFPolicy`.

    Raises:
        UnknownName: there is no such model.
        PolicyError: torch or transformers is missing; at play, a prompt in other words, or
            `max_tokens` that leave no room for one.
        BadArgument: an argument out of range.
    """
    model, tokenizer, _ = load(str(folder(rest)), dtype=dtype, device=device)
    settings = {"name": f"lab:{rest}", **settings}
    return _LabPolicy(
        _WORLDS[rest], model, tokenizer, max_batch=max_batch, threads=threads, **settings
    )
