from __future__ import annotations

from pathlib import Path

import pytest

from agentenvs import sources
from agentenvs.errors import BadArgument, SourceMissing
from agentenvs.harness import Outcomes
from agentenvs.harness.task_facts import NONE, task_facts

LAB = {"env_id": "agentenvs/ToolLab-v0", "env_kwargs": {"world": 0}}
TASKS = ("0/order/lamp/six", "0/order/lamp/ten", "0/order/chair/two")


def outcomes(tasks: tuple[str, ...] = TASKS, settings: dict[str, object] | None = None) -> Outcomes:
    rows = [{"task_id": task, "pass_flags": [True, False]} for task in tasks]
    return Outcomes(rows, LAB if settings is None else settings)


def test_the_environment_tells_which_tasks_hang_together() -> None:
    found = task_facts(outcomes(), outcomes())
    assert found.clusters == {
        TASKS[0]: "0/order/lamp",
        TASKS[1]: "0/order/lamp",
        TASKS[2]: "0/order/chair",
    }
    assert found.unsolvable == {}
    assert found.notes == ()


def test_tasks_that_share_nothing_have_no_clusters() -> None:
    assert task_facts(outcomes(TASKS[1:]), outcomes(TASKS[1:])).clusters is None


def test_nothing_is_asked_where_told_so_or_nothing_is_known() -> None:
    assert task_facts(outcomes(), outcomes(), NONE, NONE) == (None, {}, ())
    bare = outcomes(settings={})
    assert task_facts(bare, bare) == (None, {}, ())


def test_one_run_that_names_its_environment_is_enough() -> None:
    assert task_facts(outcomes(settings={}), outcomes()).clusters is not None


def test_tasks_out_of_reach_depend_on_the_rules() -> None:
    tasks = ("multi_turn_miss_func_49", "multi_turn_miss_func_50")
    for rules, named in (("fixed", list(tasks[:1])), ("official", [])):
        runs = outcomes(tasks, {"env_id": "agentenvs/BFCLv4-v0", "env_kwargs": {"rules": rules}})
        assert list(task_facts(runs, runs).unsolvable) == named


def test_runs_of_nothing_but_tasks_out_of_reach_keep_them() -> None:
    settings = {"env_id": "agentenvs/BFCLv4-v0", "env_kwargs": {"rules": "fixed"}}
    runs = outcomes(("multi_turn_miss_func_49",), settings)
    found = task_facts(runs, runs)
    assert found.unsolvable == {}
    assert "out of reach" in found.notes[0]


def test_missing_data_and_strange_settings_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise SourceMissing("no catalog here")

    monkeypatch.setattr(sources, "open_source", missing)
    monkeypatch.setattr("agentenvs.webshop.tasks.open_catalog", missing)
    runs = outcomes(("1k/synthetic/0",), {"env_id": "agentenvs/WebShop-v0"})
    found = task_facts(runs, runs)
    assert found.clusters is None
    assert "no catalog here" in found.notes[0]
    strange = outcomes(settings={"env_id": "agentenvs/Nowhere-v0", "env_kwargs": {"rules": 3}})
    assert "Nowhere" in task_facts(strange, strange).notes[0]


def test_clusters_from_a_file_of_lines_or_json(tmp_path: Path) -> None:
    runs = outcomes(("a", "b", "c"), {})
    lines = tmp_path / "clusters.txt"
    lines.write_text("a\tone\nb\tone\n\nc\ttwo\nelse\tthree\n")
    assert task_facts(runs, runs, str(lines)).clusters == {"a": "one", "b": "one", "c": "two"}
    rows = tmp_path / "clusters.jsonl"
    rows.write_text(
        '{"task_id": "a", "cluster": 1}\n{"task_id": "b", "cluster": 1}\n'
        '{"task_id": "c", "cluster": 2}\n'
    )
    assert task_facts(runs, runs, str(rows)).clusters == {"a": "1", "b": "1", "c": "2"}


def test_tasks_out_of_reach_from_a_file(tmp_path: Path) -> None:
    runs = outcomes(("a", "b", "c"), {})
    path = tmp_path / "tagged.jsonl"
    path.write_text('{"task": "b", "reasons": ["no size", "no colour"]}\nc\t0.5\telse\nother\n')
    found = task_facts(runs, runs, unsolvable=str(path)).unsolvable
    assert found == {"b": "no size; no colour", "c": "0.5\telse"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tone\n", "2 have none: 'b', 'c'"),
        ("a\n", "a task and its label"),
        ("{not json\n", ":1: expected JSON"),
        ('{"name": "a"}\n', "task_id, task, id"),
        ("a\tone\nb\tone\na\ttwo\n", ":3: expected one label for 'a', got 'one' before and 'two'"),
        ('{"task_id": "a", "cluster": true}\n', "a task and its label"),
    ],
)
def test_files_that_do_not_tell_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "clusters.txt"
    path.write_text(text)
    runs = outcomes(("a", "b", "c"), {})
    with pytest.raises(BadArgument, match=message):
        task_facts(runs, runs, str(path))


def test_files_of_other_programs_are_read(tmp_path: Path) -> None:
    """A byte order mark, carriage returns, whole numbers as ids, and separators in text."""
    path = tmp_path / "clusters.jsonl"
    rows = '\ufeff{"task_id": 1, "cluster": "x\u2028y"}\r\n2\tz\r\n2\tz\n'
    path.write_bytes(rows.encode("utf-8"))
    runs = outcomes(("1", "2"), {})
    found = task_facts(runs, runs, str(path)).clusters
    assert found is None
    path.write_bytes(rows.replace("2\tz", "2\tx\u2028y").encode("utf-8"))
    assert task_facts(runs, runs, str(path)).clusters == dict.fromkeys("12", "x\u2028y")


def test_a_file_that_is_missing_or_names_none_of_the_tasks_is_refused(tmp_path: Path) -> None:
    runs = outcomes(("a", "b"), {})
    with pytest.raises(BadArgument, match="expected a file of task ids"):
        task_facts(runs, runs, unsolvable=str(tmp_path / "nowhere"))
    path = tmp_path / "tagged.txt"
    path.write_text("z\n")
    with pytest.raises(BadArgument, match="none of the runs' tasks"):
        task_facts(runs, runs, unsolvable=str(path))
