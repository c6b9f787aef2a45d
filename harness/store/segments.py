"""Segments of transcripts: the files, found, read line by line, compressed and put right."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from agentenvs.errors import RunDamaged
from agentenvs.harness.store.durable import bounded, open_plain, stopped, write_whole

__all__ = ["lines_of", "number_of", "seal", "segments", "tidy", "unpacked"]

_NAME = re.compile(r"transcripts-(\d{4,18})\.jsonl(\.gz)?")
_LEVEL = 1


def segments(folder: Path) -> list[Path]:
    """Return the segments in order; a compressed one goes before its plain leftover."""
    found: dict[int, Path] = {}
    for path in sorted(folder.glob("transcripts-*.jsonl*"), key=lambda path: path.name):
        match = _NAME.fullmatch(path.name)
        if match is not None and (match[2] or number_of(path) not in found):
            found[number_of(path)] = path
    return [path for _, path in sorted(found.items())]


def number_of(segment: Path) -> int:
    """Return the number in a segment's name."""
    return int(segment.name.split("-")[1].split(".")[0])


def tidy(folder: Path, finished: Collection[tuple[str, int]]) -> None:
    """Bring in order what a killed run left behind.

    Args:
        folder: the run folder.
        finished: the rollouts that have an outcome; the others are dropped.

    Raises:
        RunError: the disk has no room for it; says how much is kept.
        RunDamaged: a segment that cannot be read.
    """
    for part in folder.glob("transcripts-*.part"):
        part.unlink()
    for plain in sorted(folder.glob("transcripts-*.jsonl")):
        if plain.with_name(plain.name + ".gz").exists():
            plain.unlink()
            continue
        try:
            seal(plain, finished)
        except OSError as error:
            raise stopped(plain, error) from error


def seal(path: Path, finished: Collection[tuple[str, int]] | None) -> None:
    """Compress a segment, whole or not at all, and remove the plain one.

    Args:
        path: the plain segment.
        finished: keep these rollouts alone and drop a torn line; None keeps every byte.

    Raises:
        OSError: the disk has no room for it; the plain one stays.
        RunDamaged: it is a link, or has a line longer than lines are.
    """
    if path.is_symlink():
        raise RunDamaged(f"{path}: expected a segment, found a symbolic link.")
    with open_plain(path) as plain:
        kept = _blocks(plain) if finished is None else _kept(plain, finished)
        try:
            write_whole(path.with_name(path.name + ".gz"), _packed(kept), sure=True)
        except ValueError as error:
            raise RunDamaged(f"{path}: {error}.") from None
    path.unlink()


def _blocks(plain: IO[bytes]) -> Iterator[bytes]:
    while block := plain.read(2**20):
        yield block


def _kept(plain: IO[bytes], finished: Collection[tuple[str, int]]) -> Iterator[bytes]:
    for line in bounded(plain):
        # Zeros at the end are what a crash of the whole machine may leave.
        line = line.rstrip(b"\0")
        if _belongs(line, finished):
            yield line if line.endswith(b"\n") else line + b"\n"


def _packed(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what makes up a gzip file of these bytes, the same for the same bytes."""
    packer = zlib.compressobj(_LEVEL, wbits=31)
    for block in blocks:
        yield packer.compress(block)
    yield packer.flush()


def _belongs(line: bytes, finished: Collection[tuple[str, int]]) -> bool:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(row, dict):
        return False
    task, rollout = row.get("task_id"), row.get("rollout")
    if not isinstance(task, str) or type(rollout) is not int:
        return "text" in row
    return (task, rollout) in finished


def lines_of(segment: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a segment as they are, each with its number from 1.

    Raises:
        RunDamaged: it cannot be read.
    """
    number = 0
    try:
        with unpacked(segment) as file:
            for number, line in enumerate(bounded(file), 1):
                yield number, line
    except ValueError as error:
        raise RunDamaged(f"{segment}:{number + 1}: {error}.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise RunDamaged(f"{segment}: {error}.") from None


@contextlib.contextmanager
def unpacked(segment: Path) -> Iterator[IO[bytes]]:
    """Give a segment's bytes, also where a run that goes on has compressed it meanwhile.

    Raises:
        OSError: there is none, or it is no file.
    """
    try:
        plain = open_plain(segment)
    except FileNotFoundError:
        if segment.suffix == ".gz":
            raise
        segment = segment.with_name(f"{segment.name}.gz")
        plain = open_plain(segment)
    with plain:
        yield plain if segment.suffix != ".gz" else cast("IO[bytes]", gzip.GzipFile(fileobj=plain))
