"""The two small models that come along, for `agentenvs/ToolLab-v0`."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from agentenvs.errors import PolicyError, UnknownName, did_you_mean
from agentenvs.harness.exchange import Completion, Request
from agentenvs.harness.policies.hf import HFPolicy
from agentenvs.harness.policies.hf_load import load
from agentenvs.toollab.vocabulary import ID

__all__ = ["MODELS", "folder", "from_spec"]

#: bundled models; `scripts/lab-models` makes them anew
MODELS = ("base", "grpo")


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

    async def generate(self, request: Request) -> Completion:
        said = request.messages or ({"role": "user", "content": request.prompt or ""},)
        words = (word for message in said[:1] for word in message["content"].split())
        strange = next((word for word in words if word not in ID), None)
        if strange is not None:
            raise PolicyError(
                f"Expected words of ToolLab alone, got {strange!r:.40}. The bundled models know no "
                'others: play "ToolLab" with harness="none" (--harness none), without `manual`.'
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
    """Return the policy `lab:base` or `lab:grpo`, run by transformers as any `hf` policy.

    They know the words of ToolLab alone: play them there with `harness="none"`.

    Args:
        rest: "base", pre-trained on demonstrations, or "grpo", trained on from there on outcomes.
        dtype: as for `hf`.
        device: as for `hf`.
        max_batch: see `HFPolicy`; such small models are quickest in large batches.
        threads: see `HFPolicy`; and on one thread.
        settings: further arguments of `HFPolicy`.

    Raises:
        UnknownName: there is no such model.
        PolicyError: torch or transformers is missing; at play, a prompt in other words.
        BadArgument: an argument out of range.
    """
    model, tokenizer, _ = load(str(folder(rest)), dtype=dtype, device=device)
    settings = {"name": f"lab:{rest}", **settings}
    return _LabPolicy(model, tokenizer, max_batch=max_batch, threads=threads, **settings)
