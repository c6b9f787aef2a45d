from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.errors import RunDamaged
from agentenvs.harness import Outcomes, read_transcripts, run, verify
from agentenvs.harness.store.row_sums import with_sum

TASK = "mini_files_8"
TASKS = [f"mini_files_{number}" for number in range(6, 12)]
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    settings: dict[str, Any] = {"examples": 1, "temperature": 0.7, "concurrency": 9}
    run("BFCLv4", "scripted:wide", tasks=TASKS, n=3, seed=5, out=folder, **settings)
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "run")


def named(folder: Path) -> set[tuple[str, str | None, int | None, str]]:
    """Return kind, task, rollout and field of every finding."""
    found = verify(folder, write=False)
    assert not found.ok
    return {(f.kind, f.task, f.rollout, f.field) for f in found.findings}


def place(rows: Rows, task: str, rollout: int) -> int:
    return next(
        at
        for at, row in enumerate(rows)
        if row.get("task_id") == task and row.get("rollout") == rollout
    )


def test_the_run_itself_holds(copy: Path) -> None:
    assert verify(copy, write=False).ok


@pytest.mark.parametrize("key", ["success", "reason", "score", "seed", "temperature", "steps"])
def test_a_changed_field_of_an_outcome(copy: Path, tamper: ModuleType, key: str) -> None:
    changes: dict[str, Callable[[Any], Any]] = {
        "success": lambda value: not value,
        "reason": lambda value: value + "x",
        "score": lambda value: value + 0.1,
        "seed": lambda value: value ^ 1,
        "temperature": lambda value: value + 1e-9,
        "steps": lambda value: value + 1,
    }

    def edit(rows: Rows) -> None:
        row = tamper.row(rows, TASK, 1)
        row[key] = changes[key](row[key])

    tamper.outcomes(copy, edit)
    assert ("edited", TASK, 1, key) in named(copy)
    # The transcript says the same as the replay, or is held against the row.
    assert {(task, rollout) for _, task, rollout, _ in named(copy)} == {(TASK, 1)}


@pytest.mark.parametrize("cut", [1, False, None])
def test_a_changed_count_of_cut_replies(cut: Any, copy: Path, tamper: ModuleType) -> None:
    def edit(rows: Rows) -> None:
        assert tamper.row(rows, TASK, 2)["parse"]["cut"] == 0
        tamper.row(rows, TASK, 2)["parse"]["cut"] = cut

    tamper.outcomes(copy, edit)
    assert named(copy) == {("edited", TASK, 2, "parse")}


def test_rows_of_versions_that_counted_no_cut_replies_hold(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: Rows) -> None:
        for row in rows:
            del row["parse"]["cut"]

    tamper.outcomes(copy, edit)
    assert verify(copy, write=False).ok


def test_a_changed_count_of_readings(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: Rows) -> None:
        tamper.row(rows, TASK, 2)["parse"]["repaired"] += 1

    tamper.outcomes(copy, edit)
    assert named(copy) == {("edited", TASK, 2, "parse")}


@pytest.mark.parametrize("key", ["scripted", "policy"])
def test_a_mark_of_scripted_outcomes_that_was_taken_away(
    copy: Path, tamper: ModuleType, key: str
) -> None:
    tamper.outcomes(copy, lambda rows: tamper.row(rows, TASK, 2).pop(key) and None)
    assert named(copy) == {("edited", TASK, 2, key)}


def test_a_verdict_flipped_in_the_transcript(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: Rows) -> None:
        row = tamper.row(rows, TASK, 0)
        row["success"] = not row["success"]

    tamper.transcripts(copy, edit)
    assert named(copy) == {("edited", TASK, 0, "success"), ("edited", TASK, 0, "sum")}


def flip(row: dict[str, Any]) -> None:
    row["success"] = not row["success"]


def test_a_verdict_flipped_in_both_with_a_good_sum(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: Rows) -> None:
        row = tamper.row(rows, TASK, 0)
        flip(row)
        tamper.resealed(row)

    tamper.outcomes(copy, lambda rows: flip(tamper.row(rows, TASK, 0)))
    tamper.transcripts(copy, edit)
    (finding,) = verify(copy).findings
    assert (finding.kind, finding.task, finding.rollout) == ("edited", TASK, 0)
    assert (finding.field, finding.recorded) == ("success", not finding.replayed)
    assert finding.file == "outcomes.jsonl and transcripts"


def test_every_single_character_of_every_action(copy: Path, tamper: ModuleType) -> None:
    length = sum(
        len(step["text"])
        for row in read_transcripts(copy)
        for step in row["steps"]
        if (row["task_id"], row["rollout"]) == (TASK, 0)
    )
    draws = random.Random(0)
    for at in draws.sample(range(length), 6):

        def edit(rows: Rows, at: int = at) -> None:
            for step in tamper.row(rows, TASK, 0)["steps"]:
                if at < len(step[0]):
                    other = chr(ord(step[0][at]) ^ 1)
                    step[0] = step[0][:at] + other + step[0][at + 1 :]
                    return
                at -= len(step[0])

        twin = shutil.copytree(copy, copy.with_name(f"twin{at}"))
        tamper.transcripts(twin, edit)
        found = named(twin)
        assert ("edited", TASK, 0, "sum") in found
        assert {(task, rollout) for _, task, rollout, _ in found} == {(TASK, 0)}


def test_an_action_that_matters_shows_in_what_came_back(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: Rows) -> None:
        row = tamper.row(rows, TASK, 0)
        assert row["steps"][0][0].startswith("[")
        row["steps"][0][0] = row["steps"][0][0].replace("(", "x(", 1)
        tamper.resealed(row)

    tamper.transcripts(copy, edit)
    assert ("edited", TASK, 0, "steps[0].news") in named(copy)


@pytest.mark.parametrize("part", ["news", "parse", "finish_reason", "reward"])
def test_a_changed_part_of_a_step(copy: Path, tamper: ModuleType, part: str) -> None:
    at = ["text", "news", "parse", "finish_reason", "reward"].index(part)
    other = {
        "news": [{"role": "user", "content": "x"}],
        "parse": {"status": "words"},
        "finish_reason": "stopp",
        "reward": 0.5,
    }

    def edit(rows: Rows) -> None:
        row = tamper.row(rows, TASK, 0)
        row["steps"][0][at] = other[part]
        tamper.resealed(row)

    tamper.transcripts(copy, edit)
    field = "row" if part == "finish_reason" else f"steps[0].{part}"
    assert named(copy) == {("edited", TASK, 0, field)}


@pytest.mark.parametrize(("cut", "told"), [(True, "goes on"), (False, "over after")])
def test_steps_too_few_and_too_many(copy: Path, tamper: ModuleType, cut: bool, told: str) -> None:
    def edit(rows: Rows) -> None:
        row = tamper.row(rows, TASK, 0)
        row["steps"] = row["steps"][:-1] if cut else [*row["steps"], row["steps"][-1]]
        tamper.resealed(row)

    tamper.transcripts(copy, edit)
    ends = [finding for finding in verify(copy).findings if finding.field == "end"]
    assert told in ends[0].replayed


def test_rows_of_two_rollouts_swapped(copy: Path, tamper: ModuleType) -> None:
    def swap(rows: Rows) -> None:
        one, two = tamper.row(rows, TASK, 0), tamper.row(rows, TASK, 1)
        one["rollout"], two["rollout"] = 1, 0

    tamper.outcomes(copy, swap)
    found = named(copy)
    assert {("edited", TASK, 0, "seed"), ("edited", TASK, 1, "seed")} <= found
    assert {(task, rollout) for _, task, rollout, _ in found} == {(TASK, 0), (TASK, 1)}


def test_rollouts_swapped_in_both_files_with_good_sums(copy: Path, tamper: ModuleType) -> None:
    def swap(rows: Rows) -> Rows:
        one, two = tamper.row(rows, TASK, 0), tamper.row(rows, TASK, 1)
        one["rollout"], two["rollout"] = 1, 0
        return [one, two]

    tamper.outcomes(copy, lambda rows: swap(rows) and None)
    tamper.transcripts(copy, lambda rows: [tamper.resealed(row) for row in swap(rows)] and None)
    assert named(copy) == {("edited", TASK, 0, "seed"), ("edited", TASK, 1, "seed")}


@pytest.mark.parametrize("extra", ['"rollout":7', '"task_id":"x"', '"text":"%s","content":"x"'])
def test_a_line_that_readers_take_for_another(copy: Path, tamper: ModuleType, extra: str) -> None:
    def edit(lines: list[bytes]) -> None:
        key = json.loads(lines[0])["text"]
        line = lines[1].decode()
        bare = line[: line.rindex(',"sum":')]
        more = extra % key if "%s" in extra else extra
        lines[1] = with_sum(f"{bare},{more}}}").encode()

    tamper.lines(copy, edit)
    found = verify(copy)
    assert [(f.kind, f.field) for f in found.findings] == [("edited", "row")]


def test_a_shared_text_of_two_names(copy: Path, tamper: ModuleType) -> None:
    def edit(lines: list[bytes]) -> None:
        own = json.loads(lines[0])["text"].encode()
        other = lines[0].replace(own, b"0123456789abcdef", 1)
        lines[0] = other[:-1] + b',"text":"%s"}' % own

    tamper.lines(copy, edit)
    assert {f.field for f in verify(copy).findings} == {"text"}


@pytest.mark.parametrize("other", ["", ',"sul":"0123456789abcdef"'])
def test_a_sum_that_was_taken_away(copy: Path, tamper: ModuleType, other: str) -> None:
    def edit(lines: list[bytes]) -> None:
        lines[1] = lines[1][: lines[1].rindex(b',"sum":')] + f"{other}}}".encode()

    tamper.lines(copy, edit)
    assert not verify(copy, write=False).ok
    tamper.settings(copy, lambda found: None, history=False)
    # Earlier versions wrote none.
    assert verify(copy, write=False).ok is (not other)


def test_a_count_that_is_none(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: Rows) -> None:
        parse = tamper.row(rows, TASK, 2)["parse"]
        parse.update({key: value == 1 for key, value in parse.items() if value in (0, 1)})

    tamper.outcomes(copy, edit)
    assert named(copy) == {("edited", TASK, 2, "parse")}


def test_a_task_that_is_no_text(copy: Path) -> None:
    (segment,) = copy.glob("transcripts-*.gz")
    data = gzip.decompress(segment.read_bytes()).replace(b'"mini_files_8"', b'"mini_\xffiles_8"', 1)
    segment.write_bytes(gzip.compress(data))
    kinds = {(f.kind, f.field) for f in verify(copy).findings}
    assert kinds == {("edited", "row"), ("missing", "transcript")}


def test_the_order_of_rows_is_nothing(copy: Path, tamper: ModuleType) -> None:
    tamper.outcomes(copy, lambda rows: rows.reverse())
    assert verify(copy).ok


def test_a_deleted_outcome(copy: Path, tamper: ModuleType) -> None:
    tamper.outcomes(copy, lambda rows: rows.pop(place(rows, TASK, 1)) and None)
    assert named(copy) == {("missing", TASK, 1, "outcome")}


def test_the_last_outcome_deleted(copy: Path, tamper: ModuleType) -> None:
    tamper.outcomes(copy, lambda rows: rows.pop() and None)
    ((kind, _, _, field),) = named(copy)
    assert (kind, field) == ("missing", "outcome")


def test_a_deleted_transcript(copy: Path, tamper: ModuleType) -> None:
    tamper.transcripts(copy, lambda rows: rows.pop(place(rows, TASK, 1)) and None)
    assert named(copy) == {("missing", TASK, 1, "transcript")}


def test_a_deleted_shared_text(copy: Path, tamper: ModuleType) -> None:
    tamper.transcripts(copy, lambda rows: rows[1:])
    assert named(copy) == {("missing", None, None, "text")}


def test_a_changed_shared_text(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: Rows) -> None:
        rows[0]["content"] = rows[0]["content"].replace("tools", "tolls", 1)

    tamper.transcripts(copy, edit)
    assert named(copy) == {("edited", None, None, "text")}


def test_a_doubled_outcome_and_a_doubled_transcript(copy: Path, tamper: ModuleType) -> None:
    for edit in (tamper.outcomes, tamper.transcripts):
        twin = shutil.copytree(copy, copy.with_name(edit.__name__))
        edit(twin, lambda rows: [*rows, rows[place(rows, TASK, 2)]])
        assert named(twin) == {("edited", TASK, 2, "row")}


def test_a_second_row_that_disagrees_is_named_and_not_raised(
    copy: Path, tamper: ModuleType
) -> None:
    def edit(rows: Rows) -> Rows:
        row = tamper.row(rows, TASK, 2)
        return [*rows, {**row, "success": not row["success"]}]

    tamper.outcomes(copy, edit)
    (finding,) = verify(copy).findings
    assert (finding.field, finding.task, finding.rollout) == ("row", TASK, 2)
    assert finding.file == f"outcomes.jsonl:{3 * len(TASKS) + 1}"


def test_rollouts_beyond_n_and_tasks_of_another_run(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: Rows) -> None:
        tamper.row(rows, TASK, 2)["rollout"] = 3
        tamper.row(rows, TASK, 1)["task_id"] = "mini_files_x"

    tamper.outcomes(copy, edit)
    assert named(copy) >= {
        ("edited", TASK, 3, "rollout"),
        ("edited", "mini_files_x", 1, "task_id"),
        ("missing", TASK, 3, "transcript"),
        ("missing", TASK, 2, "outcome"),
    }


@pytest.mark.parametrize("line", [b"{]\n", b"[1]\n", b'{"task_id": "a"}\n', b'{"success": NaN}\n'])
def test_a_line_that_is_no_outcome(copy: Path, line: bytes) -> None:
    path = copy / "outcomes.jsonl"
    first, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(first + b"\n" + line + rest)
    (finding,) = verify(copy).findings
    assert (finding.kind, finding.file, finding.field) == ("edited", "outcomes.jsonl:2", "row")


def test_a_segment_with_a_flipped_bit(copy: Path) -> None:
    (segment,) = copy.glob("transcripts-*.gz")
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(bytes(data))
    found = verify(copy)
    assert not found.ok
    assert any(f.file.startswith(segment.name) for f in found.findings)


SETTINGS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "rules": (lambda s: s["env_kwargs"].update(rules="fixed"), "env_kwargs"),
    "seed": (lambda s: s.update(seed=6), "seed"),
    "n": (lambda s: s.update(n=2), "n"),
    "more n": (lambda s: s.update(n=4), "n"),
    "parser": (lambda s: s.update(parser="strict"), "parser"),
    "examples": (lambda s: s["prompt"].update(examples=0), "prompt"),
    "temperature": (lambda s: s["sampling"].update(temperature=1.0), "sampling"),
    "max_requests": (lambda s: s.update(max_requests=2), "max_requests"),
    "task_ids": (lambda s: s["task_ids"].reverse(), "task_ids"),
    "tasks": (lambda s: s.update(tasks="base"), "tasks"),
    "data": (lambda s: s.update(data="23a8ae8d7b47"), "data"),
    "policy": (lambda s: s["policy"].update(name="gemma"), "policy"),
    "scripted": (lambda s: s["policy"].update(scripted=False), "policy"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_changed_setting(copy: Path, tamper: ModuleType, name: str) -> None:
    edit, field = SETTINGS[name]
    tamper.settings(copy, edit)
    found = verify(copy, write=False)
    assert ("edited", "run.json", field) in {(f.kind, f.file, f.field) for f in found.findings}


@pytest.mark.parametrize("name", ["seed", "n", "parser", "examples", "temperature", "task_ids"])
def test_a_changed_setting_shows_without_the_sums_of_settings(
    copy: Path, tamper: ModuleType, name: str
) -> None:
    tamper.settings(copy, SETTINGS[name][0], history=False)
    assert len(verify(copy).findings) >= 1


def test_settings_without_a_prompt(copy: Path, tamper: ModuleType) -> None:
    tamper.settings(copy, lambda found: found.pop("prompt") and None)
    with pytest.raises(RunDamaged, match="Expected `prompt` in run.json"):
        verify(copy)


def test_another_version_makes_a_difference_stale(copy: Path, tamper: ModuleType) -> None:
    def edit(found: dict[str, Any]) -> None:
        found["history"][0]["versions"]["agentenvs"] = "0.0.9"

    tamper.settings(copy, edit)
    found = verify(copy, write=False)
    assert found.ok
    assert found.stale[0].startswith("version of agentenvs: 0.0.9 -> ")

    def news(rows: Rows) -> None:
        row = tamper.row(rows, TASK, 0)
        row["steps"][0][1][0]["content"] += " "
        tamper.resealed(row)

    tamper.transcripts(copy, news)
    (finding,) = verify(copy, write=False).findings
    assert (finding.kind, finding.field) == ("stale", "steps[0].news")
    # What contradicts itself is no matter of versions.
    tamper.outcomes(copy, lambda rows: rows[0].update(seed=1))
    assert {finding.kind for finding in verify(copy, write=False).findings} == {"stale", "edited"}


def test_a_task_that_there_is_no_more(copy: Path, tamper: ModuleType) -> None:
    def edit(found: dict[str, Any]) -> None:
        found["task_ids"] = [f"{name}_old" if name == TASK else name for name in found["task_ids"]]

    tamper.settings(copy, edit)
    found = verify(copy, write=False)
    assert ("stale", "task_ids", f"{TASK}_old") in [
        (f.kind, f.field, f.recorded) for f in found.findings
    ]
    assert found.verified == found.rows - 3


@pytest.mark.slow
def test_one_flipped_bit_among_6400_outcomes(
    official_bfcl: None, tamper: ModuleType, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    run("BFCLv4", "scripted:wide", tasks="base", n=32, out=folder)
    keys = sorted(Outcomes.load(folder).keys())
    assert len(keys) == 6400
    draws = random.Random(1)
    for _ in range(5):
        twin = shutil.copytree(folder, tmp_path / "twin")
        task, rollout = draws.choice(keys)

        def edit(rows: Rows, task: str = task, rollout: int = rollout) -> None:
            row = tamper.row(rows, task, rollout)
            row["success"] = not row["success"]

        tamper.outcomes(twin, edit)
        (finding,) = verify(twin).findings
        assert (finding.kind, finding.field) == ("edited", "success")
        assert (finding.task, finding.rollout) == (task, rollout)
        shutil.rmtree(twin)
