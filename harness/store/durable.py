"""Files that outlive kills and full disks: lines appended, files written whole, lines read."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, BinaryIO

from agentenvs.errors import RunDamaged, RunError
from agentenvs.harness.store.outcomes_rows import decode

__all__ = [
    "LONGEST",
    "OUTCOMES",
    "LineWriter",
    "at_rest",
    "bounded",
    "count_lines",
    "open_plain",
    "replacing",
    "stopped",
    "write_whole",
]

#: the name of a run's table of outcomes, whose lines tell how much of a run is kept
OUTCOMES = "outcomes.jsonl"
#: most bytes of a line; files may come from anywhere, and a line is read into memory whole
LONGEST = 64 * 2**20

_BLOCK = 65536
# A link in a run folder may lead anywhere: what is written never goes through one.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class LineWriter:
    """Append lines of JSON to a file so that a kill at any moment loses none that was taken.

    Each line is one unbuffered write to a file opened for appending: when `write` returns, the
    operating system has it. Opening mends a last line that broke off. A line that does not fit
    on the disk is taken back, and after that no further one is taken.

    Args:
        path: the file; made where it is missing, in a folder that is there.
        lock: take an exclusive lock for as long as the file is open (where the platform has
            `fcntl`; it goes with the process).
        fresh: the file must not be there yet.

    Attributes:
        mended: bytes of a broken last line that were cut off at opening.
        size: bytes in the file.

    Raises:
        RunError: another process has the lock, the file cannot be opened, or it is a link.
        RunDamaged: its last line is longer than `LONGEST`.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, lock: bool = False, fresh: bool = False
    ) -> None:
        self.path = Path(path)
        self.mended = self.size = 0
        self._failed: BaseException | None = None
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_LINK | _BINARY
        try:
            self._fd = os.open(self.path, flags | (os.O_EXCL if fresh else 0), 0o666)
        except OSError as error:
            raise stopped(self.path, error) from error
        try:
            if lock:
                _lock(self._fd, self.path.parent)
            self.mended = _mend(self._fd, self.path)
            self.size = os.fstat(self._fd).st_size
        except OSError as error:
            self.close()
            raise stopped(self.path, error) from error
        except BaseException:
            self.close()
            raise

    @property
    def failed(self) -> bool:
        """Whether a line could not be written, so that no further one is taken."""
        return self._failed is not None

    def write(self, data: bytes) -> None:
        """Append one or more whole lines, all of them or none.

        Raises:
            RunError: the writer is closed, a line is longer than `LONGEST`, or the disk did not
                take it, now or before; says how much is kept.
        """
        if self._fd < 0:
            raise RunError(f"{self.path}: the writer is closed.")
        if self._failed is not None:
            raise stopped(self.path, self._failed) from self._failed
        if len(data) > LONGEST and max(map(len, data.splitlines())) >= LONGEST:
            raise RunError(f"{self.path}: expected lines of less than {LONGEST} bytes.")
        try:
            _write_all(self._fd, data)
        except BaseException as error:
            self._failed = error
            # Where even this fails, the torn line is the last one, and the next opening cuts it.
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.size)
            if isinstance(error, OSError):
                raise stopped(self.path, error) from error
            raise
        self.size += len(data)

    def close(self) -> None:
        """Close the file and give the lock back; harmless when repeated.

        Raises:
            RunError: the file system tells only now that it did not take what was written.
        """
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            try:
                os.close(fd)
            except OSError as error:
                raise stopped(self.path, error) from error


def stopped(path: Path, error: BaseException) -> RunError:
    """Return the error of a run whose file could not be written: why, and how much is kept."""
    why, until = str(error) or type(error).__name__, "the file can be written"
    if isinstance(error, OSError):
        why = error.strerror or why
        if error.errno == errno.ELOOP:
            why = "a run writes to no file through a symbolic link"
        elif error.errno in (errno.ENOSPC, errno.EDQUOT):
            until = "there is room"
    kept = ""
    with contextlib.suppress(OSError):
        kept = f" {count_lines(path.with_name(OUTCOMES))} finished rollouts are kept."
    return RunError(f"{path}: {why}.{kept} The same command goes on from there once {until}.")


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading, and nothing that is no file, such as a pipe that never ends.

    Raises:
        OSError: there is none, or it is something else.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(0, "expected a file")
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def count_lines(path: Path) -> int:
    """Return how many lines of a file have an end.

    Raises:
        OSError: it cannot be read.
    """
    lines = 0
    with open_plain(path) as file:
        while block := file.read(2**20):
            lines += block.count(b"\n")
    return lines


def bounded(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file, none of them longer than `LONGEST`.

    Raises:
        ValueError: a line is longer.
    """
    while line := file.readline(LONGEST):
        if len(line) == LONGEST and not line.endswith(b"\n"):
            raise ValueError(f"expected lines of less than {LONGEST} bytes")
        yield line


def write_whole(path: Path, chunks: Iterable[bytes], sure: bool = False) -> None:
    """Write a file so that it is there whole or not at all.

    What replaces another file is on the disk before it does, so that a power cut leaves one of
    the two.

    Args:
        path: the file.
        chunks: what it will hold.
        sure: wait for the disk though nothing is replaced, since something goes away once the
            file is there, or all else hangs on it.
    """
    with replacing(path, sure) as fd:
        block = bytearray()
        for chunk in chunks:
            block += chunk
            if len(block) >= _BLOCK:
                _write_all(fd, bytes(block))
                block.clear()
        _write_all(fd, bytes(block))


@contextlib.contextmanager
def replacing(path: Path, sure: bool = False) -> Iterator[int]:
    """Give a descriptor of a file that takes the place of another once the block is left.

    Args:
        path: the other file, which need not be there. Should the block fail, nothing changes.
        sure: as for `write_whole`.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
    with contextlib.suppress(FileNotFoundError):
        part.unlink()
    try:
        fd = os.open(part, flags, 0o666)
        try:
            yield fd
            if sure or path.exists():
                os.fsync(fd)
        finally:
            os.close(fd)
        part.replace(path)
        if sure:
            _settle(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _settle(folder: Path) -> None:
    """Wait until the disk knows which files a folder has, as far as this system can wait for it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _BINARY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        # A disk that is nearly full takes a part, and says why only when asked again.
        took = os.write(fd, data[written:] if written else data)
        if took <= 0:
            raise OSError(0, f"only {written} of {len(data)} bytes could be written")
        written += took


def _mend(fd: int, path: Path) -> int:
    """Cut a last line that is no JSON, end one that is; return the bytes cut.

    Zeros at the end, which a file may have after a crash of the whole machine, are cut as well.
    """
    size = os.lseek(fd, 0, os.SEEK_END)
    end = size
    block = b""
    while end > 0 and not block:
        start = max(0, end - _BLOCK)
        block = _read_at(fd, start, end).rstrip(b"\0")
        end = start + len(block)
    parts = [block]
    start = end - len(block)
    while start > 0 and b"\n" not in parts[-1][: -1 if len(parts) == 1 else None]:
        if end - start > LONGEST:
            raise RunDamaged(f"{path}: expected lines of less than {LONGEST} bytes.")
        before = max(0, start - _BLOCK)
        parts.append(_read_at(fd, before, start))
        start = before
    tail = b"".join(reversed(parts))
    last = tail[tail.rfind(b"\n", 0, max(0, len(tail) - 1)) + 1 :]
    try:
        text = last.decode("utf-8-sig")
        if text and not text.isspace():
            decode(text)
    except (ValueError, RecursionError):
        end -= len(last)
        last = b""
    if end < size:
        os.ftruncate(fd, end)
    if last and not last.endswith(b"\n"):
        _write_all(fd, b"\n")
    return size - end


def _read_at(fd: int, start: int, end: int) -> bytes:
    os.lseek(fd, start, os.SEEK_SET)
    return os.read(fd, end - start)


@contextlib.contextmanager
def at_rest(folder: Path) -> Iterator[None]:
    """Keep writers out of a run folder while it is read.

    Raises:
        RunError: one is writing to it.
    """
    with contextlib.ExitStack() as held:
        try:
            fd = os.open(folder / OUTCOMES, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
        except OSError:
            # Nothing has come out yet, or what reads it says what is wrong.
            pass
        else:
            held.callback(os.close, fd)
            _lock(fd, folder, shared=True)
        yield


def _lock(fd: int, folder: Path, shared: bool = False) -> None:
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        or_read = "" if shared else ", or a merge or a replay reads it"
        raise RunError(f"{folder}: another run is writing to this folder{or_read}.") from None
    except OSError:
        # Some file systems have no locks; what is only read needs none.
        if not shared:
            raise
