from __future__ import annotations

from typing import Any

import pytest

from agentenvs.bfcl import data_version, task_ids, task_sets
from agentenvs.bfcl.tasks import SPLITS, all_ids, is_official, task
from agentenvs.errors import BadArgument, UnknownName


def test_sets_have_their_sizes() -> None:
    assert set(task_sets()) == {*SPLITS, "paper", "mini"}
    assert [len(task_ids(split)) for split in SPLITS] == [200] * 4
    assert task_ids("paper") == task_ids("base")
    assert len(task_ids("mini")) >= 24
    assert len(set(all_ids())) == len(all_ids()) == 800 + len(task_ids("mini"))


def test_ids_need_no_official_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    monkeypatch.setattr("agentenvs.bfcl.tasks.open_source", refuse)
    assert task_ids("miss_func")[7] == "multi_turn_miss_func_7"


def test_lists_are_checked() -> None:
    assert task_ids(["mini_home_0", "multi_turn_base_3"]) == ["mini_home_0", "multi_turn_base_3"]
    with pytest.raises(UnknownName, match="Did you mean 'multi_turn_base_19[0-9]*'"):
        task_ids(["multi_turn_base_1999"])
    with pytest.raises(UnknownName, match="Did you mean 'base'"):
        task_ids("bass")
    with pytest.raises(BadArgument, match="str"):
        task_ids([3])  # type: ignore[list-item]
    with pytest.raises(UnknownName):
        task("nowhere_0")


def test_ids_are_those_of_the_rows(rows: dict[str, dict[str, Any]]) -> None:
    assert [name for name in all_ids() if is_official(name)] == list(rows)


def test_offers_grow_when_functions_are_handed_over(rows: dict[str, dict[str, Any]]) -> None:
    for name in task_ids("miss_func"):
        item = task(name)
        ((turn, names),) = item.withheld.items()
        assert not set(names) & item.offer_sets[turn - 1]
        assert item.offers[turn][-len(names) :] == names
        assert set(item.offers[-1]) == set(item.docs)
        assert item.questions[turn] is None


def test_versions_tell_the_data_apart(official_bfcl: None) -> None:
    assert data_version("base") == data_version("long_context") != data_version("mini")
    assert len(data_version("base")) == len(data_version("mini")) == 12
    both = data_version(["mini_home_0", "multi_turn_base_0"])
    assert both == f"{data_version('mini')}+{data_version('base')}"
