import hashlib
import os
import shutil
from pathlib import Path

import pytest

from agentenvs.sources import _stamps as stamps

OLD = 1_600_000_000


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("AGENTENVS_CACHE", str(folder))
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    os.utime(path, (OLD, OLD))
    return path


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def reads(path: Path, anew: bool = False) -> tuple[str, bool]:
    """Return the digest, and whether the file was read for it."""
    told: list[int] = []
    return stamps.file_digest(path, told.append, anew), bool(told)


def test_a_file_is_read_once(cache: Path, file: Path) -> None:
    assert reads(file) == (sha256(b"content"), True)
    assert reads(file) == (sha256(b"content"), False)
    assert reads(file, anew=True) == (sha256(b"content"), True)


def test_another_size_or_time_is_read_again(cache: Path, file: Path) -> None:
    reads(file)
    file.write_bytes(b"CONTENT")
    assert reads(file) == (sha256(b"CONTENT"), True)
    file.write_bytes(b"longer content")
    os.utime(file, (OLD, OLD))
    assert reads(file) == (sha256(b"longer content"), True)


def test_a_file_that_may_still_change_is_not_remembered(cache: Path, file: Path) -> None:
    reads(file)
    file.write_bytes(b"CONTENT")
    assert reads(file)[1]
    assert reads(file)[1]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b'{"size": 7}'])
def test_a_damaged_stamp_is_ignored(cache: Path, file: Path, damage: bytes) -> None:
    reads(file)
    (stamp,) = (cache / "stamps").iterdir()
    stamp.write_bytes(damage)
    assert reads(file) == (sha256(b"content"), True)
    assert reads(file) == (sha256(b"content"), False)


def test_a_cache_that_cannot_be_written_costs_a_reading(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no").write_text("in the way")
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "no"))
    assert reads(file) == (sha256(b"content"), True)
    assert reads(file) == (sha256(b"content"), True)


def test_a_cache_that_is_moved_keeps_what_it_knows(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inside = cache / "sources" / "file"
    inside.parent.mkdir(parents=True)
    inside.write_bytes(b"content")
    stamps.remember(inside, sha256(b"content"))
    shutil.move(cache, tmp_path / "moved")
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "moved"))
    assert reads(tmp_path / "moved/sources/file") == (sha256(b"content"), False)


def test_a_missing_file_is_an_error(cache: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        stamps.file_digest(tmp_path / "none")
