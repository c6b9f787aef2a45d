"""Files of outcomes: appended rows that survive a kill, and the run's settings."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from agentenvs.errors import BadArgument, RunDamaged, RunError
from agentenvs.harness.outcomes_rows import Columns, RowError, check, decode, show

__all__ = [
    "OUTCOMES",
    "OutcomeWriter",
    "dump",
    "read_lines",
    "read_settings",
    "write_settings",
    "write_whole",
]

OUTCOMES = "outcomes.jsonl"
_SETTINGS = "run.json"
# How deeply settings may be nested; parsers of some versions of Python take far more.
_DEEPEST = 200
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class OutcomeWriter:
    """Append outcomes to a run folder so that a kill at any moment loses no finished one.

    Each row is one unbuffered write to a file opened for appending: when `write` returns, the
    operating system has it. Opening makes the folder, takes an exclusive lock (where the
    platform has `fcntl`; it goes with the process) and mends a last line that broke off.

    Args:
        folder: the run folder.

    Attributes:
        mended: bytes of a broken last line that were cut off at opening.

    Raises:
        RunError: another process is writing to this folder.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        where = Path(folder)
        where.mkdir(parents=True, exist_ok=True)
        self.path = where / OUTCOMES
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._fd = os.open(self.path, flags, 0o666)
        try:
            _lock(self._fd, where)
            self.mended = _mend(self._fd)
        except BaseException:
            self.close()
            raise

    def write(self, task_id: str, rollout: int, success: bool, **fields: Any) -> None:
        """Append one outcome.

        Args:
            task_id: the task.
            rollout: its number among the task's rollouts, from 0.
            success: the verdict.
            fields: `score`, `reason`, `seed`, `temperature`, `steps`, `parse`, `wall_s`, or
                anything else that JSON can hold; None leaves a field out.

        Raises:
            BadArgument: a value of the wrong type; nothing is written.
            RunError: the writer is closed, or the disk took only a part (which is taken back).
        """
        if self._fd < 0:
            raise RunError(f"{self.path}: the writer is closed.")
        given = {key: value for key, value in fields.items() if value is not None}
        verdict = bool(success) if isinstance(success, np.bool_) else success
        if not isinstance(verdict, bool):
            raise BadArgument(f"Expected `success` to be true or false, got {show(success)}.")
        number = int(rollout) if isinstance(rollout, np.integer) else rollout
        row = {"task_id": task_id, "rollout": number, "success": verdict, **given}
        try:
            check(row)
            data = dump(row)
        except RowError as bad:
            raise BadArgument(f"Outcome of task {task_id!r}: {bad}.") from None
        except (TypeError, ValueError, RecursionError) as error:
            raise BadArgument(f"Outcome of task {task_id!r} is no JSON: {error}.") from None
        written = os.write(self._fd, data)
        if written != len(data):
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
            raise RunError(f"{self.path}: only {written} of {len(data)} bytes could be written.")

    def close(self) -> None:
        """Close the file and give the lock back; harmless when repeated."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the writer."""
        self.close()


def read_settings(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the settings in a run folder's `run.json`, None where there is no such file.

    Raises:
        RunDamaged: it is there and no JSON object.
    """
    path = Path(folder) / _SETTINGS
    try:
        found = decode(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise RunDamaged(f"{path}: expected a JSON object: {error}.") from None
    if not isinstance(found, dict):
        raise RunDamaged(f"{path}: expected a JSON object, got {show(found)}.")
    if _too_deep(found):
        raise RunDamaged(f"{path}: expected settings nested up to {_DEEPEST} deep.")
    return found


def _too_deep(value: Any) -> bool:
    """Return whether a value is nested so deeply that reading it through may not end well."""
    level = [value]
    for _ in range(_DEEPEST):
        inner = [one.values() if isinstance(one, dict) else one for one in level]
        level = [one for part in inner for one in part if isinstance(one, dict | list)]
        if not level:
            return False
    return True


def write_settings(folder: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
    """Write a run folder's `run.json`, whole or not at all.

    Raises:
        BadArgument: something in the settings is no JSON.
    """
    try:
        text = json.dumps(dict(settings), indent=2, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadArgument(f"Expected `settings` that JSON can hold: {error}.") from None
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_whole(Path(folder) / _SETTINGS, [text.encode() + b"\n"])


def read_lines(path: Path, columns: Columns, run: bool) -> bool:
    """Read the rows of a file; return whether its last line broke off.

    Args:
        path: the file.
        columns: where the rows go.
        run: whether the file belongs to a run folder, where a kill may have broken off even the
            first line. Of any other file a first line that is no JSON tells that it is another
            kind of file.

    Raises:
        RowError: a line that is no outcome.
        OSError: the file cannot be read.
    """
    number = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                row = decode(text) if not text.isspace() else None
            except (ValueError, RecursionError) as error:
                if (run or columns.index) and not file.read(1):
                    return True
                raise RowError(number, f"expected JSON: {error}") from None
            if row is not None:
                columns.add(row, number)
    return False


def _mend(fd: int) -> int:
    """Cut a last line that is no JSON, end one that is; return the bytes cut."""
    size = end = os.lseek(fd, 0, os.SEEK_END)
    tail = b""
    while end > 0 and b"\n" not in tail[:-1]:
        start = max(0, end - 65536)
        os.lseek(fd, start, os.SEEK_SET)
        tail = os.read(fd, end - start) + tail
        end = start
    last = tail[tail.rfind(b"\n", 0, max(0, len(tail) - 1)) + 1 :]
    try:
        text = last.decode("utf-8-sig")
        if not text.isspace() and text:
            decode(text)
    except (ValueError, RecursionError):
        os.ftruncate(fd, size - len(last))
        return len(last)
    if last and not last.endswith(b"\n"):
        os.write(fd, b"\n")
    return 0


def _lock(fd: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(f"{folder}: another run is writing to this folder.") from None


def write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file so that it is there whole or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.writelines(chunks)
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def dump(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line of JSON."""
    return _encode(row).encode("ascii") + b"\n"
