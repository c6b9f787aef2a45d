from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS, Events

ROW = {"task": "a", "step": 1, "drawn": 1, "visit": 0, "temperature": 1.25, "n": 8, "s": 3}
ROW |= {"ref_n": 0, "ref_s": 0}


def played(steps: int = 5, **kwargs: float) -> PTGS:
    sampler = PTGS(keep_events=True, **kwargs)
    rng = np.random.default_rng(1)
    for _ in range(steps):
        ids = [f"task {at}" for at in rng.choice(9, 4, replace=False)]
        sampler.temperatures(ids)
        sampler.update(ids, rng.integers(0, 9, 4), 8)
    return sampler


def test_a_row_for_each_group() -> None:
    sampler = PTGS(keep_events=True)
    heat = sampler.temperatures(["a"])[0]
    sampler.update(["a", "b"], [3, 0], [8, 4])
    assert list(sampler.events.rows()) == [
        ROW | {"temperature": heat},
        ROW | {"task": "b", "temperature": None, "n": 4, "s": 0},
    ]


def test_rows_of_groups_with_rollouts_at_t_ref() -> None:
    sampler = PTGS(keep_events=True, ref_share=0.5)
    sampler.record([7], [[1, 1, 0, 1]])
    (row,) = sampler.events.rows()
    assert (row["n"], row["s"], row["ref_n"], row["ref_s"]) == (4, 3, 2, 2)


def test_report_is_what_the_update_logs() -> None:
    sampler = played(3)
    sampler.temperatures(["task 1", "new"])
    before = sampler.state_dict()
    told = list(sampler.report(["task 1", "new"], [2, 3], 8).rows())
    assert sampler.state_dict()["header"] == before["header"]
    sampler.update(["task 1", "new"], [2, 3], 8)
    assert list(sampler.events.rows())[-2:] == told


def test_json_lines_there_and_back(tmp_path: Path) -> None:
    events = played().events
    path = tmp_path / "events.jsonl"
    events.write(path)
    assert list(Events.read(path).rows()) == list(events.rows())
    events.write(path, append=True)
    assert len(Events.read(path)) == 2 * len(events)
    assert json.loads(path.read_text().splitlines()[0]).keys() == ROW.keys()


def test_a_row_without_drawn_was_drawn_at_its_step() -> None:
    row = {name: value for name, value in ROW.items() if name != "drawn"}
    assert Events.of([row | {"step": 4}]).drawn.tolist() == [4]
    assert math.isnan(Events.of([ROW | {"temperature": None}]).temperature[0])
    assert len(Events.of([])) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": None}, "`step` of row 0 to be a whole number .*, got None"),
        ({"s": 0.5}, "`s` of row 0 to be a whole number .*, got 0.5"),
        ({"n": True}, "`n` of row 0 to be a whole number .*, got True"),
        ({"visit": -1}, "`visit` of row 0 to be a whole number .*, got -1"),
        ({"task": None}, "`task` of row 0 to be an id, got None"),
        ({"task": True}, "`task` of row 0 to be an id, got True"),
        ({"temperature": "hot"}, "`temperature` of row 0 to be a number .* or null, got 'hot'"),
        ({"temperature": -1}, "`temperature` of row 0 to be a number .* or null, got -1"),
        ({"temperature": math.nan}, "`temperature` of row 0 .*, got nan"),
        ({"temperature": 10**400}, r"`temperature` of row 0 .*, got 10{50,}\.?$"),
        ({"temperature": 1e39}, "`temperature` of row 0 .*, got 1e.39"),
        ({"step": 2**70}, "`step` of row 0 to be a whole number of 0 to 2147483647, got 1180"),
    ],
)
def test_wrong_rows(change: dict, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        Events.of([ROW | change])


def test_wrong_lines_are_named(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for line, message in (
        ("{", r"JSON in line 2 of .*events.jsonl"),
        ("[1]", r"an event in line 2 of .*, got \[1\]"),
        ('{"task": "a"}', r"`step` of line 2 of"),
        (json.dumps(ROW)[:-9], r"JSON in line 2 of"),
        ("[" * 100_000, r"JSON in line 2 of"),
        ("\xff", r"JSON in line 2 of"),
    ):
        path.write_bytes(f"{json.dumps(ROW)}\n{line}\n".encode("latin-1"))
        with pytest.raises(BadArgument, match=message):
            Events.read(path)


def test_no_log_where_one_was_expected(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match=r"a log at .*none: No such file"):
        Events.read(tmp_path / "none")
    with pytest.raises(BadArgument, match=r"a log at .*: Is a directory"):
        Events.read(tmp_path)


def test_groups_that_no_temperature_was_asked_for_are_read_too(tmp_path: Path) -> None:
    sampler = PTGS(keep_events=True)
    sampler.update(["a", "b"], 1, 8)
    sampler.events.write(tmp_path / "events.jsonl")
    read = Events.read(tmp_path / "events.jsonl")
    assert np.isnan(read.temperature).all()
    assert list(read.rows()) == list(Events.merge(read).rows()) == list(sampler.events.rows())


def test_columns_that_are_no_part_of_an_event_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(ROW | {"reward": 0.5, "prompt": "?"}) + "\n")
    assert list(Events.read(path).rows()) == [ROW]


def test_merged_rows_go_by_step_visit_and_task() -> None:
    rows = [
        ROW | {"task": task, "step": step, "visit": visit}
        for step, visit, task in ((1, 0, "b"), (1, 1, "a"), (2, 2, "a"), (1, 0, "c"), (1, 0, "a"))
    ]
    parts = Events.of(rows[:2]), Events.of(rows[2:])
    merged = Events.merge(*parts)
    assert list(zip(merged.step, merged.visit, merged.task, strict=True)) == [
        (1, 0, "a"),
        (1, 0, "b"),
        (1, 0, "c"),
        (1, 1, "a"),
        (2, 2, "a"),
    ]
    assert list(Events.merge(*parts[::-1]).rows()) == list(merged.rows())
    assert len(Events.merge()) == len(Events.merge(Events())) == 0


def test_parts_of_a_group_are_pooled() -> None:
    one = ROW | {"n": 8, "s": 3, "ref_n": 2, "ref_s": 1}
    two = ROW | {"n": 4, "s": 4, "ref_n": 1, "ref_s": 1}
    (row,) = Events.merge(Events.of([one]), Events.of([two])).rows()
    assert row == ROW | {"n": 12, "s": 7, "ref_n": 3, "ref_s": 2}


def test_parts_of_a_group_at_different_temperatures() -> None:
    other = Events.of([ROW | {"temperature": 1.5}])
    message = "one temperature for the group of task 'a' at step 1, got 1.25 and 1.5"
    with pytest.raises(BadArgument, match=message):
        Events.merge(Events.of([ROW]), other)
    with pytest.raises(BadArgument, match="one drawn for the group"):
        Events.merge(Events.of([ROW | {"step": 2}]), Events.of([ROW | {"step": 2, "drawn": 2}]))


def test_the_log_starts_anew_where_a_state_is_loaded(same: Callable[..., None]) -> None:
    sampler = played()
    other = PTGS(keep_events=True)
    other.load_state_dict(sampler.state_dict())
    assert len(other.events) == 0
    other.update(["task 1"], 1, 8)
    sampler.replay(other.events)
    same(sampler.state_dict(), other.state_dict())
    assert len(sampler.events) == 21
