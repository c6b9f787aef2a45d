from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _load(name: str) -> ModuleType:
    """Return a module beside this file, under a name of its own."""
    full = f"agentenvs_tests_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        spec.loader.exec_module(module)
    return sys.modules[full]


@pytest.fixture(scope="session")
def reference() -> ModuleType:
    """The trainer that is right."""
    pytest.importorskip("torch", reason="needs the extra `hf`")
    return _load("reference")


@pytest.fixture(scope="session")
def mutants(reference: ModuleType) -> ModuleType:
    """Trainers that are wrong in one way each."""
    return _load("mutants")
