import sys
from pathlib import Path
from typing import Any

import pytest

from agentenvs import sources
from agentenvs.errors import SourceMismatch, SourceMissing


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTENVS_OFFLINE", "1")


@pytest.fixture
def installed(sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(sample.unpack(tmp_path / "site-packages"))
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.mark.parametrize("fetch", [False, True])
def test_offline_the_error_says_what_can_be_done(
    sample: Any, no_network: None, fetch: bool
) -> None:
    with pytest.raises(SourceMissing) as caught:
        sources.open_source("sample", fetch=fetch)
    text = str(caught.value)
    assert "agentenvs data pull sample" in text
    assert "agentenvs data import sample PATH" in text
    assert 'tasks="mini"' in text
    assert ("AGENTENVS_OFFLINE" in text) == fetch
    assert not sample.cache.exists()


def test_an_installed_copy_is_used_and_not_imported(
    sample: Any, installed: Path, no_network: None
) -> None:
    tree = sources.open_source("sample")
    assert (tree.origin, tree.path, tree.notes) == ("installed", installed, ())
    assert tree.read("sample_data/text.txt")
    assert "sample_data" not in sys.modules


def test_an_installed_wheel_on_the_path_is_used(
    sample: Any, no_network: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(sample.wheel)
    tree = sources.open_source("sample")
    assert (tree.origin, tree.path) == ("installed", sample.wheel)


def test_the_folder_of_official_files_serves(
    sample: Any, no_network: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTENVS_DATA", str(tmp_path / "data"))
    with pytest.raises(SourceMissing, match="agentenvs data import sample PATH"):
        sources.open_source("sample")
    folder = Path(sample.unpack(tmp_path / "data" / "sample"))
    tree = sources.open_source("sample")
    assert (tree.origin, tree.path, tree.notes) == ("env", folder, ())
    (folder / "sample_data" / "text.txt").write_bytes(b"newer")
    with pytest.raises(SourceMissing, match="Passed over AGENTENVS_DATA: "):
        sources.open_source("sample")
    sources.import_("sample", sample.wheel)
    assert sources.open_source("sample").origin == "cache"


def test_the_folder_of_a_family_serves_the_members_that_it_holds(
    no_network: None, webshop_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTENVS_DATA", str(webshop_files.parent))
    one, full = (sources.status(name)[0] for name in ("webshop-1k", "webshop-full"))
    assert (one.found, one.path) == ("env", webshop_files)
    assert (full.found, full.notes) == ("missing", ())


def test_another_installed_version_is_passed_over_and_noted(
    sample: Any, installed: Path, no_network: None
) -> None:
    (installed / "sample_data" / "text.txt").write_bytes(b"newer")
    with pytest.raises(SourceMissing, match="Passed over the installed copy"):
        sources.open_source("sample")
    sources.import_("sample", sample.wheel)
    tree = sources.open_source("sample")
    assert tree.origin == "cache"
    assert "expected 9 bytes, found 5" in tree.notes[0]
    assert sources.verify("sample") == []


def test_the_variable_comes_before_all_else(
    sample: Any, installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources.import_("sample", sample.wheel)
    other = sample.unpack(tmp_path / "other")
    monkeypatch.setenv("AGENTENVS_SAMPLE", str(other))
    assert sources.open_source("sample").path == other
    monkeypatch.setenv("AGENTENVS_SAMPLE", "")
    assert sources.open_source("sample").path == installed


def test_a_variable_that_points_at_other_content_is_an_error(
    sample: Any, installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sample.unpack(tmp_path / "other")
    (other / "sample_data" / "tasks.json").unlink()
    monkeypatch.setenv("AGENTENVS_SAMPLE", str(other))
    with pytest.raises(SourceMismatch, match=r"tasks\.json: missing"):
        sources.open_source("sample")
    assert "missing" in sources.verify("sample")[0]


def test_a_variable_that_points_at_nothing_is_an_error(
    sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTENVS_SAMPLE", str(tmp_path / "none"))
    with pytest.raises(SourceMissing, match=r"AGENTENVS_SAMPLE=.*nothing there"):
        sources.open_source("sample")


def sample_status() -> sources.Status:
    return next(row for row in sources.status() if row.name == "sample")


def test_status_tells_where_the_copy_in_use_lies(
    sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (sample_status().found, sample_status().path) == ("missing", None)
    kept = sources.import_("sample", sample.wheel).path
    assert (sample_status().found, sample_status().path) == ("cache", kept)
    monkeypatch.setenv("AGENTENVS_SAMPLE", str(sample.wheel))
    assert (sample_status().found, sample_status().path) == ("env", sample.wheel)
    sample.wheel.write_bytes(b"no archive")
    row = sample_status()
    assert (row.found, row.path) == ("missing", None)
    assert "cannot be read" in row.notes[0]


def test_a_damaged_copy_in_the_cache_is_passed_over(sample: Any, no_network: None) -> None:
    kept = sources.import_("sample", sample.wheel).path
    kept.write_bytes(kept.read_bytes()[:-100])
    with pytest.raises(SourceMissing, match="Passed over a damaged copy"):
        sources.open_source("sample")
    assert len(sources.verify("sample")) == 1


def test_verify_reads_the_whole_archive(sample: Any) -> None:
    kept = sources.import_("sample", sample.wheel).path
    assert sources.verify("sample") == []
    kept.write_bytes(kept.read_bytes() + b"\0" * 3)
    assert sources.open_source("sample").path == kept
    (problem,) = sources.verify("sample")
    assert f"expected sha256 {sample.source.sha256}, found " in problem


def test_verify_says_that_nothing_is_there(sample: Any) -> None:
    (problem,) = sources.verify("sample")
    assert "agentenvs data pull sample" in problem
