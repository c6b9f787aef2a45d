"""What files come in: folders, zip archives and tar archives, read with everything bounded."""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Self

from agentenvs.sources._source import NeededFile, Source

__all__ = ["UNREADABLE", "DiffersError", "opened", "root_of", "sha256_of"]

_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
UNREADABLE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)
#: of what is not pinned whole: files looked at, bytes of a file that is, and of all of them
_MOST_NAMES = 50_000
_MOST_SMALL = 2_000_000
_MOST_KEPT = 256_000_000
_MOST_IN_ALL = 1_000_000_000
#: types of tar headers that describe the entry after them, and the most bytes of one
_AHEAD = frozenset(
    {
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    }
)
_MOST_HEADER = 1_000_000


class DiffersError(Exception):
    """A needed file is absent or differs; its text is kept as a problem."""


def sha256_of(content: bytes) -> str:
    """Return the SHA-256 of a content."""
    return hashlib.sha256(content).hexdigest()


@contextmanager
def opened(path: Path, source: Source) -> Iterator[_Folder | _Archive]:
    """Open a folder or an archive.

    Raises:
        Exception: one of `UNREADABLE`, here and from what is yielded.
    """
    if path.is_dir():
        yield _Folder(path, source)
    elif source.loose and not zipfile.is_zipfile(path):
        yield _Tarball(path, source)
    else:
        with zipfile.ZipFile(path) as archive:
            yield _Zip(archive, source)


def root_of(path: Path, source: Source) -> Path | None:
    """Return the folder at or above `path` that the files' paths are relative to, if any.

    An unpacked archive may have a top folder, and the files may lack their `Source.bare`.
    """
    inner = sorted(path.iterdir())[:_MOST_NAMES] if path.is_dir() else []
    tops = [one for one in inner if one.is_dir()]
    root: Path
    for bare in ("", source.bare):
        shown = [file.path.removeprefix(bare) for file in source.files]
        for root in (path, path.parent, *(tops if len(tops) == 1 else ())):
            below = f"{path.name}/" if root == path.parent else ""
            if any(name.startswith(below) and (root / name).is_file() for name in shown):
                return root
    return None


class _Folder:
    """A folder with the needed files in it."""

    def __init__(self, root: Path, source: Source) -> None:
        self._root = root
        self._source = source
        self._bare = source.bare if source.loose else ""

    def checked(self, file: NeededFile) -> bytes:
        """Return a needed file's content.

        Raises:
            DiffersError: it is absent or differs.
        """
        try:
            with self._open(file.path) as stream:
                facts = os.fstat(stream.fileno())
                if not stat.S_ISREG(facts.st_mode):
                    raise DiffersError(f"{file.path}: not a regular file")
                _check_size(file, facts.st_size)
                return _check_hash(file, stream.read(file.size + 1))
        except (FileNotFoundError, NotADirectoryError):
            raise DiffersError(f"{file.path}: missing") from None
        except OSError as error:
            raise DiffersError(f"{file.path}: cannot be read ({error.strerror})") from error

    def _open(self, path: str) -> BinaryIO:
        try:
            return open(self._root / path, "rb", opener=_open_without_waiting)
        except (FileNotFoundError, NotADirectoryError):
            if not self._bare or not path.startswith(self._bare):
                raise
            bare = self._root / path.removeprefix(self._bare)
            return open(bare, "rb", opener=_open_without_waiting)

    def names(self) -> list[str]:
        """Return the files below the folder, hidden ones and links left out."""
        found: list[str] = []
        for where, folders, files in os.walk(self._root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                place = Path(where, name)
                if not name.startswith(".") and not place.is_symlink():
                    found.append(place.relative_to(self._root).as_posix())
                if len(found) >= _MOST_NAMES:
                    return found
        return found

    def read(self, name: str, most: int) -> bytes | None:
        """Return a file's content; None where there is none, or one of over `most` bytes."""
        try:
            with self._open(name) as stream:
                facts = os.fstat(stream.fileno())
                if not stat.S_ISREG(facts.st_mode) or facts.st_size > most:
                    return None
                content = stream.read(most + 1)
        except OSError:
            return None
        return content if len(content) <= most else None


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class _Archive:
    """An archive by its entries; where it is not pinned, it may have a top folder."""

    def __init__(self, sizes: dict[str, int], source: Source) -> None:
        self._sizes = sizes
        self._bare = source.bare if source.loose else ""
        self._top = _top_folder(sizes, source) if source.loose else ""

    def checked(self, file: NeededFile) -> bytes:
        """Return a needed file's content.

        Raises:
            DiffersError: it is absent or differs.
        """
        entry = self._entry(file.path)
        if entry is None:
            raise DiffersError(f"{file.path}: missing")
        _check_size(file, self._sizes[entry])
        try:
            content = self._content(entry, file.path)
        except UNREADABLE as error:
            raise DiffersError(f"{file.path}: cannot be read ({error})") from error
        return _check_hash(file, content)

    def names(self) -> list[str]:
        """Return the paths below the top folder, in order."""
        top = len(self._top)
        return sorted(name[top:] for name in self._sizes if name.startswith(self._top))

    def read(self, name: str, most: int) -> bytes | None:
        """Return a file's content; None where there is none, or one of over `most` bytes."""
        entry = self._entry(name)
        if entry is None or self._sizes[entry] > most:
            return None
        try:
            return self._content(entry, name)
        except (DiffersError, *UNREADABLE):
            return None

    def _entry(self, path: str) -> str | None:
        for name in (path, path.removeprefix(self._bare)):
            if self._top + name in self._sizes:
                return self._top + name
        return None

    def _content(self, entry: str, path: str) -> bytes:
        raise NotImplementedError


class _Zip(_Archive):
    """A zip archive."""

    def __init__(self, archive: zipfile.ZipFile, source: Source) -> None:
        self._archive = archive
        super().__init__({entry.filename: entry.file_size for entry in archive.infolist()}, source)

    def _content(self, entry: str, path: str) -> bytes:
        info = self._archive.getinfo(entry)
        if info.compress_type not in _PLAIN:
            raise DiffersError(f"{path}: expected stored or deflated, got {info.compress_type}")
        with self._archive.open(info) as stream:
            # Bounded: read whole, an entry can unpack to far more than the size it states.
            return stream.read(info.file_size + 1)


class _Entry(tarfile.TarInfo):
    """An entry of a tar archive; a header in front of another one may not be large."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Read a header.

        Raises:
            ValueError: it announces a long name or attributes beyond what they take.
        """
        entry = super().frombuf(buf, encoding, errors)
        # tarfile takes these into memory before it hands an entry over.
        if entry.type in _AHEAD and entry.size > _MOST_HEADER:
            raise ValueError("a header in it is larger than it should be")
        return entry


class _Tarball(_Archive):
    """A tar archive, compressed or not, of which the needed and the small files are kept."""

    def __init__(self, path: Path, source: Source) -> None:
        self._kept: dict[str, bytes] = {}
        sizes: dict[str, int] = {}
        largest = max((file.size for file in source.files), default=0)
        total = kept = 0
        with tarfile.open(path, "r|*", tarinfo=_Entry) as archive:
            for entry in archive:
                total += entry.size + 512
                if len(sizes) >= _MOST_NAMES or total > _MOST_IN_ALL:
                    raise ValueError("more in it than there should be")
                if not entry.isreg():
                    continue
                sizes[entry.name] = entry.size
                if entry.size <= max(largest, _MOST_SMALL) and kept < _MOST_KEPT:
                    kept += entry.size
                    stream = archive.extractfile(entry)
                    self._kept[entry.name] = stream.read() if stream is not None else b""
        super().__init__(sizes, source)

    def _content(self, entry: str, path: str) -> bytes:
        try:
            return self._kept[entry]
        except KeyError:
            raise DiffersError(f"{path}: too large") from None


def _top_folder(names: Iterable[str], source: Source) -> str:
    """Return the path that all needed files lie below, "" where that is the archive itself."""
    known = set(names)
    for file in source.files:
        for wanted in (file.path, file.path.removeprefix(source.bare)):
            if wanted in known:
                return ""
            for name in sorted(known):
                if name.endswith(f"/{wanted}"):
                    return name.removesuffix(wanted)
    return ""


def _check_size(file: NeededFile, size: int) -> None:
    if size != file.size:
        raise DiffersError(f"{file.path}: expected {file.size:,} bytes, found {size:,}")


def _check_hash(file: NeededFile, content: bytes) -> bytes:
    found = sha256_of(content)
    if found != file.sha256:
        raise DiffersError(f"{file.path}: expected sha256 {file.sha256}, found {found}")
    return content
