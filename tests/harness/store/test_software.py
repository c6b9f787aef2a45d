from __future__ import annotations

import importlib.metadata
import sys
from types import ModuleType
from typing import Any

import pytest

from agentenvs.harness.store.software import used_versions


def test_packages_that_are_loaded_for_something_else_do_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    assert used_versions({"policy": {"name": "random"}, "engine": "local"}) == {}


@pytest.mark.parametrize(
    ("settings", "packages"),
    [
        ({"policy": {"policy": "openai"}}, {"httpx2"}),
        ({"policy": {"policy": "hf"}, "user": {"policy": "openai"}}, {"httpx2", "torch"}),
        ({"engine": "ray"}, {"ray"}),
        ({"policy": "named alone", "user": None, "engine": None}, set()),
    ],
)
def test_what_answers_and_what_spreads_the_work_counts(
    settings: Any, packages: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if name == "transformers":
            raise importlib.metadata.PackageNotFoundError(name)
        return f"{name} 1"

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert used_versions(settings) == {name: f"{name} 1" for name in packages}


def test_the_versions_of_servers_count() -> None:
    transport = {"server_version": "b7", "user": {"server_version": "0.9"}}
    assert used_versions({"transport": transport}) == {"server": "b7", "user's server": "0.9"}
    assert used_versions({"transport": {"server_version": None}}) == {}
