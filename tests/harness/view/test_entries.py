from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from agentenvs.errors import RunDamaged
from agentenvs.harness.view.entries import Run, tallies


def test_entries_tell_what_became_of_each_rollout(run: Path) -> None:
    found = Run(run)
    assert [(e.task, e.rollout, e.kind) for e in found.entries] == [
        ("mini_0", 0, "success"),
        ("mini_0", 1, "failure"),
        ("mini_1", 0, "context_overflow"),
        ("desk_7", 0, "failure"),
        ("desk_8", 0, "void"),
    ]
    mended = found.by_key["mini_0", 1]
    assert (mended.steps, mended.calls, mended.repaired, mended.rescued) == (2, 2, 1, 1)
    assert found.by_key["desk_8", 0].reason == "timeout: no answer\x1b[2J, 1"
    assert found.open == 3
    assert found.name == "post (hf:small)"


def test_tallies_count_no_void_rollout(run: Path) -> None:
    found = {tally.task: tally for tally in tallies(Run(run).entries)}
    assert (found["mini_0"].c, found["mini_0"].n, found["mini_0"].share) == (1, 2, 0.5)
    assert (found["desk_8"].n, found["desk_8"].void, found["desk_8"].share) == (0, 1, None)


def test_repairs_are_counted_by_reply(run: Path) -> None:
    found = Run(run)
    assert found.repairs(found.entries) == {"fence": 1, "prose": 1}
    assert found.repairs(found.entries[:1]) == {}


def test_a_file_of_outcomes_has_no_transcripts(tmp_path: Path) -> None:
    path = tmp_path / "base.jsonl"
    path.write_text('{"task_id": "a", "pass_flags": [true, false]}\n')
    found = Run(path)
    assert [entry.kind for entry in found.entries] == ["success", "failure"]
    assert found.entries[0].steps is None
    assert not found.transcripts


def test_an_empty_run_has_no_entries(runs: ModuleType, tmp_path: Path) -> None:
    assert Run(runs.write_run(tmp_path, [], transcripts=False)).entries == []


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunDamaged, match=r"run\.json"):
        Run(tmp_path)
