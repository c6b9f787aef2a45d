from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _beside(name: str) -> ModuleType:
    """Return a helper module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(
        f"agentenvs_tests_{name}", Path(__file__).with_name(f"{name}.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def ledger() -> ModuleType:
    """Return the module of the small test environment, registered with Gymnasium."""
    module = _beside("ledger")
    module.register()
    return module


@pytest.fixture(scope="session")
def sampling() -> ModuleType:
    """Return the module of small samplers, and of a policy that minds temperature."""
    return _beside("sampling")


@pytest.fixture(scope="session")
def faulty() -> ModuleType:
    """Return the module of a policy behind a line that fails."""
    return _beside("faulty")


@pytest.fixture(scope="session")
def tamper() -> ModuleType:
    """Return the module of edits that somebody might make in a run folder."""
    return _beside("tamper")
