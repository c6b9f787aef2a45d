"""What is known of one piece of official data: its bytes, its owners, and a way to get it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from agentenvs.sources._progress import Progress

__all__ = ["Made", "NeededFile", "Readable", "Source", "Way"]


class Way(Protocol):
    """A way of getting a source."""

    @property
    def module(self) -> str | None:
        """The import name under which an installed copy is found, if there can be one."""

    @property
    def resumes(self) -> bool:
        """Whether `fetch` goes on with what an earlier try has left in its folder."""

    def fetch(self, source: Source, folder: Path, progress: Progress) -> Path:
        """Fetch `source` into `folder`; return the archive or the root of the files.

        The folder is empty, unless this way resumes.

        Raises:
            SourceMissing: it cannot be had.
            SourceMismatch: what came is not what was asked for.
        """


@dataclass(frozen=True, slots=True)
class NeededFile:
    """One file inside a source: its path with forward slashes, size in bytes, SHA-256."""

    path: str
    size: int
    sha256: str


class Readable(Protocol):
    """A folder or an archive, by the names of what lies in it."""

    def names(self) -> Iterable[str]:
        """Return the paths of the files, with forward slashes, in order."""

    def read(self, name: str, most: int) -> bytes | None:
        """Return a file's content; None where there is none, or one of over `most` bytes."""


class Made(Protocol):
    """A file that a copy may lack, and that is worked out of other files in it then.

    Its content is pinned all the same: it is that, or there is none.
    """

    @property
    def path(self) -> str:
        """The path under which it is read."""

    @property
    def size(self) -> int:
        """Its size in bytes."""

    @property
    def sha256(self) -> str:
        """Its SHA-256."""

    def work_out(self, place: Readable) -> bytes | None:
        """Return its content, or None where `place` does not hold what it takes."""


@dataclass(frozen=True)
class Source:
    """One piece of official data, pinned.

    It is an archive that holds the needed files, or plain files that are fetched one by one
    and kept as they are.

    Attributes:
        name: what the command line and `AGENTENVS_<NAME>` call it.
        version: the pinned version.
        title: what it is, one line.
        licence: SPDX identifier of its licence, or what its owners state.
        credit: whom to credit.
        url: where it comes from, for people.
        size: bytes of the archive, or of all files where it is not pinned.
        way: how to get it; None where it can only be imported.
        files: the files that are needed, each with its hash.
        filename: name of the archive; "" where the files are plain.
        sha256: of the archive; "" where the files are plain, or where hosts pack the archive
            anew: its files alone are pinned then, and it may have a top folder, or be a tar.
        bare: what the paths of the files begin with and a copy may lack ("data/"), in an
            archive that is not pinned.
        made: files that are worked out of others, where a copy has what that takes.
        variants: other bytes that serve as well, each with its own version and title.
    """

    name: str
    version: str
    title: str
    licence: str
    credit: str
    url: str
    size: int
    way: Way | None
    files: tuple[NeededFile, ...]
    filename: str = ""
    sha256: str = ""
    bare: str = ""
    made: tuple[Made, ...] = ()
    variants: tuple[Source, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether it consists of plain files instead of an archive."""
        return not self.filename

    @property
    def loose(self) -> bool:
        """Whether it is an archive of which the files alone are pinned."""
        return bool(self.filename) and not self.sha256

    @property
    def forms(self) -> tuple[Source, ...]:
        """The source itself and its variants."""
        return (self, *self.variants)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the sorted lines "path NUL sha256 newline" of the needed files."""
        pinned = [(file.path, file.sha256) for file in self.files]
        pinned += [(file.path, file.sha256) for file in self.made]
        lines = sorted(f"{path}\0{sha256}\n" for path, sha256 in pinned)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @cached_property
    def by_path(self) -> Mapping[str, NeededFile]:
        """The needed files by path."""
        return {file.path: file for file in self.files}

    @property
    def variable(self) -> str:
        """Name of the environment variable that points at a copy."""
        return "AGENTENVS_" + self.name.upper().replace("-", "_")
