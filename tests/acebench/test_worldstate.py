"""What the official services start from, from every form of a copy; the classes are parsed."""

from __future__ import annotations

import json
import pprint
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentenvs import sources
from agentenvs.acebench.records import LANGS, Records, read_folder
from agentenvs.acebench.worldstate import WORLD, reader
from agentenvs.errors import SourceMissing

SERVICES = ("MessageApi", "ReminderApi", "FoodPlatform", "Travel")


@pytest.fixture
def checkout(acebench_data: Path, tmp_path: Path) -> Path:
    """Return a copy laid out like the repository, without sources."""
    place = tmp_path / "checkout"
    for lang in LANGS:
        shutil.copytree(acebench_data / f"data_{lang}", place / "data_all" / f"data_{lang}")
    return place


def as_source(name: str, state: Mapping[str, Any]) -> str:
    """Return source of a class that starts so; ids are ints there, which JSON cannot say."""
    lines = ["raise RuntimeError('a source must never be imported')", f"class {name}(BaseApi):"]
    lines.append("    def __init__(self):")
    for key, value in state.items():
        if key in ("inbox", "reminder_list"):
            value = {int(number): item for number, item in value.items()}
        text = pprint.pformat(value, width=1_000, sort_dicts=False)
        lines.append(f"        self.{key} = {text}")
    return "\n".join(lines) + "\n"


def write_sources(checkout: Path, records: Records) -> None:
    for lang in LANGS:
        for folder in ("one", "two"):
            place = checkout / "scenes" / folder / lang
            place.mkdir(parents=True)
            for name in SERVICES:
                state = records.world(lang)[name]["state"]
                (place / f"{name}.py").write_text(as_source(name, state), encoding="utf-8")


def test_the_literals_of_the_classes_are_read(
    checkout: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sources(checkout, records)
    monkeypatch.setenv("AGENTENVS_ACEBENCH", str(checkout))
    read = Records(reader(sources.open_source("acebench")))
    for lang in LANGS:
        for name in SERVICES:
            wanted = dict(records.world(lang)[name]["state"])
            for flag in ("wifi", "logged_in"):
                wanted.pop(flag, None)
            found = read.world(lang)[name]["state"]
            assert found == wanted
            assert json.dumps(found) == json.dumps(wanted)
        assert read.world(lang)["BaseApi"]["state"] == records.world(lang)["BaseApi"]["state"]
    for place in (checkout, checkout / "data_all"):
        assert read_folder(place).world("zh") == read.world("zh")


def test_without_them_all_but_agents_can_be_played(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AGENTENVS_OFFLINE", "1")
    monkeypatch.delenv("AGENTENVS_DATA")
    tree = sources.import_("acebench", checkout)
    read = Records(reader(tree))
    assert len(read) == 2040
    for some in (read, read_folder(checkout)):
        with pytest.raises(SourceMissing, match=r"(?s)cannot be read: .*all others.*work without"):
            some.world("en")


def test_a_folder_of_data_is_taken_whole(
    acebench_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AGENTENVS_OFFLINE", "1")
    monkeypatch.delenv("AGENTENVS_DATA")
    tree = sources.import_("acebench", acebench_data)
    assert sources.verify("acebench") == []
    assert len(json.loads(tree.read(WORLD))) == 2
    assert tree.path.stat().st_size < 2_500_000
    again = sources.import_("acebench", tree.path)
    assert again.read(WORLD) == tree.read(WORLD)
