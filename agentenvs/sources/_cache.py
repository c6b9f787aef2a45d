"""The cache folder: where it is, and how a file gets into it whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from agentenvs.errors import SourceError
from agentenvs.sources._manifest import Source
from agentenvs.sources._tree import Tree, mismatch, problems_of

__all__ = ["cache_folder", "cached", "file_sha256", "keep", "workspace"]

_PATIENCE = 900.0
_TEMPORARY = "tmp-"


def cache_folder() -> Path:
    """Return the folder for fetched data; it need not exist yet.

    `AGENTENVS_CACHE` names it; else it is `agentenvs` in the user's cache folder
    (`XDG_CACHE_HOME` or `~/.cache`; `~/Library/Caches`; `%LOCALAPPDATA%`).
    """
    named = os.environ.get("AGENTENVS_CACHE")
    if named:
        return Path(os.path.abspath(Path(named).expanduser()))
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "agentenvs"


def cached(source: Source) -> list[Path]:
    """Return the copies of `source` in the cache, unchecked."""
    return [path for path in _places(source) if path.is_file()]


def _folder(source: Source) -> Path:
    return cache_folder() / "sources" / f"{source.name}-{source.version}"


def _places(source: Source) -> tuple[Path, Path]:
    folder = _folder(source)
    return folder / source.filename, folder / f"{source.name}-{source.version}.zip"


@contextmanager
def workspace(source: Source, on_wait: Callable[[], None]) -> Iterator[Path]:
    """Yield an empty folder in the cache that is removed afterwards.

    One process at a time works on a source, so that several that start together fetch it
    once. Where the file system has no locks they fetch it each, which is safe as well:
    only whole, checked files are moved into place.

    Raises:
        SourceError: the cache cannot be written.
    """
    folder = _folder(source)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "ab") as lock, _held(lock, on_wait) as alone:
            if alone:
                for left in folder.glob(f"{_TEMPORARY}*"):
                    shutil.rmtree(left, ignore_errors=True)
            temporary = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=folder))
            try:
                yield temporary
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except SourceError:
        raise
    except OSError as error:
        raise SourceError(
            f"Could not write to the cache folder {folder}: {error}. "
            "AGENTENVS_CACHE=FOLDER names another one."
        ) from error


def keep(source: Source, found: Path, temporary: Path) -> Path:
    """Move a copy of `found` (archive or folder) into the cache; return where it lies now.

    The pinned archive is kept as it is; of anything else the needed files are kept, in a
    small archive with the same paths.

    Raises:
        SourceMismatch: it does not have the pinned content.
    """
    problems = problems_of(found, source)
    if problems:
        raise mismatch(source, found, problems)
    whole, compact = _places(source)
    copy = temporary / "copy"
    if found.is_file() and found.stat().st_size == source.size:
        shutil.copyfile(found, copy)
        if file_sha256(copy) == source.sha256:
            return _place(source, copy, whole)
    _pack(source, found, copy)
    return _place(source, copy, compact)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _pack(source: Source, found: Path, target: Path) -> None:
    tree = Tree(source, found, "cache")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(tree.files):
            entry = zipfile.ZipInfo(path)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, tree.read(path))


def _place(source: Source, copy: Path, target: Path) -> Path:
    problems = problems_of(copy, source)
    if problems:
        raise mismatch(source, copy, problems)
    with open(copy, "rb+") as stream:
        os.fsync(stream.fileno())
    try:
        os.replace(copy, target)
    except PermissionError:
        # Windows: another process is reading the copy it has just put there itself.
        if not target.is_file() or problems_of(target, source):
            raise
    if sys.platform != "win32":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return target


@contextmanager
def _held(lock: BinaryIO, on_wait: Callable[[], None]) -> Iterator[bool]:
    held = _acquire(lock, on_wait)
    try:
        yield held
    finally:
        if held:
            with suppress(OSError):
                _unlock(lock)


def _acquire(lock: BinaryIO, on_wait: Callable[[], None]) -> bool:
    deadline = time.monotonic() + _PATIENCE
    told = False
    while True:
        try:
            _lock(lock)
        except _TAKEN:
            if time.monotonic() > deadline:
                return False
            if not told:
                told = True
                on_wait()
            time.sleep(0.05)
        except OSError:
            return False
        else:
            return True


if sys.platform == "win32":
    import msvcrt

    _TAKEN = PermissionError

    def _lock(lock: BinaryIO) -> None:
        lock.seek(0)
        msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)

    def _unlock(lock: BinaryIO) -> None:
        lock.seek(0)
        msvcrt.locking(lock.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    _TAKEN = BlockingIOError

    def _lock(lock: BinaryIO) -> None:
        fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(lock: BinaryIO) -> None:
        fcntl.flock(lock.fileno(), fcntl.LOCK_UN)
