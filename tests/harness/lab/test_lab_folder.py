from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentenvs.errors import BadArgument, RunDamaged, RunError, SettingsDiffer
from agentenvs.harness.lab.config import bundled
from agentenvs.harness.lab.folder import StudyFolder, read_json, write_json


def begun(path: Path) -> StudyFolder:
    folder = StudyFolder(path, bundled())
    with folder:
        folder.begin(["base"], [0])
    return folder


def test_a_study_is_taken_up_with_the_same_settings(tmp_path: Path) -> None:
    begun(tmp_path / "s")
    with StudyFolder(tmp_path / "s", bundled()) as again:
        again.begin(["base", "grpo"], [0, 1])
    found = StudyFolder(tmp_path / "s")
    assert found.config == bundled()
    assert found.asked() == ({"base", "grpo"}, {0, 1})
    assert [entry["seeds"] for entry in found.history] == [[0], [0, 1]]
    assert "numpy" in found.history[0]["versions"]


def test_other_settings_are_refused_and_shown(tmp_path: Path) -> None:
    begun(tmp_path / "s")
    with pytest.raises(SettingsDiffer, match=r"config.world: 0 -> 5"):
        StudyFolder(tmp_path / "s", replace(bundled(), world=5))
    with pytest.raises(SettingsDiffer, match="other settings"):
        StudyFolder(tmp_path / "s", bundled(smoke=True))


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(BadArgument, match="holds other things"):
        StudyFolder(tmp_path, bundled())
    with pytest.raises(BadArgument, match="got the file"):
        StudyFolder(tmp_path / "thesis.txt", bundled())


def test_reading_needs_a_study(tmp_path: Path) -> None:
    with pytest.raises(RunDamaged, match="expected a study"):
        StudyFolder(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"history": [], "config": {"world": 1}}'])
def test_a_damaged_study_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(RunDamaged, match=r"study\.json"):
        StudyFolder(tmp_path, bundled())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "expected format 1, got 2"),
        ({"history": None}, "a history of calls with arms, got None"),
        ({"history": ["x"]}, "a history of calls with arms, got 'x'"),
        ({"history": [{"arms": ["base"], "seeds": ["0"]}]}, "a history of calls with seeds"),
    ],
)
def test_a_study_of_another_form_is_told(tmp_path: Path, change: Any, message: str) -> None:
    begun(tmp_path)
    told = read_json(tmp_path / "study.json")
    write_json(tmp_path / "study.json", told | change)
    with pytest.raises(RunDamaged, match=message):
        StudyFolder(tmp_path)


def test_two_writers_at_once_are_refused(tmp_path: Path) -> None:
    with (
        StudyFolder(tmp_path / "s", bundled()),
        pytest.raises(RunError, match="another study is writing"),
        StudyFolder(tmp_path / "s", bundled()),
    ):
        pass


def test_half_written_jobs_are_cleared_and_whole_ones_stay(tmp_path: Path) -> None:
    folder = begun(tmp_path / "s")
    half, whole = folder.path / "seed-0" / ".grpo.part", folder.job("base", 0)
    for place in (half, whole):
        place.mkdir(parents=True)
        (place / "job.json").write_text("{}")
    with StudyFolder(tmp_path / "s", bundled()) as again:
        assert not half.exists()
        assert again.finished() == [("base", 0)]
        assert not again.done("grpo", 0)


def test_json_has_null_for_what_is_no_number(tmp_path: Path) -> None:
    write_json(tmp_path / "deep" / "a.json", {"a": [math.nan, math.inf, 1.5], 2: None})
    assert read_json(tmp_path / "deep" / "a.json") == {"a": [None, None, 1.5], "2": None}
    assert json.loads((tmp_path / "deep" / "a.json").read_text())
