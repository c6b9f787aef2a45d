from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import RunDamaged, RunError
from agentenvs.harness import run, verify
from agentenvs.harness.replay.certificate import write_certificate
from agentenvs.harness.replay.sums import RowSums
from agentenvs.harness.store.merge import merge_runs

TASK = "0/order/shelf/three"
SETTINGS: dict[str, Any] = {"tasks": [TASK, "0/order/lamp/one"], "seed": 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    run("ToolLab", "scripted:wide", n=4, out=folder, **SETTINGS)
    assert verify(folder).ok
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "run")


def certificate(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "certificate.json").read_text())
    return found


def test_it_says_what_was_verified(copy: Path) -> None:
    found = certificate(copy)
    assert (found["rollouts"], found["open"], found["voids"]) == (8, 0, 0)
    assert found["env_id"] == found["played"] == "agentenvs/ToolLab-v0"
    assert found["versions"]["run"] == found["versions"]["replay"]
    assert len(found["outcomes"]) == len(found["transcripts"]) == 64
    assert {"data", "task_hash", "prompt", "parser", "policy", "certified"} <= set(found)


def test_it_is_the_same_however_often_and_in_whatever_order(copy: Path, tamper: ModuleType) -> None:
    before = certificate(copy)
    tamper.outcomes(copy, lambda rows: rows.reverse())
    tamper.outcomes(copy, lambda rows: [row.update(wall_s=1.5) for row in rows] and None)
    tamper.outcomes(copy, lambda rows: [dict(sorted(row.items())) for row in rows])
    assert verify(copy, quick=True).ok
    assert verify(copy).ok
    after = certificate(copy)
    assert after["files"] != before["files"]
    for key in ("certified", "files", "sum"):
        assert before.pop(key)
        assert after.pop(key)
    assert after == before


def test_a_change_since_is_named_without_a_replay(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: list[dict[str, Any]]) -> None:
        tamper.row(rows, TASK, 1)["new_tokens"] = 7

    tamper.outcomes(copy, edit)
    found = verify(copy, quick=True)
    (finding,) = found.findings
    assert (finding.kind, finding.task, finding.rollout) == ("edited", TASK, 1)
    assert (finding.file, finding.field) == ("outcomes.jsonl", "row")
    assert (found.quick, found.verified, found.rows) == (True, 7, 8)


def test_a_replay_that_holds_does_not_hide_a_change_since(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: list[dict[str, Any]]) -> None:
        tamper.row(rows, TASK, 1)["new_tokens"] = 7

    tamper.outcomes(copy, edit)
    before = certificate(copy)
    assert [finding.told for finding in verify(copy).findings] == ["differs from certificate.json"]
    assert certificate(copy) == before
    (copy / "certificate.json").unlink()
    assert verify(copy).ok
    assert certificate(copy) != before


def test_rows_that_went_from_both_files(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row for row in rows if (row.get("task_id"), row.get("rollout")) != (TASK, 3)]

    tamper.outcomes(copy, edit)
    tamper.transcripts(copy, edit)
    for quick in (True, False):
        found = verify(copy, quick=quick)
        assert {(f.kind, f.task, f.rollout) for f in found.findings} == {("missing", TASK, 3)}
        assert len(found.findings) == 2


def test_a_transcript_and_a_setting_changed_since(copy: Path, tamper: ModuleType) -> None:
    def edit(rows: list[dict[str, Any]]) -> None:
        row = tamper.row(rows, TASK, 2)
        row["steps"][-1][3] = "length"
        tamper.resealed(row)

    tamper.transcripts(copy, edit)
    tamper.settings(copy, lambda found: found["env_kwargs"].update(rules="fixed"), history=False)
    found = verify(copy, quick=True)
    assert {(f.file, f.field, f.rollout) for f in found.findings} == {
        ("run.json", "env_kwargs", None),
        ("transcripts", "row", 2),
    }


def test_where_rollouts_come_from_is_certified(tamper: ModuleType, tmp_path: Path) -> None:
    for name, task in zip("ab", SETTINGS["tasks"], strict=True):
        run("ToolLab", "scripted:wide", n=2, out=tmp_path / name, **{**SETTINGS, "tasks": [task]})
    folder = tmp_path / "all"
    merge_runs(folder, [tmp_path / "a", tmp_path / "b"])
    assert verify(folder).ok
    tamper.settings(folder, lambda found: found["merged_from"][1].update(n=1))
    for quick in (True, False):
        (finding,) = verify(folder, quick=quick).findings
        assert (finding.file, finding.field) == ("run.json", "merged_from")


def test_a_run_that_grew_is_certified_anew(copy: Path) -> None:
    run("ToolLab", "scripted:wide", n=6, out=copy, **SETTINGS)
    found = verify(copy, quick=True)
    (finding,) = found.findings
    assert (finding.kind, finding.told) == ("uncertified", "4 were added since")
    assert (found.verified, found.uncertified, found.rows) == (8, 4, 12)
    assert verify(copy).ok
    assert certificate(copy)["rollouts"] == 12
    assert verify(copy, quick=True).ok


def test_quick_wants_a_certificate(copy: Path) -> None:
    (copy / "certificate.json").unlink()
    with pytest.raises(RunError, match="holds no certificate.json"):
        verify(copy, quick=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 1, "marks": {}, "settings": {}, "files": {}, "rollouts": 1, '
        '"task_ids": ["a"], "n": 99999999999, '
        '"outcomes": "", "transcripts": ""}',
    ],
)
def test_a_file_that_is_no_certificate(copy: Path, text: str) -> None:
    (copy / "certificate.json").write_text(text)
    with pytest.raises(RunDamaged, match="expected a certificate"):
        verify(copy)


@pytest.mark.parametrize("marks", [None, "AAAA", "no base64", 5])
def test_marks_that_cannot_be_read(copy: Path, tamper: ModuleType, marks: Any) -> None:
    tamper.outcomes(copy, lambda rows: rows.pop() and None)
    found = certificate(copy)
    found["marks"]["outcomes"] = marks
    del found["sum"]
    write_certificate(copy, found)
    with pytest.raises(RunDamaged, match="expected marks"):
        verify(copy, quick=True)


@pytest.mark.parametrize("key", ["rollouts", "policy", "certified", "sum"])
def test_a_certificate_that_was_edited_is_refused(copy: Path, key: str) -> None:
    found = certificate(copy)
    found[key] = f"{found[key]}0"
    found["rollouts"] = int(found["rollouts"])
    (copy / "certificate.json").write_text(json.dumps(found))
    with pytest.raises(RunDamaged, match="its check sum is another"):
        verify(copy, quick=True)


def test_a_run_far_from_its_end_takes_marks_for_what_is_there(tmp_path: Path) -> None:
    run("ToolLab", "scripted:wide", n=10**7, rollouts=(0, 2), out=tmp_path, **SETTINGS)
    found = verify(tmp_path)
    assert (found.rows, found.open) == (4, 2 * 10**7 - 4)
    assert certificate(tmp_path)["n"] == 2
    assert verify(tmp_path, quick=True).ok


def test_more_rollouts_than_marks_are_refused(
    copy: Path, tamper: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentenvs.harness.replay.certificate._MOST_MARKS", 7)
    with pytest.raises(RunDamaged, match="expected a certificate"):
        verify(copy)
    (copy / "certificate.json").unlink()
    with pytest.raises(RunError, match="Expected at most 7 rollouts"):
        verify(copy)


def test_a_certificate_is_whole_or_not_there(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (copy / "certificate.json").read_bytes()

    def fails(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(RunError, match="No space left"):
        verify(copy)
    assert (copy / "certificate.json").read_bytes() == before
    assert not list(copy.glob("*.part"))


ROWS = st.lists(
    st.tuples(st.sampled_from("abcé"), st.integers(0, 6), st.binary(max_size=3)),
    unique_by=lambda row: row[:2],
)


@given(ROWS, st.randoms(use_true_random=False))
def test_sums_of_rows_know_no_order(rows: list[tuple[str, int, bytes]], draws: Any) -> None:
    one, two = RowSums(), RowSums()
    for row in rows:
        one.add(*row)
    mixed = list(rows)
    draws.shuffle(mixed)
    for row in mixed:
        two.add(*row)
    assert one.total() == two.total()
    assert np.array_equal(one.marks("abcé", 7), two.marks("abcé", 7))
    assert int((one.marks("abcé", 7) != 0).sum()) == len(rows)
    for at in range(len(rows)):
        other = RowSums()
        for row in rows[:at] + rows[at + 1 :]:
            other.add(*row)
        assert other.total() != one.total()


def test_rows_of_other_tasks_and_numbers_are_outside() -> None:
    sums = RowSums()
    for row in (("a", 0, b""), ("b", 1, b""), ("c", 5, b"")):
        sums.add(*row)
    assert sums.outside(["a", "c"], 2) == [("b", 1), ("c", 5)]
