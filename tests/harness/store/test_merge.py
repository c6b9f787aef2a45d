from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.errors import BadArgument, RunDamaged, RunError, SettingsDiffer
from agentenvs.harness import Outcomes, OutcomeWriter, read_transcripts, run, verify
from agentenvs.harness.policies import RandomPolicy
from agentenvs.harness.records import Void
from agentenvs.harness.seeds import derive
from agentenvs.harness.store.merge import merge_runs
from agentenvs.harness.store.outcomes_file import dump
from agentenvs.harness.store.row_sums import sum_holds
from agentenvs.harness.store.transcripts import lines_of, segments
from agentenvs.harness.store.voids import VoidWriter

ONE, TWO = ["ledger_1", "ledger_2"], ["ledger_3", "ledger_4"]


def play(ledger: ModuleType, out: Path, **settings: Any) -> Outcomes:
    return run(ledger.ID, RandomPolicy(), out=out, **{"n": 2, "tasks": ONE, **settings})


def bare(rows: Any) -> list[dict[str, Any]]:
    kept = [{key: value for key, value in row.items() if key != "wall_s"} for row in rows]
    return sorted(kept, key=lambda row: (row["task_id"], row["rollout"]))


def settings(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return found


def split(folder: Path, parts: list[Path], at: int) -> None:
    """Split a run by rollouts, as a run that was played in two places."""
    for part, keep in zip(parts, (lambda r: r < at, lambda r: r >= at), strict=True):
        shutil.copytree(folder, part)
        rows = [row for row in Outcomes.load(folder) if keep(row["rollout"])]
        (part / "outcomes.jsonl").write_bytes(b"".join(map(dump, rows)))


def test_shards_by_tasks_make_the_run_of_all_tasks(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a", tasks=ONE)
    play(ledger, tmp_path / "b", tasks=TWO)
    whole = play(ledger, tmp_path / "whole", tasks=ONE + TWO)
    merged = merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"])
    assert bare(merged) == bare(whole)
    assert bare(read_transcripts(tmp_path / "all")) == bare(read_transcripts(tmp_path / "whole"))
    assert merged.task_ids == whole.task_ids
    made, expected = settings(tmp_path / "all"), settings(tmp_path / "whole")
    assert [one["run"] for one in made.pop("merged_from")] == ["a", "b"]
    assert len(made.pop("history")) == 2
    expected.pop("history")
    assert made == expected


def test_lines_are_copied_as_they_were_written(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a", tasks=ONE)
    play(ledger, tmp_path / "b", tasks=TWO)
    merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"])
    rows = [(tmp_path / part / "outcomes.jsonl").read_bytes() for part in ("a", "b", "all")]
    assert rows[0] + rows[1] == rows[2]

    def lines(folder: Path) -> list[bytes]:
        return [line for path in segments(folder) for _, line in lines_of(path)]

    assert set(lines(tmp_path / "all")) == {*lines(tmp_path / "a"), *lines(tmp_path / "b")}


def test_shards_by_rollouts_make_one_run(ledger: ModuleType, tmp_path: Path) -> None:
    whole = play(ledger, tmp_path / "whole", n=4)
    parts = [tmp_path / "low", tmp_path / "high"]
    split(tmp_path / "whole", parts, 1)
    merged = merge_runs(tmp_path / "all", parts)
    assert bare(merged) == bare(whole)
    assert bare(read_transcripts(tmp_path / "all")) == bare(read_transcripts(tmp_path / "whole"))


def test_a_merged_run_goes_on(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a", tasks=ONE, n=3)
    play(ledger, tmp_path / "b", tasks=TWO, n=1, concurrency=1)
    merged = merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"])
    assert len(merged) == 8
    assert len(merged.open) == 4
    went_on = play(ledger, tmp_path / "all", tasks=ONE + TWO, n=4)
    assert bare(went_on) == bare(play(ledger, tmp_path / "whole", tasks=ONE + TWO, n=4))
    assert len(list(read_transcripts(tmp_path / "all"))) == 16
    with pytest.raises(SettingsDiffer, match="seed: 0 -> 1"):
        play(ledger, tmp_path / "all", tasks=ONE + TWO, n=4, seed=1)


def test_a_subset_of_the_first_leaves_its_settings(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a", tasks=ONE + TWO, n=1)
    play(ledger, tmp_path / "b", tasks=TWO, n=2)
    merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"])
    one, two = settings(tmp_path / "all"), settings(tmp_path / "a")
    assert one["task_hash"] == two["task_hash"]
    assert one["n"] == 2


def test_a_rollout_that_two_have_counts_once_and_must_agree(
    ledger: ModuleType, tmp_path: Path
) -> None:
    play(ledger, tmp_path / "a")
    play(ledger, tmp_path / "b")
    assert len(merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"])) == 4
    assert len(list(read_transcripts(tmp_path / "all"))) == 4
    rows = list(Outcomes.load(tmp_path / "b"))
    rows[2]["success"] = not rows[2]["success"]
    (tmp_path / "b" / "outcomes.jsonl").write_bytes(b"".join(map(dump, rows)))
    told = f"task {rows[2]['task_id']!r}, rollout {rows[2]['rollout']}"
    with pytest.raises(RunError, match=told):
        merge_runs(tmp_path / "other", [tmp_path / "a", tmp_path / "b"])
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": 1}, "seed: 0 -> 1\nSeparate runs"),
        ({"temperature": 0.5}, "sampling.temperature: 1.0 -> 0.5"),
        ({"harness": "none"}, 'harness: "light" -> "none"'),
        ({"policy": RandomPolicy(words=0.5)}, "policy.words: 0.2 -> 0.5"),
    ],
)
def test_other_settings_are_refused(
    ledger: ModuleType, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    play(ledger, tmp_path / "a")
    run(ledger.ID, out=tmp_path / "b", **{"policy": RandomPolicy(), "n": 2, "tasks": TWO} | change)
    with pytest.raises(SettingsDiffer) as refusal:
        merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"])
    assert told in str(refusal.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_separate_runs_are_numbered_one_after_the_other(ledger: ModuleType, tmp_path: Path) -> None:
    one = play(ledger, tmp_path / "a", n=2)
    two = play(ledger, tmp_path / "b", n=3, seed=7)
    merged = merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"], renumber=True)
    made = settings(tmp_path / "all")
    assert (made["seed"], made["n"]) == (None, 5)
    assert [(one["seed"], one["first"], one["n"]) for one in made["merged_from"]] == [
        (0, 0, 2),
        (7, 2, 3),
    ]
    moved = [{**row, "rollout": row["rollout"] + 2} for row in two]
    assert bare(merged) == bare([*one, *moved])
    for row in merged:
        part = made["merged_from"][row["rollout"] >= 2]
        assert row["seed"] == derive(part["seed"], row["task_id"], row["rollout"] - part["first"])
    seeds = {(row["task_id"], row["rollout"]): row["seed"] for row in merged}
    talks = list(read_transcripts(tmp_path / "all"))
    assert {(row["task_id"], row["rollout"]): row["seed"] for row in talks} == seeds
    lines = [line for path in segments(tmp_path / "all") for _, line in lines_of(path)]
    assert all(sum_holds(line.rstrip()) for line in lines if b'"task_id"' in line)
    with pytest.raises(SettingsDiffer, match="seed: null -> 0"):
        play(ledger, tmp_path / "all", n=6)


def test_merged_runs_can_be_merged_again(ledger: ModuleType, tmp_path: Path) -> None:
    for seed in range(3):
        play(ledger, tmp_path / str(seed), seed=seed)
    merge_runs(tmp_path / "01", [tmp_path / "0", tmp_path / "1"], renumber=True)
    merged = merge_runs(tmp_path / "012", [tmp_path / "01", tmp_path / "2"], renumber=True)
    made = settings(tmp_path / "012")["merged_from"]
    assert [(one["run"], one["first"]) for one in made] == [("0", 0), ("1", 2), ("2", 4)]
    assert len(merged) == 12


def test_runs_in_shards_are_merged_and_then_renumbered(ledger: ModuleType, tmp_path: Path) -> None:
    for seed in range(2):
        shards = [tmp_path / f"{seed}-{part}" for part in range(2)]
        for part, shard in enumerate(shards):
            play(ledger, shard, seed=seed, n=4, rollouts=(2 * part, 2 * part + 2))
        merge_runs(tmp_path / str(seed), shards)
    merged = merge_runs(tmp_path / "all", [tmp_path / "0", tmp_path / "1"], renumber=True)
    assert (merged.settings["n"], len(merged), merged.open) == (8, 16, [])
    assert verify(tmp_path / "all").findings == ()
    with pytest.raises(RunError, match="seeds 0, 1, 0. Shards of one run are merged first"):
        merge_runs(tmp_path / "more", [tmp_path / "all", tmp_path / "0-0"], renumber=True)


def test_no_folder_is_made_within_a_run(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for out in ("a/all", "b/c/all", "x/../a/all"):
        with pytest.raises(BadArgument, match="outside the runs"):
            merge_runs(tmp_path / out, [tmp_path / "a"])
    assert not (tmp_path / "a" / "all").exists()


def test_equal_seeds_are_no_separate_runs(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a")
    play(ledger, tmp_path / "b")
    with pytest.raises(RunError, match="seeds of their own.* 0, 0"):
        merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"], renumber=True)


def test_void_tries_come_along(ledger: ModuleType, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 1)):
        play(ledger, tmp_path / name, seed=seed)
        writer = VoidWriter(tmp_path / name)
        writer.write(Void("ledger_1", 1, 0, "timeout", "TimeoutError: late", 3.0))
        writer.close()
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    assert len(merge_runs(tmp_path / "ac", [tmp_path / "a", tmp_path / "c"]).voids) == 1
    merged = merge_runs(tmp_path / "ab", [tmp_path / "a", tmp_path / "b"], renumber=True)
    assert [row["rollout"] for row in merged.voids] == [1, 3]


def test_runs_without_transcripts_and_torn_ones_are_merged(
    ledger: ModuleType, tmp_path: Path
) -> None:
    play(ledger, tmp_path / "a", transcripts=False)
    play(ledger, tmp_path / "b", tasks=TWO)
    with (tmp_path / "b" / "outcomes.jsonl").open("ab") as file:
        file.write(b'{"task_id": "led')
    merged = merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"])
    assert len(merged) == 8
    assert not merged.torn
    assert {row["task_id"] for row in read_transcripts(tmp_path / "all")} == set(TWO)
    assert settings(tmp_path / "all")["transcripts"] is False


def test_an_edited_transcript_is_not_vouched_for(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a")
    (segment,) = segments(tmp_path / "a")
    plain = segment.with_suffix("")
    lines = b"".join(line for _, line in lines_of(segment))
    segment.unlink()
    plain.write_bytes(lines.replace(b'"stop"', b'"halt"', 1))
    with pytest.raises(RunDamaged, match="transcript of task 'ledger_1', rollout 0 is not the one"):
        merge_runs(tmp_path / "all", [tmp_path / "a"])
    assert lines.startswith(b'{"text":')
    plain.write_bytes(lines.replace(b'"content":"', b'"content":"Never. ', 1))
    with pytest.raises(RunDamaged, match="the text .* is not the one that was written"):
        merge_runs(tmp_path / "all", [tmp_path / "a"])
    plain.write_bytes(lines.split(b"\n", 1)[1])
    with pytest.raises(RunDamaged, match="misses a text"):
        merge_runs(tmp_path / "all", [tmp_path / "a"])
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_is_in_the_way_stays(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a")
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("all of it")
    with pytest.raises(BadArgument, match="something in"):
        merge_runs(full, [tmp_path / "a"])
    with pytest.raises(BadArgument, match="something in"):
        merge_runs(tmp_path / "a", [tmp_path / "a"])
    full.rename(tmp_path / "all.part")
    with pytest.raises(RunError, match=r"thesis\.txt"):
        merge_runs(tmp_path / "all", [tmp_path / "a"])
    assert (tmp_path / "all.part" / "thesis.txt").exists()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadArgument, match="new folder"):
        merge_runs(tmp_path / "link", [tmp_path / "a"])


def test_what_a_killed_merge_left_is_made_anew(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a")
    half = tmp_path / "all.part"
    half.mkdir()
    (half / "outcomes.jsonl").write_bytes(b'{"task_id": "ledger_1"')
    (half / "transcripts-0000.jsonl").write_bytes(b"{")
    assert len(merge_runs(tmp_path / "all", [tmp_path / "a"])) == 4
    assert not half.exists()


def test_two_merges_do_not_write_one_folder(ledger: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    play(ledger, tmp_path / "a")
    with (
        OutcomeWriter(tmp_path / "all.part"),
        pytest.raises(RunError, match="another run is writing"),
    ):
        merge_runs(tmp_path / "all", [tmp_path / "a"])
    assert (tmp_path / "all.part" / "outcomes.jsonl").exists()


def test_a_run_that_goes_on_is_not_merged(ledger: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    play(ledger, tmp_path / "a")
    with OutcomeWriter(tmp_path / "a"), pytest.raises(RunError, match="another run is writing"):
        merge_runs(tmp_path / "all", [tmp_path / "a"])


def test_a_folder_that_cannot_be_made_is_told(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a")
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="all was not made: Not a directory"):
        merge_runs(tmp_path / "file" / "all", [tmp_path / "a"])


def test_a_full_disk_leaves_nothing_and_the_runs_as_they_were(
    ledger: ModuleType, tmp_path: Path
) -> None:
    play(ledger, tmp_path / "a")
    write, calls, most = os.write, 0, 1000

    def counted(fd: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls > most:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", counted)
        merge_runs(tmp_path / "whole", [tmp_path / "a"])
        needed = calls
        for room in range(needed):
            calls, most = 0, room
            with pytest.raises(RunError, match="all was not made: No space left"):
                merge_runs(tmp_path / "all", [tmp_path / "a"])
            assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "whole"]
    assert needed > 4


@pytest.mark.parametrize(
    "change",
    [{"n": 0}, {"n": "2"}, {"task_ids": None}, {"history": 3}, {"merged_from": [{"run": "a"}]}],
)
def test_run_json_that_no_run_writes_is_damage(
    ledger: ModuleType, tmp_path: Path, change: dict[str, Any]
) -> None:
    play(ledger, tmp_path / "a")
    (tmp_path / "a" / "run.json").write_text(json.dumps({**settings(tmp_path / "a"), **change}))
    with pytest.raises(RunDamaged, match=next(iter(change))):
        merge_runs(tmp_path / "all", [tmp_path / "a"])


def test_rows_that_are_no_part_of_their_run_are_damage(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a")
    with OutcomeWriter(tmp_path / "a") as writer:
        writer.write("ledger_1", 2, True)
    with pytest.raises(RunDamaged, match="rollout 2 is there but no part"):
        merge_runs(tmp_path / "all", [tmp_path / "a"], renumber=True)


@pytest.mark.parametrize(("runs", "told"), [([], "at least one"), (["a", "./a"], "twice")])
def test_runs_are_given_once(
    ledger: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: list[str], told: str
) -> None:
    play(ledger, tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadArgument, match=told):
        merge_runs("all", runs)


def test_no_run_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunDamaged, match=r"nowhere: expected a run folder"):
        merge_runs(tmp_path / "all", [tmp_path / "nowhere"])


def test_other_versions_are_told(ledger: ModuleType, tmp_path: Path) -> None:
    play(ledger, tmp_path / "a")
    play(ledger, tmp_path / "b", tasks=TWO)
    changed = settings(tmp_path / "b")
    changed["history"][0]["versions"]["numpy"] = "99.0"
    (tmp_path / "b" / "run.json").write_text(json.dumps(changed))
    with pytest.warns(UserWarning, match=r"numpy \S+, 99\.0"):
        merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"])


def test_parts_of_the_rollouts_make_the_whole_run(ledger: ModuleType, tmp_path: Path) -> None:
    whole = play(ledger, tmp_path / "whole", n=5)
    parts = [(0, 2), (2, 4), (4, 5)]
    folders = [tmp_path / f"part-{first}" for first, _ in parts]
    for part, folder in zip(parts, folders, strict=True):
        played = play(ledger, folder, n=5, rollouts=part)
        assert {row["rollout"] for row in played} == set(range(*part))
    merged = merge_runs(tmp_path / "merged", folders)
    assert bare(merged) == bare(whole)
    assert merged.open == []
    assert merged.settings["rollouts"] is None
    assert len(play(ledger, tmp_path / "merged", n=5)) == len(whole)


@pytest.mark.parametrize(
    ("key", "value"),
    [("success", True), ("reason", "other"), ("seed", 1), ("temperature", 0.5), ("reason", None)],
)
def test_an_edited_outcome_is_not_vouched_for(
    ledger: ModuleType, tamper: ModuleType, tmp_path: Path, key: str, value: Any
) -> None:
    play(ledger, tmp_path / "a")
    play(ledger, tmp_path / "b", tasks=TWO)

    def edit(rows: list[dict[str, Any]]) -> None:
        row = tamper.row(rows, "ledger_3", 1)
        assert row[key] != value
        row[key] = value

    tamper.outcomes(tmp_path / "b", edit)
    told = rf"b: task 'ledger_3', rollout 1 was edited: its outcome has `{key}` {value!r}, its"
    for renumber in (False, True):
        with pytest.raises(RunDamaged, match=told):
            merge_runs(tmp_path / "all", [tmp_path / "b"], renumber=renumber)
    with pytest.raises(RunDamaged, match=told):
        merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"])
    assert not (tmp_path / "all").exists()
