"""A snippet of the recipes as a module, a model to score with, and what its scores are to be."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs" / "recipes.md", ROOT / "docs" / "recipes_trainers.md"]


@pytest.fixture
def recipe(tmp_path: Path) -> Iterator[Callable[[str], ModuleType]]:
    """Return what imports the block that holds a text, as a user's module would be."""
    names = []

    def imported(holds: str) -> ModuleType:
        found = [
            text
            for page in PAGES
            for text in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
            if holds in text
        ]
        assert len(found) == 1, holds
        name = f"agentenvs_recipe_{len(names)}"
        names.append(name)
        path = tmp_path / f"{name}.py"
        path.write_text(found[0], "utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    yield imported
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def tiny() -> Callable[..., Any]:
    """Return what makes a small random language model."""

    def made(vocabulary: int = 29, **more: Any) -> Any:
        torch = pytest.importorskip("torch", reason="needs the extra `hf`")
        transformers = pytest.importorskip("transformers", reason="needs the extra `hf`")
        with torch.random.fork_rng():
            torch.manual_seed(3)
            config = transformers.LlamaConfig(
                vocab_size=vocabulary,
                hidden_size=16,
                intermediate_size=32,
                num_hidden_layers=1,
                num_attention_heads=2,
                initializer_range=1.0,
                **more,
            )
            return transformers.LlamaForCausalLM(config).eval()

    return made


@pytest.fixture
def expected() -> Callable[..., Any]:
    """Return `row_scores` of the last `actions` tokens of unpadded rows."""

    def scored(model: Any, sequences: Any, actions: int, heat: Any) -> Any:
        from agentenvs.harness.ptgs.scoring import row_scores

        logits = model(sequences).logits[:, -actions - 1 : -1]
        return row_scores(logits, sequences[:, -actions:], heat)

    return scored
