from __future__ import annotations

import importlib.metadata
import sys
from types import ModuleType

import pytest

from agentenvs.harness.store.software import used_versions


def test_only_packages_that_are_loaded_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("httpx2", "ray", "torch", "transformers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert used_versions({}) == {}
    monkeypatch.setitem(sys.modules, "httpx2", ModuleType("httpx2"))
    assert used_versions({}) == {"httpx2": importlib.metadata.version("httpx2")}


def test_the_versions_of_servers_count() -> None:
    transport = {"server_version": "b7", "user": {"server_version": "0.9"}}
    found = used_versions({"transport": transport})
    assert (found["server"], found["user's server"]) == ("b7", "0.9")
    assert "server" not in used_versions({"transport": {"server_version": None}})
