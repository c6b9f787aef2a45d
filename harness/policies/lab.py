"""The two small models that come along, for `agentenvs/ToolLab-v0`."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from agentenvs.errors import UnknownName, did_you_mean
from agentenvs.harness.policies.hf import HFPolicy
from agentenvs.harness.policies.hf import from_spec as hf_from_spec

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


def from_spec(rest: str, *, max_batch: int = 128, **settings: Any) -> HFPolicy:
    """Return the policy `lab:base` or `lab:grpo`, run by transformers as any `hf` policy.

    They know the words of ToolLab alone: play them there with `harness="none"`.

    Args:
        rest: "base", pre-trained on demonstrations, or "grpo", trained on from there on outcomes.
        max_batch: see `HFPolicy`; such small models are quickest in large batches.
        settings: as for `hf`.

    Raises:
        UnknownName: there is no such model.
        PolicyError: torch or transformers is missing.
        BadArgument: an argument out of range.
    """
    policy = hf_from_spec(str(folder(rest)), max_batch=max_batch, **settings)
    policy.name = f"lab:{rest}"
    return policy
