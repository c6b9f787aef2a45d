from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["cap", "parse", "penalty", "relaxed"])
def test_examples_in_docstrings_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"agentenvs.wrappers.{name}"))
    assert result.attempted
    assert not result.failed
