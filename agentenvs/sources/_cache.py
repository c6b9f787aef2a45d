"""The cache: how a source, or work of any kind, gets into it whole or not at all."""

from __future__ import annotations

import math
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

from agentenvs.errors import SourceError, SourceMismatch, SourceMissing
from agentenvs.sources._home import cache_folder
from agentenvs.sources._plain import take
from agentenvs.sources._progress import Progress, quiet
from agentenvs.sources._source import Source
from agentenvs.sources._stamps import remember, stream_sha256
from agentenvs.sources._tree import Tree, mismatch, problems_of

__all__ = ["cached", "keep", "partial_folder", "working_folder", "workspace"]

_PATIENCE = 900.0
_TEMPORARY = "tmp-"
_PARTIAL = "partial"


def cached(source: Source) -> list[Path]:
    """Return the copies of `source` in the cache, unchecked."""
    there = Path.is_dir if source.plain else Path.is_file
    return [path for path in _places(source) if there(path)]


def _folder(source: Source) -> Path:
    return cache_folder() / "sources" / f"{source.name}-{source.version}"


def _places(source: Source) -> tuple[Path, ...]:
    folder = _folder(source)
    if source.plain:
        return (folder / "files",)
    return folder / source.filename, folder / f"{source.name}-{source.version}.zip"


@contextmanager
def workspace(source: Source, on_wait: Callable[[], None]) -> Iterator[Path]:
    """Yield a working folder for `source`; see `working_folder`."""
    patience = math.inf if source.plain else _PATIENCE
    with working_folder(_folder(source), on_wait, patience) as temporary:
        yield temporary


def partial_folder(source: Source) -> Path:
    """Return the folder for half-fetched files, which outlives a try to fetch them."""
    folder = _folder(source) / _PARTIAL
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def working_folder(
    folder: Path, on_wait: Callable[[], None], patience: float = math.inf
) -> Iterator[Path]:
    """Yield a new, empty folder inside `folder` that is removed afterwards.

    One process at a time works in `folder`, so that several that start together do the work
    once. Where the file system has no locks they do it each, which is safe as long as only
    whole things are moved into place.

    Args:
        folder: a folder of the cache; made where it is missing.
        on_wait: is called once when another process works there.
        patience: seconds after which nobody waits any longer.

    Raises:
        SourceError: the cache cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "ab") as lock, _held(lock, on_wait, patience) as alone:
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


def keep(source: Source, found: Path, temporary: Path, progress: Progress = quiet) -> Path:
    """Move a copy of `found` (archive or folder) into the cache; return where it lies now.

    The pinned archive is kept as it is; of anything else the needed files are kept, in a
    small archive with the same paths, or as they are where the source is plain files.

    Raises:
        SourceMismatch: it does not have the pinned content.
    """
    problems = problems_of(found, source, progress)
    if problems:
        raise mismatch(source, found, problems)
    copy = temporary / "copy"
    if source.plain:
        return _keep_files(source, found, copy, progress)
    whole, compact = _places(source)
    if found.is_file() and found.stat().st_size == source.size:
        shutil.copyfile(found, copy)
        if stream_sha256(copy) == source.sha256:
            return _place(source, copy, whole)
    _pack(source, found, copy)
    return _place(source, copy, compact)


def _keep_files(source: Source, found: Path, copy: Path, progress: Progress) -> Path:
    (target,) = _places(source)
    if found == target:
        return target
    fetched = found == _folder(source) / _PARTIAL
    problems = take(source, found, copy, progress, move=fetched)
    if problems:
        raise mismatch(source, found, problems)
    if target.exists():
        os.replace(target, copy.with_name("old"))
    os.replace(copy, target)
    _sync(target.parent)
    for file in source.files:
        remember(target / file.path, file.sha256)
    if fetched:
        shutil.rmtree(found, ignore_errors=True)
    return target


def _pack(source: Source, found: Path, target: Path) -> None:
    tree = Tree(source, found, "cache")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted({**tree.read_many(), **_made(tree)}.items()):
            entry = zipfile.ZipInfo(path)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)


def _made(tree: Tree) -> dict[str, bytes]:
    """Return the made files as far as the tree has what they take."""
    contents = {}
    for made in tree.source.made:
        with suppress(SourceMissing, SourceMismatch):
            contents[made.path] = tree.read(made.path)
    return contents


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
    _sync(target.parent)
    return target


def _sync(folder: Path) -> None:
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _held(lock: BinaryIO, on_wait: Callable[[], None], patience: float) -> Iterator[bool]:
    held = _acquire(lock, on_wait, patience)
    try:
        yield held
    finally:
        if held:
            with suppress(OSError):
                _unlock(lock)


def _acquire(lock: BinaryIO, on_wait: Callable[[], None], patience: float) -> bool:
    deadline = time.monotonic() + patience
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
