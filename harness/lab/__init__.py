"""The controlled study: a small model that learned from known data, post-trained in several ways.

Names load when they are first used; all but the settings and what reads a study's folder need
the extra `lab`. `pretrain`, `evaluate` and the ways of post-training are functions of the modules
of these names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentenvs.harness.lazy import Extra, lazily

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

_MODULES = {
    "config": ("LabConfig", "bundled"),
    "folder": ("StudyFolder",),
    "model": ("Shape", "TinyLM", "load", "save"),
    "rollouts": ("Rollouts", "sample", "score"),
    "study": ("run_study",),
    "tokenizer": ("build_tokenizer",),
    "world": ("TensorWorld",),
}
_EXTRA = Extra("The lab", "lab", ("torch", "transformers", "tokenizers", "safetensors"))

__getattr__, __dir__ = lazily(__name__, _MODULES, _EXTRA)
