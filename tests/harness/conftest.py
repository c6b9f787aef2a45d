from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def ledger() -> ModuleType:
    """Return the module of the small test environment, registered with Gymnasium."""
    path = Path(__file__).with_name("ledger.py")
    spec = importlib.util.spec_from_file_location("agentenvs_tests_ledger", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.register()
    return module
