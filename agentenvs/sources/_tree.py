"""Reading a source from an archive or a folder, every byte checked against the manifest."""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentenvs.core import Shared
from agentenvs.errors import (
    BadArgument,
    SourceMismatch,
    SourceMissing,
    UnknownName,
    did_you_mean,
)
from agentenvs.sources import _plain
from agentenvs.sources._progress import Progress, quiet
from agentenvs.sources._source import NeededFile, Source

__all__ = ["Origin", "Tree", "locate", "mismatch", "problems_of"]

Origin = Literal["env", "installed", "cache"]

_READABLE = 256_000_000
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


@dataclass(frozen=True)
class Tree(Shared):
    """The needed files of one source, wherever they lie.

    Nothing is held open or in memory, so a tree can be pickled, copied and shared between
    processes. Each read is checked, so what it returns is the pinned content or an error.

    Attributes:
        source: the manifest's entry.
        path: the archive, or the folder that the files' paths are relative to.
        origin: "env" (an environment variable names it), "installed" or "cache".
        notes: what was passed over on the way here, in words.
    """

    source: Source
    path: Path
    origin: Origin
    notes: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The pinned version."""
        return self.source.version

    @property
    def digest(self) -> str:
        """SHA-256 over the needed files' paths and hashes."""
        return self.source.digest

    @property
    def files(self) -> tuple[str, ...]:
        """The paths that can be read."""
        return tuple(self.source.by_path)

    def read(self, path: str) -> bytes:
        """Return the content of one needed file.

        Args:
            path: its path inside the source, with forward slashes.

        Raises:
            UnknownName: it is not one of `files`.
            SourceMissing: the archive or folder has gone.
            SourceMismatch: it is no longer the pinned content.
        BadArgument: it is too large for memory; `place` says where it lies.
        """
        return self.read_many([path])[path]

    def place(self, path: str) -> Path:
        """Return where a needed file lies, of a source of plain files.

        Raises:
            UnknownName: it is not one of `files`.
            BadArgument: the source is an archive.
        """
        self._file(path)
        if not self.path.is_dir():
            raise BadArgument(f"{path!r} lies inside the archive {self.path}: read it instead.")
        return self.path / path

    def _file(self, path: str) -> NeededFile:
        try:
            return self.source.by_path[path]
        except KeyError:
            hint = did_you_mean(path, self.files)
            raise UnknownName(f"{self.source.name!r} has no file {path!r}.{hint}") from None

    def read_many(self, paths: Iterable[str] | None = None) -> dict[str, bytes]:
        """Return the contents of several files, default all; errors as for `read`."""
        wanted = self.files if paths is None else tuple(paths)
        for path in wanted:
            if self._file(path).size > _READABLE:
                raise BadArgument(f"{path!r} is too large to be read at once: see `place`.")
        contents: dict[str, bytes] = {}
        try:
            with _opened(self.path) as container:
                for path in wanted:
                    contents[path] = container.checked(self.source.by_path[path])
        except FileNotFoundError as error:
            raise SourceMissing(f"{self.path} has gone since it was opened.") from error
        except _DiffersError as problem:
            raise mismatch(self.source, self.path, [str(problem)]) from problem
        except _UNREADABLE as error:
            raise mismatch(self.source, self.path, [f"cannot be read: {error}"]) from error
        return contents


def locate(path: Path, source: Source) -> Path | None:
    """Return the archive or the root folder of `source` that `path` points at, if any.

    `path` may be an archive, a folder that holds one under its official name, the folder
    above the source's own top folder (such as site-packages), or that top folder; of plain
    files it may be their folder, or one of them.
    """
    path = Path(os.path.abspath(path.expanduser()))
    if source.plain:
        return _plain.locate(path, source)
    if path.is_file():
        return path
    for root in (path, path.parent):
        if any(_lies_under(path, root, file.path) for file in source.files):
            return root
    archive = path / source.filename
    return archive if archive.is_file() else None


def _lies_under(path: Path, root: Path, file: str) -> bool:
    top = file.split("/", 1)[0]
    return (root == path or path.name == top) and (root / file).is_file()


def problems_of(
    path: Path, source: Source, progress: Progress = quiet, anew: bool = False
) -> list[str]:
    """Return in what `path` (archive or folder) differs from the needed files, [] if in nothing.

    Plain files, which may be large, are hashed once and then taken for unchanged as long as
    their size and time are; `anew` hashes them whatever is remembered.
    """
    if source.plain:
        return _plain.problems_of(path, source, progress, anew)
    found: list[str] = []
    try:
        with _opened(path) as container:
            for file in source.files:
                try:
                    container.checked(file)
                except _DiffersError as problem:
                    found.append(str(problem))
    except _UNREADABLE as error:
        found.append(f"cannot be read: {error}")
    return found


def mismatch(source: Source, path: Path, problems: list[str]) -> SourceMismatch:
    """Return the error that says in what `path` differs, a few lines at most."""
    shown = [f"  {problem}" for problem in problems[:3]]
    if len(problems) > 3:
        shown.append(f"  and {len(problems) - 3} more")
    first = f"{path} is not the pinned {source.name} {source.version}:"
    return SourceMismatch("\n".join([first, *shown]))


class _DiffersError(Exception):
    """A needed file is absent or differs; its text is kept as a problem."""


@contextmanager
def _opened(path: Path) -> Iterator[_Folder | _Archive]:
    if path.is_dir():
        yield _Folder(path)
    else:
        with zipfile.ZipFile(path) as archive:
            yield _Archive(archive)


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def checked(self, file: NeededFile) -> bytes:
        try:
            with open(self._root / file.path, "rb", opener=_open_without_waiting) as stream:
                facts = os.fstat(stream.fileno())
                if not stat.S_ISREG(facts.st_mode):
                    raise _DiffersError(f"{file.path}: not a regular file")
                _check_size(file, facts.st_size)
                return _check_hash(file, stream.read(file.size + 1))
        except (FileNotFoundError, NotADirectoryError):
            raise _DiffersError(f"{file.path}: missing") from None
        except OSError as error:
            raise _DiffersError(f"{file.path}: cannot be read ({error.strerror})") from error


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class _Archive:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def checked(self, file: NeededFile) -> bytes:
        try:
            entry = self._archive.getinfo(file.path)
        except KeyError:
            raise _DiffersError(f"{file.path}: missing") from None
        _check_size(file, entry.file_size)
        if entry.compress_type not in _PLAIN:
            raise _DiffersError(
                f"{file.path}: expected stored or deflated, got {entry.compress_type}"
            )
        try:
            content = self._archive.read(entry)
        except _UNREADABLE as error:
            raise _DiffersError(f"{file.path}: cannot be read ({error})") from error
        return _check_hash(file, content)


def _check_size(file: NeededFile, size: int) -> None:
    if size != file.size:
        raise _DiffersError(f"{file.path}: expected {file.size:,} bytes, found {size:,}")


def _check_hash(file: NeededFile, content: bytes) -> bytes:
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise _DiffersError(f"{file.path}: expected sha256 {file.sha256}, found {found}")
    return content
