"""The controlled study: a small model that learned from known data, post-trained in several ways.

Names load when they are first used; all but the settings and what reads a study's folder need
the extra `lab`. `pretrain`, `evaluate` and the ways of post-training are functions of the modules
of these names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agentenvs.errors import AgentEnvsError

if TYPE_CHECKING:
    from agentenvs.harness.lab.config import LabConfig, bundled
    from agentenvs.harness.lab.folder import StudyFolder
    from agentenvs.harness.lab.model import Shape, TinyLM, load, save
    from agentenvs.harness.lab.rollouts import Rollouts, sample, score
    from agentenvs.harness.lab.study import run_study
    from agentenvs.harness.lab.tokenizer import build_tokenizer
    from agentenvs.harness.lab.world import TensorWorld

__all__ = [
    "LabConfig",
    "Rollouts",
    "Shape",
    "StudyFolder",
    "TensorWorld",
    "TinyLM",
    "build_tokenizer",
    "bundled",
    "load",
    "run_study",
    "sample",
    "save",
    "score",
]

_HOMES = {
    "LabConfig": "config",
    "Rollouts": "rollouts",
    "Shape": "model",
    "StudyFolder": "folder",
    "TensorWorld": "world",
    "TinyLM": "model",
    "build_tokenizer": "tokenizer",
    "bundled": "config",
    "load": "model",
    "run_study": "study",
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
        raise AgentEnvsError(f"The lab needs {error.name}: pip install 'agentenvs[lab]'") from error


def __dir__() -> list[str]:
    return sorted(__all__)
