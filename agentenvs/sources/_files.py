"""Fetching plain files by address: several addresses a file, resumed where it broke off."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentenvs.errors import SourceError, SourceMismatch, SourceMissing
from agentenvs.sources._stamps import stream_sha256

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentenvs.sources._progress import Progress
    from agentenvs.sources._source import NeededFile, Source

__all__ = ["DRIVE", "MIRROR", "Files"]

DRIVE = "https://drive.usercontent.google.com/download?id={id}&export=download&confirm=t"
MIRROR = "https://huggingface.co/datasets/YWZBrandon/webshop-data/resolve/main/{name}"
#: connections in a row that bring nothing, and connections at all, to one address
_TRIES = 3
_CONNECTIONS = 1_000


@dataclass(frozen=True, slots=True)
class Files:
    """Files that lie on the web, each at an address of its own.

    What has come before a connection broke is kept and gone on with; a file counts only once
    its hash is right. The addresses of the project WebShop (Google Drive) and of a mirror of
    its files (Hugging Face) are written down from public documentation and are unverified:
    nobody has fetched from them with this code.

    Attributes:
        ids: (name of the file, its id at the first place) pairs.
        places: templates of addresses with `{id}` and `{name}`, tried in order.
        pause: seconds before a broken connection is tried again, doubled while nothing comes.
        timeout: seconds without a byte after which a connection counts as broken.
    """

    ids: tuple[tuple[str, str], ...] = ()
    places: tuple[str, ...] = (DRIVE, MIRROR)
    pause: float = 1.0
    timeout: float = 30.0

    @property
    def module(self) -> None:
        """Return None: there is no installed copy."""
        return

    @property
    def resumes(self) -> bool:
        """Return True: half a file is gone on with."""
        return True

    def addresses(self, name: str) -> tuple[str, ...]:
        """Return the addresses of a file, in the order in which they are tried."""
        known = dict(self.ids)
        return tuple(
            place.format(id=known.get(name, ""), name=name)
            for place in self.places
            if name in known or "{id}" not in place
        )

    def fetch(self, source: Source, folder: Path, progress: Progress) -> Path:
        """Fetch the files into `folder`; see `Way.fetch`."""
        _check_room(source, folder)
        done = 0
        for file in source.files:
            if not _is_whole(folder / file.path, file):
                self._fetch_one(source, file, folder, done, progress)
            done += file.size
        progress(source.size, source.size, f"Fetched {source.title}")
        return folder

    def _fetch_one(
        self, source: Source, file: NeededFile, folder: Path, done: int, progress: Progress
    ) -> None:
        from agentenvs.sources._http import DroppedError, RefusedError

        part = folder / f"{file.path}.part"
        failures: list[str] = []
        mismatches = 0
        for address in self.addresses(file.path):
            host = address.split("/")[2]
            text = f"Fetching {file.path} ({file.size / 1e6:.1f} MB) from {host}"

            def told(count: int, text: str = text) -> None:
                progress(done + count, source.size, text)

            # Half a file may come from elsewhere, or from a server that ignores the range;
            # where the whole is wrong it is fetched once more, from the start.
            for begun in (part.exists(), False):
                if not begun:
                    part.unlink(missing_ok=True)
                try:
                    self._fill(address, part, file.size, told)
                except (DroppedError, RefusedError) as error:
                    failures.append(f"{host}: {error}")
                    break
                told(file.size, f"Checking {file.path}")
                found = stream_sha256(part)
                if found == file.sha256:
                    os.replace(part, folder / file.path)
                    return
                part.unlink()
                if not begun:
                    mismatches += 1
                    failures.append(f"{host}: expected sha256 {file.sha256}, found {found}")
                    break
        kind = SourceMismatch if failures and mismatches == len(failures) else SourceMissing
        reasons = "\n".join(f"  {failure}" for failure in failures)
        raise kind(f"{file.path} could not be had from any address:\n{reasons}")

    def _fill(self, address: str, part: Path, size: int, told: Callable[[int], None]) -> None:
        """Fetch until the file has `size` bytes, again as long as each try brings some."""
        from agentenvs.sources._http import DroppedError, append

        idle = 0
        for left in reversed(range(_CONNECTIONS)):
            before = part.stat().st_size if part.exists() else 0
            try:
                append(address, part, size, self.timeout, told)
            except DroppedError:
                gained = part.exists() and part.stat().st_size > before
                idle = 0 if gained else idle + 1
                if idle >= _TRIES or not left:
                    raise
                time.sleep(min(self.pause * 2 ** max(idle - 1, 0), 30.0))
            else:
                return


def _is_whole(path: Path, file: NeededFile) -> bool:
    return (
        path.is_file() and path.stat().st_size == file.size and stream_sha256(path) == file.sha256
    )


def _check_room(source: Source, folder: Path) -> None:
    there = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    free = shutil.disk_usage(folder).free
    if source.size - there > free:
        raise SourceError(
            f"{source.title} takes {source.size / 1e6:,.0f} MB, and {folder} has only "
            f"{free / 1e6:,.0f} MB left. AGENTENVS_CACHE=FOLDER names another place."
        )
