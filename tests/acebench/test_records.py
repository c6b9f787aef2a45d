from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path

import pytest

from agentenvs.acebench.records import (
    AGENT,
    CATEGORIES,
    DIALOGUES,
    LANGS,
    Records,
    read_folder,
    split_id,
)
from agentenvs.errors import BadArgument, SourceMismatch, SourceMissing, UnknownName


def folder(place: Path, question: str = "hello", id: str = "special_irrelevant_0") -> Path:
    row = {"id": id, "question": question, "function": [], "time": ""}
    for lang in LANGS:
        data = place / f"data_{lang}"
        (data / "possible_answer").mkdir(parents=True)
        name = "data_special_irrelevant.json"
        (data / name).write_text(json.dumps(row) + "\n", "utf-8")
        answer = {"id": id, "ground_truth": "no"}
        (data / "possible_answer" / name).write_text(json.dumps(answer), "utf-8")
    return place


@pytest.mark.parametrize(
    ("id", "parts"),
    [
        ("normal_atom_bool_12", ("normal_atom_bool", 12, None)),
        ("normal_multi_turn_user_adjust_3_1", ("normal_multi_turn_user_adjust", 3, 1)),
        ("agent_multi_turn_7", ("agent_multi_turn", 7, None)),
    ],
)
def test_parts_of_an_id(id: str, parts: tuple[str, int, int | None]) -> None:
    assert split_id(id) == parts


@pytest.mark.parametrize(
    "id", ["", "normal_atom_bool", "normal_atom_bool_1_0", "normal_multi_turn_user_switch_1", "x_1"]
)
def test_what_is_no_id(id: str) -> None:
    with pytest.raises(UnknownName, match="agent_multi_turn_7"):
        split_id(id)


def test_a_folder_and_a_checkout(tmp_path: Path) -> None:
    data = folder(tmp_path / "repository" / "data_all", "你好\u2028")
    for place in (data, data.parent):
        task = read_folder(place)["zh/special_irrelevant_0"]
        assert task.question == "你好\u2028"
        assert task.name == task.unit == "zh/special_irrelevant_0"
        assert task.answer == "no"


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    records = read_folder(folder(tmp_path))
    assert list(records.category("en", "special_irrelevant")) == ["special_irrelevant_0"]
    with pytest.raises(SourceMissing, match="data_normal_preference"):
        records.category("en", "normal_preference")


def test_a_place_without_data(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="data_en"):
        read_folder(tmp_path)
    with pytest.raises(BadArgument, match="to be a path"):
        read_folder(3)  # type: ignore[arg-type]


def test_unknown_names(tmp_path: Path) -> None:
    records = read_folder(folder(tmp_path))
    with pytest.raises(UnknownName, match="Did you mean 'special_irrelevant'"):
        records.category("en", "special_irelevant")
    with pytest.raises(UnknownName):
        records["fr/special_irrelevant_0"]
    with pytest.raises(UnknownName):
        records["en/special_irrelevant_1"]
    assert "en/special_irrelevant_1" not in records


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    place = folder(tmp_path)
    answers = place / "data_en" / "possible_answer" / "data_special_irrelevant.json"
    answers.write_text('{"id": "special_irrelevant_1", "ground_truth": ""}', "utf-8")
    with pytest.raises(SourceMismatch, match="as many references as tasks"):
        read_folder(place)["en/special_irrelevant_0"]
    answers.write_text("[]", "utf-8")
    with pytest.raises(SourceMismatch, match="an `id` in every line"):
        read_folder(place)["en/special_irrelevant_0"]
    answers.write_text("{", "utf-8")
    with pytest.raises(SourceMismatch, match="JSON Lines"):
        read_folder(place)["en/special_irrelevant_0"]


def test_copies_share_a_task(tmp_path: Path) -> None:
    task = read_folder(folder(tmp_path))["en/special_irrelevant_0"]
    assert copy.deepcopy(task) is task


def test_official_counts_and_content(acebench_data: Path, records: Records) -> None:
    manifest = json.loads((acebench_data / "MANIFEST.json").read_text("utf-8"))
    for entry in manifest["files"]:
        data = (acebench_data / entry["path"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["sha256"]
        if entry.get("role") == "task":
            tasks = records.category(entry["lang"], entry["category"]).values()
            assert len(tasks) == entry["records"]
            assert len({task.unit for task in tasks}) == entry["tasks"]
    by_lang = {
        lang: sum(len(records.category(lang, category)) for category in CATEGORIES)
        for lang in LANGS
    }
    assert by_lang == {"en": 1023, "zh": 1017}
    assert len(records) == 2040


def test_official_schemas(records: Records) -> None:
    for task in records.values():
        assert (task.turn is None) == (task.category not in DIALOGUES)
        assert bool(task.involved_classes) == (task.category in AGENT)
        assert bool(task.milestones) == (task.category in AGENT)
        assert bool(task.profile) == (task.category == "normal_preference")
        assert task.question
        assert task.answer
