"""What is known of one piece of official data: its bytes, its owners, and a way to get it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from agentenvs.sources._progress import Progress

__all__ = ["NeededFile", "Source", "Way"]


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
        size: bytes of the archive, or of all files.
        way: how to get it; None where it can only be imported.
        files: the files that are needed, each with its hash.
        filename: name of the archive; "" where the files are plain.
        sha256: of the archive; "" where the files are plain.
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
    variants: tuple[Source, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether it consists of plain files instead of an archive."""
        return not self.filename

    @property
    def forms(self) -> tuple[Source, ...]:
        """The source itself and its variants."""
        return (self, *self.variants)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the sorted lines "path NUL sha256 newline" of the needed files."""
        lines = sorted(f"{file.path}\0{file.sha256}\n" for file in self.files)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @cached_property
    def by_path(self) -> Mapping[str, NeededFile]:
        """The needed files by path."""
        return {file.path: file for file in self.files}

    @property
    def variable(self) -> str:
        """Name of the environment variable that points at a copy."""
        return "AGENTENVS_" + self.name.upper().replace("-", "_")
