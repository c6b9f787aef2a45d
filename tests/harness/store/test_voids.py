from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentenvs.errors import BadArgument, RunDamaged
from agentenvs.harness.outcomes import Outcomes, write_settings
from agentenvs.harness.records import Void
from agentenvs.harness.store.voids import VoidWriter, open_rollouts, read_voids

VOID = Void("a", 1, 0, "timeout", "TimeoutError: late", 0.25)
ROW = {
    "task_id": "a",
    "rollout": 1,
    "attempt": 0,
    "reason": "timeout",
    "error": "TimeoutError: late",
    "wall_s": 0.25,
}


def row(task: str, rollout: int, **more: Any) -> dict[str, Any]:
    return {"task_id": task, "rollout": rollout, "success": False, **more}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    writer = VoidWriter(tmp_path)
    assert list(tmp_path.iterdir()) == []
    writer.write(VOID)
    writer.write(VOID._replace(attempt=1, error="\ud83d torn"))
    writer.close()
    writer.close()
    assert read_voids(tmp_path) == [ROW, {**ROW, "attempt": 1, "error": "\ud83d torn"}]


def test_a_torn_last_line_is_left_out_and_mended(tmp_path: Path) -> None:
    path = tmp_path / "voids.jsonl"
    line = json.dumps(ROW) + "\n"
    path.write_text(line + line[:30])
    assert read_voids(tmp_path) == [ROW]
    writer = VoidWriter(tmp_path)
    assert path.read_text() == line
    writer.write(VOID)
    writer.close()
    assert read_voids(tmp_path) == [ROW, ROW]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"task_id"\n' + json.dumps(ROW), "voids.jsonl:1: expected JSON"),
        ("[]\n", "voids.jsonl:1: expected an object"),
        (json.dumps({**ROW, "attempt": "0"}), "`attempt` to be int, got '0'"),
        (json.dumps({**ROW, "wall_s": True}), "`wall_s` to be int or float, got True"),
        (json.dumps({**ROW, "reason": None}), "`reason` to be str, got None"),
    ],
)
def test_a_line_that_is_no_void_try_is_damage(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "voids.jsonl").write_text(text)
    with pytest.raises(RunDamaged, match=says):
        read_voids(tmp_path)


def test_a_folder_tells_voids_and_what_is_open(tmp_path: Path) -> None:
    write_settings(tmp_path, {"task_ids": ["b", "a"], "n": 2})
    writer = VoidWriter(tmp_path)
    writer.write(VOID)
    writer.close()
    nothing = Outcomes.load(tmp_path)
    assert nothing.open == [("b", 0), ("b", 1), ("a", 0), ("a", 1)]
    assert nothing.voids == [ROW]
    rows = [row("a", 0, reason="context_overflow"), row("b", 1), {**row("b", 0), "success": True}]
    (tmp_path / "outcomes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    for place in (tmp_path, tmp_path / "outcomes.jsonl"):
        outcomes = Outcomes.load(place)
        assert outcomes.open == [("a", 1)]
        assert outcomes.voids == [ROW]
        assert outcomes.kinds() == {
            "success": 1,
            "failure": 1,
            "context_overflow": 1,
            "void": 1,
        }
    assert outcomes.counts().n.tolist() == [2, 1]
    assert outcomes.counts().c.tolist() == [1, 0]


def test_an_open_rollout_that_was_never_tried_is_not_void() -> None:
    outcomes = Outcomes([row("a", 0)], {"task_ids": ["a"], "n": 2})
    assert outcomes.open == [("a", 1)]
    assert outcomes.kinds()["void"] == 0


@pytest.mark.parametrize(
    "settings",
    [{}, {"n": 3}, {"task_ids": ["a"]}, {"task_ids": "a", "n": 3}, {"task_ids": ["a"], "n": True}],
)
def test_where_nothing_was_planned_nothing_is_open(settings: dict[str, Any]) -> None:
    assert Outcomes([row("a", 0)], settings).open == []


def test_a_plan_beyond_reason_is_damage() -> None:
    with pytest.raises(RunDamaged, match="at most 100000000 rollouts in all, got n=1000000000000"):
        open_rollouts({"task_ids": ["a"], "n": 10**12}, set())


def test_rows_that_are_no_part_of_the_plan_close_nothing() -> None:
    there = {("a", 5), ("c", 0), ("a", 0)}
    assert open_rollouts({"task_ids": ["a", "b"], "n": 1}, there) == [("b", 0)]


def test_of_a_part_its_own_rollouts_are_open() -> None:
    settings = {"task_ids": ["a"], "n": 6, "rollouts": [2, 4]}
    part = Outcomes([row("a", 2)], settings)
    assert (part.part, part.open) == ((2, 4), [("a", 3)])
    assert Outcomes([row("a", 2), row("a", 3)], settings).open == []


def test_parts_one_after_another_in_a_folder_are_a_whole_under_way() -> None:
    settings = {"task_ids": ["a"], "n": 4, "rollouts": [2, 3]}
    both = Outcomes([row("a", 0), row("a", 2)], settings)
    assert (both.part, both.open) == (None, [("a", 1), ("a", 3)])


@pytest.mark.parametrize("part", [None, [0, 4], [1], [2, 2], [2, 5], "12", [True, 2], [0.0, 2]])
def test_what_is_no_part_leaves_the_whole_open(part: Any) -> None:
    outcomes = Outcomes([], {"task_ids": ["a"], "n": 4, "rollouts": part})
    assert (outcomes.part, len(outcomes.open)) == (None, 4)


def test_merged_parts_of_a_run_leave_open_what_none_holds() -> None:
    settings = {"task_ids": ["a"], "n": 4}
    one = Outcomes([row("a", 0)], {**settings, "rollouts": [0, 1]})
    two = Outcomes([row("a", 3)], {**settings, "rollouts": [2, 4]})
    assert one.merge(two).open == [("a", 1), ("a", 2)]
    assert one.merge(one).open == []


def test_a_filter_opens_nothing_that_was_played() -> None:
    settings = {"task_ids": ["a", "b"], "n": 2}
    voids = [ROW, {**ROW, "task_id": "b"}]
    outcomes = Outcomes([row("a", 0), row("b", 0)], settings, voids)
    assert outcomes.filter(predicate=lambda one: False).open == [("a", 1), ("b", 1)]
    kept = outcomes.filter(["a"])
    assert (kept.open, kept.voids) == ([("a", 1)], [ROW])
    assert kept.kinds()["void"] == 1


def test_merged_parts_close_what_each_left_open() -> None:
    settings = {"task_ids": ["a"], "n": 3}
    one = Outcomes([row("a", 0)], settings, [ROW])
    two = Outcomes([row("a", 1)], settings, [ROW])
    merged = one.merge(two)
    assert merged.open == [("a", 2)]
    assert merged.voids == [ROW]
    assert merged.kinds()["void"] == 0


def test_renumbered_parts_keep_their_holes() -> None:
    settings = {"task_ids": ["a"], "n": 2}
    one = Outcomes([row("a", 0)], settings, [ROW])
    merged = one.merge(one, renumber=True)
    assert sorted(merged.keys()) == [("a", 0), ("a", 2)]
    assert merged.open == [("a", 1), ("a", 3)]
    assert [void["rollout"] for void in merged.voids] == [1, 3]
    assert merged.kinds()["void"] == 2


def test_how_often_a_rollout_was_tried_makes_no_two_rows_disagree() -> None:
    one, two = Outcomes([row("a", 0)]), Outcomes([row("a", 0, attempt=2)])
    assert len(one.merge(two)) == 1


@pytest.mark.parametrize("bad", [{}, {**ROW, "rollout": "1"}, 3])
def test_a_void_try_that_is_none_is_refused(bad: Any) -> None:
    with pytest.raises(BadArgument, match="Void try 2: expected"):
        Outcomes([], {}, [ROW, bad])
