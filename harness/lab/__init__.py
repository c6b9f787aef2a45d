"""The controlled study: a small model that learned from known data, post-trained in several ways.

Names load when they are first used; they need the extra `hf`. `pretrain`, `evaluate` and the
ways of post-training are functions of the modules of these names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agentenvs.errors import AgentEnvsError

if TYPE_CHECKING:
    from agentenvs.harness.lab.model import Shape, TinyLM, load, save
    from agentenvs.harness.lab.rollouts import Rollouts, sample, score
    from agentenvs.harness.lab.tokenizer import build_tokenizer
    from agentenvs.harness.lab.world import TensorWorld

__all__ = [
    "Rollouts",
    "Shape",
    "TensorWorld",
    "TinyLM",
    "build_tokenizer",
    "load",
    "sample",
    "save",
    "score",
]

_HOMES = {
    "Rollouts": "rollouts",
    "Shape": "model",
    "TensorWorld": "world",
    "TinyLM": "model",
    "build_tokenizer": "tokenizer",
    "load": "model",
    "sample": "rollouts",
    "save": "model",
    "score": "rollouts",
}
_EXTRA = ("torch", "transformers", "tokenizers", "safetensors")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'agentenvs.harness.lab' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"agentenvs.harness.lab.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise AgentEnvsError(f"The lab needs {error.name}: pip install 'agentenvs[hf]'") from error


def __dir__() -> list[str]:
    return sorted(__all__)
