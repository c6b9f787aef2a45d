"""Sources that are plain files: recognising, checking and copying them without reading twice."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from agentenvs.sources._progress import Progress
from agentenvs.sources._source import NeededFile, Source
from agentenvs.sources._stamps import file_digest

__all__ = ["locate", "problems_of", "size_problems", "take"]

_CHUNK = 1 << 20
#: smaller sources are read before anybody wonders
_LARGE = 100_000_000


def locate(path: Path, source: Source) -> Path | None:
    """Return the folder of the files that `path` (it, or one of them) points at, if any."""
    if path.is_file():
        return path.parent if path.name in source.by_path else None
    return path if any((path / file.path).is_file() for file in source.files) else None


def size_problems(folder: Path, source: Source) -> list[str]:
    """Return which files are missing or have another size."""
    found = []
    for file in source.files:
        try:
            facts = os.stat(folder / file.path)
        except OSError:
            found.append(f"{file.path}: missing")
            continue
        if not stat.S_ISREG(facts.st_mode):
            found.append(f"{file.path}: not a regular file")
        elif facts.st_size != file.size:
            found.append(f"{file.path}: expected {file.size:,} bytes, found {facts.st_size:,}")
    return found


def problems_of(folder: Path, source: Source, progress: Progress, anew: bool) -> list[str]:
    """Return in what the files differ; they are hashed only where their sizes are right."""
    found = size_problems(folder, source)
    if found:
        return found
    done = 0
    for file in source.files:
        told = _teller(progress, done, source, f"Checking {file.path}")
        try:
            sha256 = file_digest(folder / file.path, told, anew)
        except OSError as error:
            found.append(f"{file.path}: cannot be read ({error.strerror})")
        else:
            found += _other_hash(file, sha256)
        done += file.size
    return found


def take(source: Source, folder: Path, target: Path, progress: Progress, move: bool) -> list[str]:
    """Bring the files from `folder` into the new folder `target`; return what is wrong.

    Copies are hashed while they are written, so they are right whatever happens to the files
    meanwhile. `move` is for files that nobody else writes to.
    """
    target.mkdir()
    found: list[str] = []
    done = 0
    for file in source.files:
        if move:
            shutil.move(folder / file.path, target / file.path)
        else:
            told = _teller(progress, done, source, f"Copying {file.path}")
            found += _other_hash(file, _copy(folder / file.path, target / file.path, told))
        done += file.size
    return found


def _copy(path: Path, target: Path, told: Callable[[int], None]) -> str:
    digest = hashlib.sha256()
    done = 0
    with open(path, "rb") as source, open(target, "xb") as copy:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            copy.write(chunk)
            done += len(chunk)
            told(done)
        copy.flush()
        os.fsync(copy.fileno())
    return digest.hexdigest()


def _other_hash(file: NeededFile, sha256: str) -> list[str]:
    if sha256 == file.sha256:
        return []
    return [f"{file.path}: expected sha256 {file.sha256}, found {sha256}"]


def _teller(progress: Progress, done: int, source: Source, text: str) -> Callable[[int], None]:
    if source.size < _LARGE:
        return lambda read: None
    return lambda read: progress(done + read, source.size, text)
