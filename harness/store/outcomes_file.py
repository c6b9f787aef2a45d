"""Files of outcomes: appended rows that survive a kill, and the run's settings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from agentenvs.errors import BadArgument, RunDamaged
from agentenvs.harness.store.durable import (
    LONGEST,
    OUTCOMES,
    LineWriter,
    bounded,
    open_plain,
    stopped,
    write_whole,
)
from agentenvs.harness.store.outcomes_rows import (
    Columns,
    RowError,
    check,
    decode,
    line_decoder,
    show,
)

__all__ = [
    "OutcomeWriter",
    "dump",
    "read_lines",
    "read_settings",
    "write_settings",
]

_SETTINGS = "run.json"
# How deeply settings may be nested; parsers of some versions of Python take far more.
_DEEPEST = 200
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class OutcomeWriter:
    """Append outcomes to a run folder so that a kill at any moment loses no finished one.

    Each row is one unbuffered write to a file opened for appending: when `write` returns, the
    operating system has it. Opening makes the folder, takes an exclusive lock (where the
    platform has `fcntl`; it goes with the process) and mends a last line that broke off. A row
    that does not fit on the disk is taken back, and the writer takes no further ones.

    Args:
        folder: the run folder.

    Attributes:
        mended: bytes of a broken last line that were cut off at opening.

    Raises:
        RunError: another process is writing to this folder, or the disk has no room for it.
        RunDamaged: the last line is longer than a line may be.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        where = Path(folder)
        self.path = where / OUTCOMES
        try:
            where.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise stopped(where, error) from error
        self._lines = LineWriter(self.path, lock=True)
        self.mended = self._lines.mended

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
            RunError: the writer is closed, or the disk did not take the row, now or before; says
                how much is kept.
        """
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
        self._lines.write(data)

    def close(self) -> None:
        """Close the file and give the lock back; harmless when repeated."""
        self._lines.close()

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
        with open_plain(path) as file:
            text = file.read(LONGEST + 1)
        if len(text) > LONGEST:
            raise ValueError(f"it has more than {LONGEST} bytes")
        found = decode(text.decode())
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
        RunError: the disk did not take it; the file is as it was before.
    """
    try:
        text = json.dumps(dict(settings), indent=2, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadArgument(f"Expected `settings` that JSON can hold: {error}.") from None
    path = Path(folder) / _SETTINGS
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Without it no row says anything.
        write_whole(path, [text.encode() + b"\n"], sure=True)
    except OSError as error:
        raise stopped(path, error) from error


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
    read = line_decoder()
    with open_plain(path) as file:
        try:
            for number, line in enumerate(bounded(file), 1):
                # Zeros at the end are what a crash of the whole machine may leave.
                bare = line.rstrip(b"\0") if line[-1:] == b"\0" else line
                try:
                    text = bare.decode("utf-8-sig" if number == 1 else "utf-8")
                    row = read(text) if not text.isspace() else None
                except (ValueError, RecursionError) as error:
                    if (run or columns.index) and not file.read(1):
                        return True
                    raise RowError(number, f"expected JSON: {error}") from None
                if row is not None:
                    columns.add(row, number)
        except ValueError as error:
            raise RowError(number + 1, str(error), form=False) from None
    return False


def dump(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line of JSON."""
    return _encode(row).encode("ascii") + b"\n"
