"""A small world and models for the tests of the lab."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(scope="session")
def studies() -> Iterator[ModuleType]:
    """Give the module of studies without torch, where worker processes find it, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield importlib.import_module("lab_studies")


@pytest.fixture(scope="session")
def torch():
    torch = pytest.importorskip("torch", reason="needs the extra hf")
    pytest.importorskip("transformers", reason="needs the extra hf")
    torch.set_num_threads(1)
    return torch


@pytest.fixture(scope="session")
def design():
    from agentenvs.toollab import Design

    return Design.of(0)


@pytest.fixture(scope="session")
def world(torch, design):
    from agentenvs.harness.lab.world import TensorWorld

    return TensorWorld(design)


@pytest.fixture(scope="session")
def tokenizer(torch):
    from agentenvs.harness.lab.tokenizer import build_tokenizer

    return build_tokenizer()


@pytest.fixture(scope="session")
def model(torch):
    """Return an untrained model."""
    from agentenvs.harness.lab.model import TinyLM

    return TinyLM.fresh(1)


@pytest.fixture(scope="session")
def taught(torch, design):
    """Return a model that has learned how dialogues go, in a few seconds; do not train it."""
    from agentenvs.harness.lab.model import TinyLM
    from agentenvs.harness.lab.pretrain import pretrain
    from agentenvs.toollab import EXPERT

    small = TinyLM.fresh(2, layers=2, width=48, heads=2, inner=96)
    return pretrain(design, 0, steps=250, batch=32, lr=1e-2, quality=EXPERT, model=small)


@pytest.fixture(scope="session")
def pool(design):
    """Return a few tasks to train on."""
    return design.train[:12]


@pytest.fixture(scope="session")
def able(torch, taught, design, pool):
    """Return a model that often succeeds on `pool`, and often not; do not train it."""
    import numpy as np

    from agentenvs.harness.lab.examples import Examples
    from agentenvs.harness.lab.imitation import ImitationConfig, sft
    from agentenvs.toollab import Quality, demonstrations

    rng = np.random.default_rng(0)
    shown = demonstrations(design, 40_000, rng, Quality(careless=0.4, perturb=0.4, known_boost=1.0))
    mine = np.isin(shown.task, pool)
    examples = Examples(shown.ids[mine], shown.agent[mine])
    config = ImitationConfig(steps=30, batch=48, lr=5e-3)
    return sft(taught, examples, config, 0)[0]
