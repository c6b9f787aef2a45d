from __future__ import annotations

from types import ModuleType

import pytest

from agentenvs.harness.store import code_sum as module
from agentenvs.harness.store.code_sum import code_sum


def test_each_world_has_a_sum_of_its_own() -> None:
    sums = {code_sum(f"agentenvs/{name}-v0") for name in ("BFCLv4", "ToolLab", "ACEBench")}
    assert len(sums) == 3
    assert code_sum("agentenvs/ToolLab-v0") in sums


def test_the_browser_has_the_code_of_its_world() -> None:
    assert code_sum("agentenvs/WebShopBrowser-v0") == code_sum("agentenvs/WebShop-v0")


def test_an_environment_that_is_not_of_this_package_counts_by_its_file(
    ledger: ModuleType,
) -> None:
    assert code_sum(ledger.ID) != code_sum("nobody/Knows-v0")


def test_an_edit_changes_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    before = code_sum("agentenvs/ToolLab-v0")
    monkeypatch.setattr(module, "_HARNESS", ("arms", "episode"))
    assert code_sum("agentenvs/ToolLab-v0") != before
