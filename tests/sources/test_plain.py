"""Sources of plain files: opened by size and time, imported by folder or file, in variants."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentenvs import sources
from agentenvs.errors import BadArgument, SourceError, SourceMismatch, SourceMissing, UnknownName
from agentenvs.sources import _manifest as manifest
from agentenvs.sources import _plain
from agentenvs.sources import _stamps as stamps
from agentenvs.sources import _tree as trees

BIG = bytes(range(256)) * 2000
WHOLE = {"big.json": BIG, "small.json": b'{"a": 1}\n', "third.json": b"[]"}
OTHER = {"big.json": b"[1, 2]\n", "small.json": WHOLE["small.json"]}
OLD = 1_600_000_000


@pytest.fixture
def write(tmp_path: Path) -> Callable[[dict[str, bytes]], Path]:
    def write(contents: dict[str, bytes], name: str = "mine") -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        for path, content in contents.items():
            (folder / path).write_bytes(content)
            os.utime(folder / path, (OLD, OLD))
        return folder

    return write


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the names of the files that are read for their hashes."""
    names: list[str] = []
    plain_sha256 = stamps.stream_sha256

    def noted(path: Path, *rest: Any) -> str:
        names.append(path.name)
        return plain_sha256(path, *rest)

    monkeypatch.setattr(stamps, "stream_sha256", noted)
    return names


@pytest.mark.parametrize("below", ["", "small.json", "big.json"])
def test_a_folder_or_one_of_its_files_is_imported(plain: Any, write: Any, below: str) -> None:
    folder = write({**WHOLE, "notes.txt": b"mine"})
    tree = sources.import_("plain", folder / below)
    assert (tree.source.version, tree.path) == ("1.0", plain.slot / "files")
    assert sorted(path.name for path in tree.path.iterdir()) == sorted(WHOLE)
    assert tree.read_many() == WHOLE
    assert sources.open_source("plain", fetch=False) == tree
    assert sources.verify("plain") == []
    assert sources.import_("plain", tree.path) == tree


def test_a_variant_is_taken_for_what_it_is(plain: Any, write: Any) -> None:
    tree = sources.import_("plain", write(OTHER))
    assert (tree.version, tree.source.title) == ("1.0-other", "Plain files, rebuilt")
    assert sources.open_source("plain", fetch=False) == tree
    (row,) = sources.status("plain")
    assert (row.version, row.found, row.size) == ("1.0-other", "cache", tree.source.size)
    official = sources.import_("plain", write(WHOLE, "official"))
    assert sources.open_source("plain", fetch=False) == official


def test_a_variant_does_not_stand_for_a_pull(
    plain: Any, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources.import_("plain", write(OTHER))
    with pytest.raises(SourceMissing, match=r"plain 1\.0\) cannot be fetched\.\nTo use a copy"):
        sources.pull("plain")
    monkeypatch.setitem(manifest.SOURCES, "plain", replace(plain.source, way=sources.Files()))
    monkeypatch.setenv("AGENTENVS_OFFLINE", "1")
    with pytest.raises(SourceMissing, match="AGENTENVS_OFFLINE"):
        sources.pull("plain")


def test_a_missing_file_is_named(plain: Any, write: Any) -> None:
    folder = write({name: WHOLE[name] for name in ("big.json", "small.json")})
    with pytest.raises(SourceMismatch, match=r"pinned plain 1\.0:\n  third\.json: missing$"):
        sources.import_("plain", folder)


def test_another_content_of_the_right_size_is_refused(plain: Any, write: Any) -> None:
    folder = write({**WHOLE, "third.json": b"{}"})
    with pytest.raises(SourceMismatch, match=r"third\.json: expected sha256 [0-9a-f]{64}, found "):
        sources.import_("plain", folder)
    assert not (plain.slot / "files").exists()


@pytest.mark.parametrize(
    ("name", "came"), [("empty", "a folder without any"), ("no", "nothing of the kind")]
)
def test_a_path_without_any_of_the_files_is_reported(
    plain: Any, tmp_path: Path, name: str, came: str
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceMissing, match=rf"folder with big\.json, small\.json, .*{came}"):
        sources.import_("plain", tmp_path / name)


def test_a_file_with_another_name_is_not_taken(plain: Any, write: Any) -> None:
    folder = write({**WHOLE, "notes.txt": b"mine"})
    with pytest.raises(SourceMissing, match="nothing of the kind"):
        sources.import_("plain", folder / "notes.txt")


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in folders on Windows")
def test_a_pipe_in_place_of_a_file_does_not_hang(plain: Any, write: Any) -> None:
    folder = write({name: WHOLE[name] for name in ("big.json", "small.json")})
    os.mkfifo(folder / "third.json")
    with pytest.raises(SourceMismatch, match="not a regular file"):
        sources.import_("plain", folder)


def test_the_variable_names_a_folder_or_a_file(
    plain: Any, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(OTHER)
    for path in (folder, folder / "big.json"):
        monkeypatch.setenv("AGENTENVS_PLAIN", str(path))
        tree = sources.open_source("plain")
        assert (tree.origin, tree.path, tree.version) == ("env", folder, "1.0-other")
    assert not plain.cache.joinpath("sources").exists()
    (folder / "small.json").write_bytes(b"{}")
    with pytest.raises(SourceMismatch, match=r"small\.json: expected 9 bytes, found 2"):
        sources.open_source("plain")


def test_opening_reads_nothing_that_has_not_changed(
    plain: Any, write: Any, monkeypatch: pytest.MonkeyPatch, hashed: list[str]
) -> None:
    folder = write(WHOLE)
    monkeypatch.setenv("AGENTENVS_PLAIN", str(folder))
    sources.open_source("plain")
    assert sorted(hashed) == sorted(WHOLE)
    hashed.clear()
    sources.open_source("plain")
    assert hashed == []
    os.utime(folder / "small.json", (OLD, OLD + 1))
    sources.open_source("plain")
    assert hashed == ["small.json"]


def test_an_imported_copy_is_not_read_again(plain: Any, write: Any, hashed: list[str]) -> None:
    sources.import_("plain", write(WHOLE))
    hashed.clear()
    sources.open_source("plain")
    assert hashed == []


def test_verify_reads_everything_whatever_is_remembered(
    plain: Any, write: Any, hashed: list[str]
) -> None:
    tree = sources.import_("plain", write(WHOLE))
    path = tree.place("third.json")
    facts = path.stat()
    path.write_bytes(b"{}")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    hashed.clear()
    assert sources.open_source("plain", fetch=False) == tree
    assert hashed == []
    (problem,) = sources.verify("plain")
    assert "third.json: expected sha256" in problem
    with pytest.raises(SourceMissing, match="damaged"):
        sources.open_source("plain", fetch=False)


def test_verify_reads_what_the_variable_names(
    plain: Any, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(WHOLE)
    monkeypatch.setenv("AGENTENVS_PLAIN", str(folder))
    assert sources.verify("plain") == []
    (folder / "third.json").write_bytes(b"{}")
    os.utime(folder / "third.json", (OLD, OLD))
    (problem,) = sources.verify("plain")
    assert "third.json: expected sha256" in problem


def test_a_damaged_copy_is_replaced_by_an_import(plain: Any, write: Any) -> None:
    tree = sources.import_("plain", write(WHOLE))
    tree.place("big.json").write_bytes(b"short")
    with pytest.raises(SourceMissing, match="Passed over a damaged copy"):
        sources.open_source("plain", fetch=False)
    assert sources.import_("plain", write(WHOLE)).read_many() == WHOLE
    assert sorted(path.name for path in plain.slot.iterdir()) == ["files", "lock"]


def test_a_file_that_changes_while_it_is_copied_is_noticed(
    plain: Any, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(WHOLE)
    copy = _plain._copy

    def late(path: Path, target: Path, told: Any) -> str:
        if path.name == "third.json":
            path.write_bytes(b"{}")
        return copy(path, target, told)

    monkeypatch.setattr(_plain, "_copy", late)
    with pytest.raises(SourceMismatch, match=r"third\.json: expected sha256"):
        sources.import_("plain", folder)
    assert not (plain.slot / "files").exists()


def test_a_large_file_is_not_read_at_once(
    plain: Any, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = sources.import_("plain", write(WHOLE))
    monkeypatch.setattr(trees, "_READABLE", 1000)
    with pytest.raises(BadArgument, match="too large to be read at once"):
        tree.read("big.json")
    assert tree.read("small.json") == WHOLE["small.json"]
    assert tree.place("big.json").read_bytes() == BIG
    with pytest.raises(UnknownName, match="has no file"):
        tree.place("../secret")


def test_an_archive_has_no_places(sample: Any) -> None:
    tree = sources.import_("sample", sample.wheel)
    with pytest.raises(BadArgument, match="inside the archive"):
        tree.place("sample_data/text.txt")


def test_large_sources_tell_how_far_they_are(
    plain: Any, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_plain, "_LARGE", 0)
    reports: list[tuple[int, int, str]] = []
    sources.import_("plain", write(WHOLE), lambda *report: reports.append(report))
    texts = dict.fromkeys(text for _, _, text in reports)
    assert [text for text in texts if "big" in text] == ["Checking big.json", "Copying big.json"]
    assert {total for _, total, _ in reports} == {plain.source.size}
    assert reports[-1][0] == plain.source.size


def test_a_cache_that_cannot_be_written_is_reported(
    plain: Any, write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "file"))
    folder = write(WHOLE)
    with pytest.raises(SourceError, match=r"Could not write to the cache .*AGENTENVS_CACHE"):
        sources.import_("plain", folder)
    monkeypatch.setenv("AGENTENVS_PLAIN", str(folder))
    assert sources.open_source("plain").read_many() == WHOLE


@pytest.fixture
def family(plain: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    large = {"large.json": b"[1, 2, 3]", "small.json": WHOLE["small.json"]}
    files = tuple(
        sources.NeededFile(path, len(content), stamps.hashlib.sha256(content).hexdigest())
        for path, content in large.items()
    )
    entry = replace(plain.source, name="large", files=files, variants=())
    monkeypatch.setitem(manifest.SOURCES, "large", entry)
    monkeypatch.setattr(manifest, "FAMILIES", {"both": ("plain", "large")})
    return "plain", "large"


def test_of_a_family_what_lies_there_is_imported(family: Any, write: Any) -> None:
    assert sources.import_("both", write(OTHER)).version == "1.0-other"
    folder = write({"large.json": b"[1, 2, 3]", "small.json": WHOLE["small.json"]}, "large")
    assert sources.import_("both", folder).source.name == "large"
    both = write({**WHOLE, "large.json": b"[1, 2, 3]"}, "two")
    assert sources.import_("both", both / "large.json").source.name == "large"
    with pytest.raises(BadArgument, match="holds plain and large: say which"):
        sources.import_("both", both)


def test_of_a_family_with_nothing_whole_the_closest_is_named(family: Any, write: Any) -> None:
    folder = write({"large.json": b"[1, 2, 3]"})
    with pytest.raises(SourceMismatch, match=r"pinned large 1\.0:\n  small\.json: missing$"):
        sources.import_("both", folder)


def test_a_family_stands_for_its_first_member(family: Any, plain: Any) -> None:
    assert sources.source("both") is plain.source
    assert [entry.name for entry in sources.members("both")] == ["plain", "large"]
    with pytest.raises(UnknownName, match="Did you mean 'both'"):
        sources.members("bth")
