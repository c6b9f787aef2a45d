from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import agentenvs
from agentenvs.acebench import mini, tasks, unsolvable
from agentenvs.acebench.records import AGENT, CATEGORIES, DIALOGUES, LANGS, NORMAL, SPECIAL, Records
from agentenvs.errors import BadArgument, UnknownName

ID = "agentenvs/ACEBench-v0"


def test_paper_is_750_single_shot_tasks_and_20_of_multi_step() -> None:
    ids = agentenvs.tasks(ID, "paper")
    counts = Counter(name.rpartition("_")[0] for name in ids)
    agents = counts.pop("en/agent_multi_step")
    assert (agents, sum(counts.values()), len(counts), len(ids)) == (20, 750, 13, 770)
    assert set(counts) == {f"en/{name}" for name in (*NORMAL, *SPECIAL) if name not in DIALOGUES}
    assert "750" in agentenvs.task_sets(ID)["paper"]
    assert "13 categories" in agentenvs.task_sets(ID)["paper"]


def test_sets_have_the_sizes_that_they_say() -> None:
    sets = agentenvs.task_sets(ID)
    assert {f"{lang}/{name}" for lang in LANGS for name in CATEGORIES} < set(sets)
    for name, text in sets.items():
        ids = agentenvs.tasks(ID, name)
        assert len(ids) == len(set(ids)) > 0
        if name not in ("mini", "paper"):
            assert str(len(ids)) in text
    assert agentenvs.tasks(ID) == agentenvs.tasks(ID, "agent")
    assert [len(agentenvs.tasks(ID, name)) for name in ("agent", "agent_zh", "en", "zh")] == [
        50,
        50,
        900,
        900,
    ]


def test_ids_are_those_of_the_files(records: Records, official_acebench: None) -> None:
    units = {task.unit: None for task in records.values()}
    assert list(units) == [*agentenvs.tasks(ID, "en"), *agentenvs.tasks(ID, "zh")]
    turns = [task.id for name in units for task in tasks.turns_of(name)]
    assert len(turns) == len(records) == 2040


def test_a_dialogue_is_one_task(official_acebench: None) -> None:
    turns = tasks.turns_of("en/normal_multi_turn_user_adjust_3")
    assert [turn.turn for turn in turns] == list(range(len(turns)))
    assert {turn.number for turn in turns} == {3}
    assert len(tasks.turns_of("zh/normal_atom_bool_7")) == 1


def test_mini_works_without_the_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path))
    monkeypatch.setenv("AGENTENVS_OFFLINE", "1")
    monkeypatch.delenv("AGENTENVS_DATA", raising=False)
    ids = agentenvs.tasks(ID, "mini")
    assert all(name.startswith("mini/") and not tasks.is_official(name) for name in ids)
    kinds = Counter(tasks.turns_of(name)[0].category for name in ids)
    assert set(kinds) == set(CATEGORIES)
    agent = [name for name in ids if tasks.turns_of(name)[0].category in AGENT]
    assert {"state"} <= set(tasks.initial_state(agent[0])["MessageApi"])
    assert tasks.data_version(ids) == mini.version()


def test_the_version_names_all_data_in_use(official_acebench: None) -> None:
    official = tasks.data_version("agent")
    assert len(official) == 12
    both = tasks.data_version(["mini/agent_multi_step_0", "en/agent_multi_step_0"])
    assert both == f"{mini.version()}+{official}"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("papre", "'paper'"),
        ("en/normal_atom_boool", "'en/normal_atom_bool'"),
        ("en/agent_multi_turn_70", "'en/agent_multi_turn_7'"),
        ("normal_atom_bool_3", "'en/normal_atom_bool_3'|'zh/normal_atom_bool_3'"),
        ("en/normal_multi_turn_user_adjust_3_1", "'en/normal_multi_turn_user_adjust_3'"),
    ],
)
def test_unknown_names_get_a_suggestion(name: str, hint: str) -> None:
    with pytest.raises(UnknownName, match=rf"Did you mean (?:{hint}|'\w+/\w+')"):
        tasks.task_ids(name)


def test_lists_are_checked() -> None:
    assert tasks.task_ids("zh/agent_multi_turn_7") == ["zh/agent_multi_turn_7"]
    with pytest.raises(UnknownName, match="There is no task 'paper'"):
        tasks.task_ids(["paper"])
    with pytest.raises(BadArgument, match="a task id to be a str"):
        tasks.task_ids([3])  # type: ignore[list-item]
    with pytest.raises(BadArgument, match="a name or a list of ids"):
        tasks.task_ids(3)  # type: ignore[arg-type]


def test_unsolvable_names_tasks_with_reasons() -> None:
    fixed, official = unsolvable("fixed"), unsolvable("official")
    known = set(tasks.all_ids())
    assert fixed.keys() < official.keys() <= known
    assert all(reason.endswith(".") or "refuses" in reason for reason in official.values())
    assert "en/normal_multi_turn_user_adjust_3" in official.keys() - fixed.keys()
    with pytest.raises(BadArgument, match="'official' or 'fixed'"):
        unsolvable("lenient")  # type: ignore[arg-type]


def test_bundled_files_hold_no_official_text(records: Records) -> None:
    official = {task.question.strip() for task in records.values()}
    assert not official & {task.question.strip() for task in mini.tasks().values()}
    assert json.dumps(mini.world("en")["MessageApi"]) not in json.dumps(records.world("en"))


def test_agents_get_few_instructions(official_acebench: None) -> None:
    for name, distinct in (("agent", 23), ("agent_zh", 24), ("paper", 746)):
        assert len(set(tasks.clusters(tasks.task_ids(name)))) == distinct
    turned = ["en/agent_multi_step_1", "en/agent_multi_step_2", "en/agent_multi_step_0"]
    assert tasks.clusters(turned) == [turned[2], turned[1], turned[2]]
