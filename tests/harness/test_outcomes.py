from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument, RunDamaged, RunError, UnknownName
from agentenvs.harness.outcomes import Outcomes, OutcomeWriter, read_settings, write_settings
from agentenvs.harness.tax import Counts, pass_at_k

ROWS = [
    {"task_id": "b", "rollout": 0, "success": True, "score": 1.0, "steps": 3, "odd": [1, {"x": 2}]},
    {"task_id": "a", "rollout": 1, "success": False, "reason": "too long", "wall_s": 0.5},
    {
        "task_id": "b",
        "rollout": 2,
        "success": False,
        "parse": {"calls": 2, "repairs": {"comma": 1}},
    },
    {
        "task_id": "a",
        "rollout": 0,
        "success": True,
        "parse": {"calls": 3, "words": 1},
        "seed": 2**63,
    },
]


def folder_with(path: Path, text: str, settings: dict[str, object] | None = None) -> Path:
    write_settings(path, settings or {"policy": "random"})
    (path / "outcomes.jsonl").write_text(text)
    return path


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_settings(tmp_path, {"policy": "random", "n": 2})
    with OutcomeWriter(tmp_path) as writer:
        for row in ROWS:
            writer.write(**row)
    outcomes = Outcomes.load(tmp_path)
    assert list(outcomes) == ROWS
    assert outcomes.settings == {"policy": "random", "n": 2}
    assert len(outcomes) == 4
    assert not outcomes.torn
    assert outcomes.policy == "random"
    assert repr(outcomes) == "Outcomes(4 rollouts of 2 tasks, policy='random')"


def test_counts_feed_the_measures() -> None:
    counts = Outcomes(ROWS).counts()
    assert isinstance(counts, Counts)
    assert counts.task_ids == ("b", "a")
    assert counts.c.tolist() == [1, 1]
    assert counts.n.tolist() == [2, 2]
    assert pass_at_k(counts.c, counts.n, 1).tolist() == [0.5, 0.5]


def test_tasks_come_in_the_order_of_the_settings() -> None:
    outcomes = Outcomes(ROWS, {"task_ids": ["z", "a"]})
    assert outcomes.task_ids == ("a", "b")
    assert outcomes.counts().task_ids == ("a", "b")
    assert list(outcomes.pass_flags()) == ["a", "b"]


def test_shares_by_task() -> None:
    rows = [*ROWS, {**ROWS[0], "task_id": "c", "success": True}]
    assert list(Outcomes(rows).shares().items()) == [("b", 0.5), ("a", 0.5), ("c", 1.0)]


def test_flags_are_in_the_order_of_rollouts() -> None:
    assert Outcomes(ROWS).pass_flags() == {"b": [True, False], "a": [True, False]}


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.lists(st.booleans(), min_size=1)))
def test_pass_flags_survive_a_round_trip(tmp_path_factory, flags: dict[str, list[bool]]) -> None:
    path = tmp_path_factory.mktemp("flags") / "flags.jsonl"
    rows = ({"task_id": task, "pass_flags": list(values)} for task, values in flags.items())
    Outcomes(rows).save_pass_flags(path)
    assert Outcomes.load(path).pass_flags() == flags


def test_flags_may_be_ones_and_zeros_and_ids_numbers(tmp_path: Path) -> None:
    path = tmp_path / "flags.jsonl"
    path.write_text(
        '\ufeff{"task_id": 7, "pass_flags": [1, 0, true]}\r\n\n{"task_id": 8, "pass_flags": []}'
    )
    outcomes = Outcomes.load(path)
    assert outcomes.pass_flags() == {"7": [True, False, True]}
    assert not outcomes.torn


def test_counts_are_read_as_successes_first(tmp_path: Path) -> None:
    path = tmp_path / "counts.jsonl"
    rows = [{"task_id": "a", "c": 1, "n": 3}, {"task_id": 7, "c": 0, "n": 1, "note": "x"}]
    path.write_text(lines(*rows, {"task_id": "none", "c": 0, "n": 0}))
    outcomes = Outcomes.load(path)
    assert outcomes.pass_flags() == {"a": [True, False, False], "7": [False]}
    assert outcomes.counts().c.tolist() == [1, 0]
    assert outcomes.counts().n.tolist() == [3, 1]
    assert not outcomes.torn


def test_counts_of_scripted_outcomes_keep_the_mark() -> None:
    row = {"task_id": "a", "c": 1, "n": 2, "scripted": True, "policy": "scripted:x"}
    assert Outcomes([row]).scripted
    assert Outcomes([row]).policy == "scripted:x"


def test_a_task_counted_twice_must_agree() -> None:
    assert len(Outcomes([{"task_id": "a", "c": 1, "n": 2}] * 2)) == 2
    with pytest.raises(BadArgument, match="Row 2: task 'a', rollout 1 .*`success`"):
        Outcomes([{"task_id": "a", "c": 1, "n": 2}, {"task_id": "a", "c": 2, "n": 2}])


def test_a_row_that_says_success_is_one_rollout_whatever_else_it_says() -> None:
    row = {"task_id": "a", "rollout": 3, "success": True, "c": 1, "n": 9}
    assert list(Outcomes([row])) == [row]


@pytest.mark.parametrize(
    "text", ["hello\n", "task_id,c,n\n", "{'task_id': 'a'}", '{"task', "\n\nx"]
)
def test_a_file_of_something_else_is_named_by_its_first_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes.txt").write_text(text)
    number = text.rstrip("\n").count("\n") + 1
    with pytest.raises(RunDamaged, match=rf"notes.txt:{number}: expected JSON.*A row is"):
        Outcomes.load(tmp_path / "notes.txt")


def test_a_run_killed_in_its_first_row_loads(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, '{"task')
    for place in (folder, folder / "outcomes.jsonl"):
        assert Outcomes.load(place).torn
        assert len(Outcomes.load(place)) == 0


def test_rows_survive_write_jsonl(tmp_path: Path) -> None:
    Outcomes(ROWS).write_jsonl(tmp_path / "rows.jsonl")
    assert list(Outcomes.load(tmp_path / "rows.jsonl")) == ROWS
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_scripted_outcomes_stay_marked(tmp_path: Path) -> None:
    for policy in ("scripted:wide", {"name": "scripted:wide"}, {"name": "x", "scripted": True}):
        assert Outcomes(ROWS, {"policy": policy}).scripted
    assert Outcomes(ROWS, {"policy": "x", "scripted": True}).scripted
    assert not Outcomes(ROWS, {"policy": "hf:scripted"}).scripted
    scripted = Outcomes(ROWS, {"policy": "scripted:wide"})
    scripted.save_pass_flags(tmp_path / "flags.jsonl")
    loaded = Outcomes.load(tmp_path / "flags.jsonl")
    assert loaded.scripted
    assert loaded.policy == "scripted:wide"
    other = Outcomes([{"task_id": "c", "rollout": 0, "success": True}], {"policy": "model"})
    assert other.merge(loaded).scripted
    assert loaded.filter(["a"]).scripted


def test_settings_beside_a_bare_outcomes_file_are_read(tmp_path: Path) -> None:
    folder_with(tmp_path, lines(*ROWS), {"policy": "scripted:wide"})
    assert Outcomes.load(tmp_path / "outcomes.jsonl").scripted


def test_a_folder_where_nothing_came_out_yet_is_empty(tmp_path: Path) -> None:
    write_settings(tmp_path, {"n": 3})
    outcomes = Outcomes.load(tmp_path)
    assert len(outcomes) == 0
    assert outcomes.settings == {"n": 3}
    assert outcomes.counts().n.tolist() == []


@pytest.mark.parametrize("tail", ['{"task_id": "x", "rol', "\0\0\0\0", '{"task_id": "x"\n', "\xff"])
def test_a_torn_last_line_is_left_out_and_mended(tmp_path: Path, tail: str) -> None:
    folder = folder_with(tmp_path, lines(*ROWS))
    with (folder / "outcomes.jsonl").open("ab") as file:
        file.write(tail.encode("latin-1"))
    outcomes = Outcomes.load(folder)
    assert outcomes.torn
    assert list(outcomes) == ROWS
    with OutcomeWriter(folder) as writer:
        assert writer.mended == len(tail)
        writer.write("x", 0, True)
    again = Outcomes.load(folder)
    assert not again.torn
    assert list(again) == [*ROWS, {"task_id": "x", "rollout": 0, "success": True}]


def test_a_whole_last_line_without_its_end_is_kept(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, lines(*ROWS)[:-1])
    assert len(Outcomes.load(folder)) == 4
    with OutcomeWriter(folder) as writer:
        assert writer.mended == 0
        writer.write("x", 0, True)
    assert len(Outcomes.load(folder)) == 5


def test_a_torn_only_line(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, '{"task_')
    assert Outcomes.load(folder).torn
    OutcomeWriter(folder).close()
    assert (folder / "outcomes.jsonl").read_bytes() == b""


def test_mending_looks_back_beyond_one_block(tmp_path: Path) -> None:
    long = '{"task_id": "' + "x" * 200_000
    folder = folder_with(tmp_path, lines(*ROWS) + long)
    with OutcomeWriter(folder) as writer:
        assert writer.mended == len(long)
    assert list(Outcomes.load(folder)) == ROWS


@given(st.integers(0, 10_000))
def test_cut_anywhere_nothing_whole_is_lost(tmp_path_factory, cut: int) -> None:
    whole = lines(*ROWS).encode()
    kept = whole[: cut % (len(whole) + 1)]
    folder = folder_with(tmp_path_factory.mktemp("cut"), "")
    (folder / "outcomes.jsonl").write_bytes(kept)
    rows = list(Outcomes.load(folder))
    # A row is whole once its closing brace is there, with or without the end of the line.
    ends = np.cumsum([len(lines(row)) for row in ROWS]) - 1
    assert rows == ROWS[: int((ends <= len(kept)).sum())]
    OutcomeWriter(folder).close()
    assert list(Outcomes.load(folder)) == rows
    assert not Outcomes.load(folder).torn


BAD = [
    ("[1]", "expected an object, got \\[1\\]"),
    ("{", "expected JSON"),
    ("[" * 100_000, "expected JSON"),
    ('{"rollout": 0, "success": true}', "`task_id` to be a non-empty string, got None"),
    ('{"task_id": "", "rollout": 0, "success": true}', "non-empty string"),
    ('{"task_id": true, "rollout": 0, "success": true}', "non-empty string, got True"),
    ('{"task_id": "x", "success": true}', "`rollout` to be an integer of 0 or more, got None"),
    ('{"task_id": "x", "rollout": -1, "success": true}', "got -1"),
    ('{"task_id": "x", "rollout": 1e3, "success": true}', "got 1000.0"),
    ('{"task_id": "x", "rollout": true, "success": true}', "got True"),
    ('{"task_id": "x", "rollout": 99999999999999999999, "success": true}', "got 9999"),
    ('{"task_id": "x", "rollout": 0}', "`success` to hold true or false, got None"),
    ('{"task_id": "x", "rollout": 0, "success": "yes"}', "got 'yes'"),
    ('{"task_id": "x", "rollout": 0, "success": 2}', "got 2"),
    ('{"task_id": "x", "rollout": 0, "success": true, "score": "1"}', "`score` to be a number"),
    ('{"task_id": "x", "rollout": 0, "success": true, "score": NaN}', "NaN is no JSON number"),
    ('{"task_id": "x", "rollout": 0, "success": true, "steps": 1.5}', "`steps` to be an integer"),
    ('{"task_id": "x", "rollout": 0, "success": true, "parse": 3}', "`parse` to be an object"),
    ('{"task_id": "x", "pass_flags": "101"}', "`pass_flags` to be a list"),
    ('{"task_id": "x", "pass_flags": [null]}', "`pass_flags` to hold true or false, got None"),
    ('{"task_id": "x", "reward": 1}', "A row is .*task_id, pass_flags.* or .*task_id, c, n"),
    ("[1]", "A row is {task_id, rollout, success}"),
    ('{"task_id": "x", "c": 3, "n": 2}', "0 <= `c` <= `n`, got c = 3 with n = 2. A row is"),
    ('{"task_id": "x", "c": true, "n": 2}', "got c = True with n = 2"),
    ('{"task_id": "x", "c": 1.0, "n": 2}', "got c = 1.0 with n = 2"),
    ('{"task_id": "x", "c": -1, "n": 2}', "got c = -1 with n = 2"),
    ('{"task_id": "x", "c": 1, "n": null}', "got c = 1 with n = None"),
    ('{"task_id": "x", "c": 1, "n": 1000000000000}', "at most 20000000 rollouts in all"),
    (lines(ROWS[0] | {"success": False}).strip(), "'b', rollout 0 .*row 1.*`success`"),
    (lines(ROWS[0] | {"score": 0.0}).strip(), "'b', rollout 0 .*`score` 1.0, now 0.0"),
]


@pytest.mark.parametrize(("line", "says"), BAD, ids=range(len(BAD)))
def test_a_bad_line_is_named(tmp_path: Path, line: str, says: str) -> None:
    folder = folder_with(tmp_path, f"{lines(ROWS[0])}{line}\n{lines(ROWS[1])}")
    with pytest.raises(RunDamaged, match=f"outcomes.jsonl:2: .*{says}"):
        Outcomes.load(folder)


def test_a_line_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b"\xff\xfe\n" + lines(ROWS[0]).encode())
    with pytest.raises(RunDamaged, match=r"rows.jsonl:1: expected JSON"):
        Outcomes.load(tmp_path / "rows.jsonl")


def test_too_many_different_fields_are_refused() -> None:
    rows = ({"task_id": "a", "rollout": i, "success": True, f"f{i}": 1} for i in range(300))
    with pytest.raises(BadArgument, match="Row 257: expected at most 256 different fields"):
        Outcomes(rows)


def test_what_is_there_twice_counts_once(tmp_path: Path) -> None:
    again = ROWS[1] | {"wall_s": 9.0}
    folder = folder_with(tmp_path, lines(*ROWS, ROWS[0], ROWS[0], again))
    assert list(Outcomes.load(folder)) == ROWS


def test_unreadable_places_are_named(tmp_path: Path) -> None:
    with pytest.raises(RunDamaged, match="none here"):
        Outcomes.load(tmp_path / "none here")
    with pytest.raises(RunDamaged, match="a run folder with run.json, found none"):
        Outcomes.load(tmp_path)
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(RunDamaged, match=r"run.json: expected a JSON object, got \[\]"):
        Outcomes.load(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RunDamaged, match=r"run.json: expected a JSON object"):
        Outcomes.load(tmp_path)


def test_columns_by_name() -> None:
    outcomes = Outcomes(ROWS)
    assert outcomes.column("task_id") == ["b", "a", "b", "a"]
    assert outcomes.column("rollout") == [0, 1, 2, 0]
    assert outcomes.column("success") == [True, False, False, True]
    assert outcomes.column("steps") == [3, None, None, None]
    assert outcomes.keys() == {("b", 0), ("a", 1), ("b", 2), ("a", 0)}
    with pytest.raises(UnknownName, match="Did you mean 'score'"):
        outcomes.column("scores")


def test_parse_counts_add_up() -> None:
    assert Outcomes(ROWS).parse_totals() == {"calls": 5, "repairs.comma": 1, "words": 1}
    assert Outcomes([]).parse_totals() == {}


def test_filter() -> None:
    outcomes = Outcomes(ROWS, {"n": 4})
    assert list(outcomes.filter(["a"])) == [ROWS[1], ROWS[3]]
    assert list(outcomes.filter(predicate=lambda row: row["success"])) == [ROWS[0], ROWS[3]]
    assert list(outcomes.filter(["a"], lambda row: row["success"])) == [ROWS[3]]
    assert outcomes.filter(["a"]).settings == {"n": 4}
    with pytest.raises(UnknownName, match="No outcome of task 'c'"):
        outcomes.filter(["c"])


def test_merge_counts_a_shared_rollout_once() -> None:
    one, two, three = (
        Outcomes(ROWS[:3], {"n": 1, "t": 2}),
        Outcomes(ROWS[1:], {"n": 1, "t": 3}),
        Outcomes([]),
    )
    assert sorted(map(str, one.merge(two))) == sorted(map(str, ROWS))
    assert one.merge(two).settings == {"n": 1}
    assert one.merge(three).settings == {}
    assert list(one.merge()) == ROWS[:3]


def test_merge_names_the_rollout_that_disagrees() -> None:
    other = Outcomes([ROWS[2] | {"success": True}])
    with pytest.raises(RunError, match="task 'b', rollout 2 .*`success`"):
        Outcomes(ROWS).merge(other)


def test_merge_of_separate_runs_renumbers() -> None:
    one = Outcomes([{"task_id": "a", "pass_flags": [True, False]}])
    two = Outcomes([{"task_id": "a", "pass_flags": [False, False]}])
    assert one.merge(two, renumber=True).pass_flags() == {"a": [True, False, False, False]}


def test_bad_rows_are_named_by_number() -> None:
    with pytest.raises(BadArgument, match="Row 2: expected `task_id`"):
        Outcomes([ROWS[0], {"rollout": 1, "success": True}])


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"task_id": "", "rollout": 0, "success": True}, "`task_id`"),
        ({"task_id": "a", "rollout": -1, "success": True}, "`rollout`"),
        ({"task_id": "a", "rollout": 0, "success": 1}, "`success` to be true or false, got 1"),
        ({"task_id": "a", "rollout": 0, "success": True, "score": float("nan")}, "no JSON"),
        ({"task_id": "a", "rollout": 0, "success": True, "odd": {1, 2}}, "no JSON"),
        ({"task_id": "a", "rollout": 0, "success": True, "reason": 3}, "`reason` to be a string"),
        ({"task_id": "a", "rollout": 0, "success": True, "pass_flags": [True]}, "whole tasks"),
    ],
)
def test_a_bad_outcome_is_not_written(tmp_path: Path, row: dict[str, object], says: str) -> None:
    with OutcomeWriter(tmp_path) as writer, pytest.raises(BadArgument, match=says):
        writer.write(**row)
    assert (tmp_path / "outcomes.jsonl").read_bytes() == b""


def test_numpy_values_and_odd_texts_are_written(tmp_path: Path) -> None:
    write_settings(tmp_path, {})
    reason = "lone \ud800, line\u2028end, \0"
    with OutcomeWriter(tmp_path) as writer:
        writer.write("a\n", np.int64(3), np.bool_(True), reason=reason, score=None)
    expected = {"task_id": "a\n", "rollout": 3, "success": True, "reason": reason}
    assert list(Outcomes.load(tmp_path)) == [expected]


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = OutcomeWriter(tmp_path)
    writer.close()
    writer.close()
    with pytest.raises(RunError, match="the writer is closed"):
        writer.write("a", 0, True)


def test_one_run_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with (
        OutcomeWriter(tmp_path),
        pytest.raises(RunError, match="another run is writing to this folder"),
    ):
        OutcomeWriter(tmp_path)
    OutcomeWriter(tmp_path).close()


def test_a_killed_writer_leaves_every_row_and_no_lock(tmp_path: Path) -> None:
    code = (
        "import sys, itertools\n"
        "from agentenvs.harness.outcomes import OutcomeWriter\n"
        f"writer = OutcomeWriter({str(tmp_path)!r})\n"
        "for i in itertools.count():\n"
        "    writer.write('a', i, True, reason='x' * 500)\n"
        "    print(i, flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child.stdout:
        for _ in range(200):
            last = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        last = max([last, *(int(line) for line in child.stdout if line.endswith("\n"))])
    child.wait()
    write_settings(tmp_path, {})
    OutcomeWriter(tmp_path).close()
    rollouts = Outcomes.load(tmp_path).column("rollout")
    assert rollouts == list(range(len(rollouts)))
    assert len(rollouts) > last


def test_settings_are_whole_or_untouched(tmp_path: Path) -> None:
    assert read_settings(tmp_path) is None
    write_settings(tmp_path, {"a": [1, None]})
    for bad in ({"a": float("nan")}, {"a": object()}):
        with pytest.raises(BadArgument, match="settings"):
            write_settings(tmp_path, bad)
    assert read_settings(tmp_path) == {"a": [1, None]}
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.slow
def test_a_million_rows(tmp_path: Path) -> None:
    row = '{"task_id":"t%d","rollout":%d,"success":%s,"score":0.5,"reason":"","seed":%d}\n'
    with (tmp_path / "rows.jsonl").open("w") as file:
        for i in range(1_000_000):
            file.write(row % (i % 1000, i // 1000, "true" if i % 3 else "false", i))
    counts = Outcomes.load(tmp_path / "rows.jsonl").counts()
    assert counts.n.tolist() == [1000] * 1000
    assert int(counts.c.sum()) == 666_666


def test_rows_of_scripted_outcomes_keep_the_mark_wherever_they_go(tmp_path: Path) -> None:
    rows = [
        {"task_id": "a", "rollout": 0, "success": True, "scripted": True, "policy": "scripted:x"}
    ]
    first = Outcomes(rows, {})
    first.write_jsonl(tmp_path / "copy.jsonl")
    second = Outcomes.load(tmp_path / "copy.jsonl")
    assert first.scripted
    assert second.scripted
    assert second.policy == "scripted:x"


def test_a_policy_named_in_a_row_that_is_not_scripted_is_a_field(tmp_path: Path) -> None:
    outcomes = Outcomes([{"task_id": "a", "rollout": 0, "success": True, "policy": "mine"}], {})
    assert outcomes.column("policy") == ["mine"]
    assert not outcomes.scripted


@pytest.mark.parametrize(("opened", "closed"), [('{"a":', "}"), ('{"a":[', "]}")])
def test_settings_nested_beyond_reason_are_damage(tmp_path: Path, opened: str, closed: str) -> None:
    path, each = tmp_path / "run.json", len(closed)
    path.write_text(opened * (200 // each) + "1" + closed * (200 // each))
    assert Outcomes.load(tmp_path).settings.keys() == {"a"}
    for depth in (201, 900, 5000, 100_000):
        path.write_text(opened * depth + "1" + closed * depth)
        with pytest.raises(RunDamaged, match=r"run.json: expected (settings nested|a JSON)"):
            Outcomes.load(tmp_path)
