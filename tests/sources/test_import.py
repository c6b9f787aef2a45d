import zipfile
from pathlib import Path
from typing import Any

import pytest

from agentenvs import sources
from agentenvs.errors import SourceError, SourceMismatch, SourceMissing


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTENVS_OFFLINE", "1")


def test_a_wheel_is_kept_as_it_is(sample: Any) -> None:
    kept = sources.import_("sample", sample.wheel).path
    assert kept == sample.slot / sample.source.filename
    assert kept.read_bytes() == sample.wheel.read_bytes()
    assert sources.open_source("sample").path == kept


def test_a_folder_that_holds_the_wheel_is_taken(sample: Any) -> None:
    kept = sources.import_("sample", str(sample.wheel.parent)).path
    assert kept.read_bytes() == sample.wheel.read_bytes()


@pytest.mark.parametrize("below", ["", "sample_data"])
def test_of_a_tree_the_needed_files_are_kept(sample: Any, tmp_path: Path, below: str) -> None:
    folder = sample.unpack(tmp_path / "site-packages")
    kept = sources.import_("sample", folder / below).path
    with zipfile.ZipFile(kept) as archive:
        assert sorted(archive.namelist()) == sorted(file.path for file in sample.source.files)
    tree = sources.open_source("sample")
    assert tree.path == kept
    assert tree.read("sample_data/text.txt") == (folder / "sample_data/text.txt").read_bytes()
    assert sources.verify("sample") == []


def test_what_was_kept_of_a_tree_can_be_taken_elsewhere(
    sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = sources.import_("sample", sample.unpack(tmp_path / "tree")).path
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "elsewhere"))
    again = sources.import_("sample", kept).path
    assert again != kept
    assert again.read_bytes() == kept.read_bytes()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not an archive", None])
def test_a_bad_archive_is_refused(sample: Any, tmp_path: Path, content: bytes | None) -> None:
    bad = tmp_path / sample.source.filename
    bad.write_bytes(sample.wheel.read_bytes()[:-30] if content is None else content)
    with pytest.raises(SourceMismatch, match=r"is not the pinned sample 1\.0:\n  cannot be read"):
        sources.import_("sample", bad)
    assert not sample.slot.exists()


def test_another_version_is_refused(sample: Any, tmp_path: Path) -> None:
    folder = sample.unpack(tmp_path / "tree")
    (folder / "sample_data/deep/sim.py").write_bytes(b"class Sim:\n    PASS\n")
    with pytest.raises(SourceMismatch, match=r"sim\.py: expected sha256 [0-9a-f]{64}, found "):
        sources.import_("sample", folder)
    assert not sample.slot.exists()


def test_a_path_with_nothing_of_the_kind_is_reported(sample: Any, tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="nothing there"):
        sources.import_("sample", tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceMissing, match="a folder without either"):
        sources.import_("sample", tmp_path / "empty")


def test_a_cache_that_cannot_be_written_is_reported(
    sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "file"))
    with pytest.raises(SourceError, match=r"Could not write to the cache .*AGENTENVS_CACHE"):
        sources.import_("sample", sample.wheel)
