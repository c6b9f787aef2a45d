"""Reading a source from an archive or a folder, every byte checked against the manifest."""

from __future__ import annotations

import os
from collections.abc import Iterable
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
from agentenvs.sources._containers import UNREADABLE, DiffersError, opened, root_of, sha256_of
from agentenvs.sources._progress import Progress, quiet
from agentenvs.sources._source import Made, NeededFile, Source

__all__ = ["Origin", "Tree", "locate", "mismatch", "problems_of"]

Origin = Literal["env", "installed", "cache"]

_READABLE = 256_000_000


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

        A file of `Source.made` can be read as well, where the copy has what it takes.

        Raises:
            UnknownName: it is not one of `files`.
            SourceMissing: the archive or folder has gone, or a made file cannot be made.
            SourceMismatch: it is no longer the pinned content.
            BadArgument: it is too large for memory; `place` says where it lies.
        """
        for made in self.source.made:
            if made.path == path:
                return self._made(made)
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

    def _made(self, made: Made) -> bytes:
        content: bytes | None = None
        try:
            with opened(self.path, self.source) as container:
                content = container.read(made.path, made.size)
                if content is None or sha256_of(content) != made.sha256:
                    content = made.work_out(container)
        except FileNotFoundError as error:
            raise SourceMissing(f"{self.path} has gone since it was opened.") from error
        except UNREADABLE as error:
            raise mismatch(self.source, self.path, [f"cannot be read: {error}"]) from error
        if content is None:
            raise SourceMissing(
                f"{self.path} has no {made.path}, and nothing that it can be worked out of."
            )
        if sha256_of(content) != made.sha256:
            wrong = f"{made.path}: expected sha256 {made.sha256}, found {sha256_of(content)}"
            raise mismatch(self.source, self.path, [wrong])
        return content

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
            with opened(self.path, self.source) as container:
                for path in wanted:
                    contents[path] = container.checked(self.source.by_path[path])
        except FileNotFoundError as error:
            raise SourceMissing(f"{self.path} has gone since it was opened.") from error
        except DiffersError as problem:
            raise mismatch(self.source, self.path, [str(problem)]) from problem
        except UNREADABLE as error:
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
    if source.loose:
        root = root_of(path, source)
        if root is not None:
            return root
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
        with opened(path, source) as container:
            for file in source.files:
                try:
                    container.checked(file)
                except DiffersError as problem:
                    found.append(str(problem))
    except UNREADABLE as error:
        found.append(f"cannot be read: {error}")
    return found


def mismatch(source: Source, path: Path, problems: list[str]) -> SourceMismatch:
    """Return the error that says in what `path` differs, a few lines at most."""
    shown = [f"  {problem}" for problem in problems[:3]]
    if len(problems) > 3:
        shown.append(f"  and {len(problems) - 3} more")
    first = f"{path} is not the pinned {source.name} {source.version}:"
    return SourceMismatch("\n".join([first, *shown]))
