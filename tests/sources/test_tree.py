import copy
import os
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentenvs import sources
from agentenvs.errors import SourceMismatch, SourceMissing, UnknownName

SIM = "sample_data/deep/sim.py"


@pytest.fixture(params=["wheel", "folder"])
def place(request: pytest.FixtureRequest, sample: Any, tmp_path: Path) -> Path:
    if request.param == "wheel":
        return Path(sample.wheel)
    return Path(sample.unpack(tmp_path / "tree"))


@pytest.fixture
def tree(place: Path, monkeypatch: pytest.MonkeyPatch) -> sources.Tree:
    monkeypatch.setenv("AGENTENVS_SAMPLE", str(place))
    return sources.open_source("sample")


def rewrite(wheel: Path, change: dict[str, bytes]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**contents, **change}.items():
            archive.writestr(name, content)


def test_reads_the_needed_files(tree: sources.Tree) -> None:
    assert tree.read(SIM) == b"class Sim:\n    pass\n"
    assert tree.read("sample_data/text.txt") == "grüße\r\n".encode()
    assert set(tree.read_many()) == set(tree.files)
    assert (tree.version, tree.origin) == ("1.0", "env")
    assert tree.digest == sources.source("sample").digest


def test_other_files_are_not_to_be_read(tree: sources.Tree) -> None:
    for path in ("sample_data/__init__.py", "../secret", "/etc/hostname", "sample_data\\text.txt"):
        with pytest.raises(UnknownName, match="has no file"):
            tree.read(path)


def test_copies_and_pickles_are_equal_and_work(tree: sources.Tree) -> None:
    assert copy.deepcopy(tree) is tree
    again = pickle.loads(pickle.dumps(tree))  # noqa: S301
    assert again == tree
    assert again.read(SIM) == tree.read(SIM)


def test_a_change_after_opening_is_noticed(tree: sources.Tree) -> None:
    evil = b"class Sim:\n    PASS\n"
    if tree.path.is_dir():
        (tree.path / SIM).write_bytes(evil)
    else:
        rewrite(tree.path, {SIM: evil})
    with pytest.raises(SourceMismatch, match=r"expected sha256 .*, found "):
        tree.read(SIM)
    assert tree.read("sample_data/tasks.json")


def test_a_vanished_archive_is_reported(sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTENVS_SAMPLE", str(sample.wheel))
    tree = sources.open_source("sample")
    sample.wheel.unlink()
    with pytest.raises(SourceMissing, match="has gone"):
        tree.read(SIM)


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in folders on Windows")
def test_a_pipe_in_place_of_a_file_does_not_hang(
    sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sample.unpack(tmp_path / "tree")
    (folder / SIM).unlink()
    os.mkfifo(folder / SIM)
    monkeypatch.setenv("AGENTENVS_SAMPLE", str(folder))
    with pytest.raises(SourceMismatch, match="not a regular file"):
        sources.open_source("sample")


def test_names_that_climb_out_of_an_archive_do_nothing(
    sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite(sample.wheel, {"../../climbed": b"x", "/climbed": b"x", "sample_data/../../c": b"x"})
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setenv("AGENTENVS_SAMPLE", str(sample.wheel))
    assert sources.open_source("sample").read(SIM)
    assert sorted(tmp_path.rglob("*")) == before
    with zipfile.ZipFile(sources.import_("sample", sample.wheel).path) as kept:
        assert sorted(kept.namelist()) == sorted(sources.open_source("sample").files)


def test_a_file_that_unpacks_to_more_than_it_may_is_not_unpacked(
    sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite(sample.wheel, {SIM: b"\0" * 50_000_000})
    monkeypatch.setenv("AGENTENVS_SAMPLE", str(sample.wheel))
    with pytest.raises(SourceMismatch, match="expected 20 bytes, found 50,000,000"):
        sources.open_source("sample")


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_damage_to_an_archive_gets_through(
    sample: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    content = bytearray(sample.wheel.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, 60))
    damaged = tmp_path / "damaged.whl"
    damaged.write_bytes(bytes(content[: len(content) - cut]))
    monkeypatch.setenv("AGENTENVS_SAMPLE", str(damaged))
    try:
        tree = sources.open_source("sample")
    except SourceMismatch:
        return
    monkeypatch.setenv("AGENTENVS_SAMPLE", str(sample.wheel))
    assert tree.read_many() == sources.open_source("sample").read_many()
