"""The outcome store: who succeeded where, in memory, in a run folder, and in JSON lines.

Needs the standard library and NumPy. A run folder holds `run.json` (the settings, one JSON
object) and `outcomes.jsonl` (a row for each rollout, appended as it ends):

    {"task_id": "base_3", "rollout": 0, "success": true, "score": 1.0, "reason": "", "seed": 7,
     "temperature": 0.7, "steps": 12, "parse": {"calls": 11}, "wall_s": 3.2}

`task_id`, `rollout` and `success` are required; the rest and any further key are optional, and
null means absent. A plain file may instead hold a row for each task,
`{"task_id": ..., "pass_flags": [true, false, ...]}`, rollouts numbered from 0.
"""

from __future__ import annotations

import contextlib
import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from pathlib import Path
from types import NoneType, TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from agentenvs.errors import BadArgument, RunDamaged, RunError, UnknownName, did_you_mean

if TYPE_CHECKING:
    from agentenvs.harness.tax.counts import Counts

__all__ = ["OutcomeWriter", "Outcomes", "read_settings", "write_settings"]

_OUTCOMES = "outcomes.jsonl"
_SETTINGS = "run.json"
_REQUIRED = ("task_id", "rollout", "success")
# Wall time says how busy the machine was, so that it alone never makes two rows disagree.
_NOT_COMPARED = "wall_s"
_MAX_FIELDS = 256
_MAX_ROLLOUT = 2**53
_FIELD_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "score": ((int, float, NoneType), "a number"),
    "temperature": ((int, float, NoneType), "a number"),
    "wall_s": ((int, float, NoneType), "a number"),
    "seed": ((int, NoneType), "an integer"),
    "steps": ((int, NoneType), "an integer"),
    "reason": ((str, NoneType), "a string"),
    "parse": ((dict, NoneType), "an object"),
}


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


_decode = json.JSONDecoder(parse_constant=_no_constant).decode


class _RowError(Exception):
    """A row that is no outcome; `line` is its number in the file, from 1."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


class _Builder:
    """Collects rows into columns."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self.task = array("q")
        self.rollout = array("q")
        self.success = bytearray()
        self.line = array("q")
        self.fields: dict[str, list[Any]] = {}
        self.marks: dict[str, Any] = {}

    def add(self, row: Any, line: int) -> None:
        if not isinstance(row, Mapping):
            raise _RowError(line, f"expected an object, got {_show(row)}")
        name = row.get("task_id")
        if type(name) is int:
            name = str(name)
        if not isinstance(name, str) or not name:
            raise _RowError(line, f"expected `task_id` to be a non-empty string, got {_show(name)}")
        if "pass_flags" in row:
            self._add_flags(name, row, line)
            return
        rollout, success = row.get("rollout"), row.get("success")
        if type(rollout) is not int or not 0 <= rollout < _MAX_ROLLOUT:
            why = f"expected `rollout` to be an integer of 0 or more, got {_show(rollout)}"
            raise _RowError(line, why)
        self._append(name, rollout, success, line, "success")
        at = len(self.task) - 1
        for key, value in row.items():
            if value is None or key in _REQUIRED:
                continue
            column = self.fields.get(key)
            if column is None:
                if len(self.fields) >= _MAX_FIELDS:
                    raise _RowError(line, f"expected at most {_MAX_FIELDS} different fields")
                column = self.fields[key] = []
            if len(column) < at:
                column.extend(repeat(None, at - len(column)))
            column.append(value)

    def _add_flags(self, name: str, row: Mapping[str, Any], line: int) -> None:
        flags = row["pass_flags"]
        if not isinstance(flags, list):
            raise _RowError(line, f"expected `pass_flags` to be a list, got {_show(flags)}")
        for rollout, flag in enumerate(flags):
            self._append(name, rollout, flag, line, "pass_flags")
        if row.get("scripted") is True:
            self.marks["scripted"] = True
        if isinstance(row.get("policy"), str):
            self.marks["policy"] = row["policy"]

    def _append(self, name: str, rollout: int, success: Any, line: int, field: str) -> None:
        if type(success) is not bool and not (type(success) is int and success in (0, 1)):
            raise _RowError(line, f"expected `{field}` to hold true or false, got {_show(success)}")
        self.task.append(self.index.setdefault(name, len(self.index)))
        self.rollout.append(rollout)
        self.success.append(success)
        self.line.append(line)

    def finish(self) -> None:
        """Bring the columns to one length, check their types, drop repeated rows."""
        total = len(self.task)
        for key, column in self.fields.items():
            column.extend(repeat(None, total - len(column)))
            if key in _FIELD_TYPES:
                types, expected = _FIELD_TYPES[key]
                if not set(types).issuperset(map(type, column)):
                    at = next(i for i, value in enumerate(column) if type(value) not in types)
                    why = f"expected `{key}` to be {expected}, got {_show(column[at])}"
                    raise _RowError(self.line[at], why)
        task, rollout = np.asarray(self.task), np.asarray(self.rollout)
        order = np.lexsort((rollout, task))
        one, two = order[:-1], order[1:]
        same = (task[one] == task[two]) & (rollout[one] == rollout[two])
        if not same.any():
            return
        keep = np.ones(total, dtype=np.bool_)
        for first, second in zip(one[same].tolist(), two[same].tolist(), strict=True):
            self._compare(first, second)
            keep[second] = False
        self._take(keep)

    def _compare(self, first: int, second: int) -> None:
        columns = {"success": self.success, **self.fields}
        for key, column in columns.items():
            if key != _NOT_COMPARED and column[first] != column[second]:
                name = next(n for n, i in self.index.items() if i == self.task[first])
                raise _RowError(
                    self.line[second],
                    f"task {name!r}, rollout {self.rollout[first]} was there before (row "
                    f"{self.line[first]}) with `{key}` {_show(column[first])}, "
                    f"now {_show(column[second])}",
                )

    def _take(self, keep: NDArray[np.bool_]) -> None:
        self.task = array("q", np.asarray(self.task)[keep].tolist())
        self.rollout = array("q", np.asarray(self.rollout)[keep].tolist())
        self.success = bytearray(np.asarray(self.success)[keep].tolist())
        kept = keep.tolist()
        for key, column in self.fields.items():
            self.fields[key] = [value for value, k in zip(column, kept, strict=True) if k]


class Outcomes:
    """Outcomes of rollouts: a table with a row for each (task, rollout).

    Args:
        rows: mappings as in the module's description, of either kind.
        settings: what the rollouts were made with, `run.json` in a run folder. Read here are
            `policy` (a string, or an object with `name`), `scripted` (true marks a policy that
            plays known solutions) and `task_ids` (their order becomes that of `counts()`).

    Raises:
        BadArgument: a row that is no outcome, or two rows of one rollout that disagree.
    """

    def __init__(
        self, rows: Iterable[Mapping[str, Any]] = (), settings: Mapping[str, Any] | None = None
    ) -> None:
        builder = _Builder()
        try:
            for number, row in enumerate(rows, 1):
                builder.add(row, number)
            builder.finish()
        except _RowError as bad:
            raise BadArgument(f"Row {bad.line}: {bad}.") from None
        self._fill(builder, settings or {})

    def _fill(self, builder: _Builder, settings: Mapping[str, Any], torn: bool = False) -> None:
        self.settings: dict[str, Any] = {**builder.marks, **settings}
        self.torn: bool = torn
        self._names: tuple[str, ...] = tuple(builder.index)
        self._task: NDArray[np.int64] = np.array(builder.task, dtype=np.int64)
        self._rollout: NDArray[np.int64] = np.array(builder.rollout, dtype=np.int64)
        self._success: NDArray[np.bool_] = np.array(builder.success, dtype=np.bool_)
        self._fields = builder.fields

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Outcomes:
        """Read a run folder, or a file of JSON lines of either kind.

        A last line that broke off (no JSON) is left out and noted in `.torn`. Of a file called
        `outcomes.jsonl` the `run.json` beside it is read too. A row that is there twice counts
        once.

        Raises:
            RunDamaged: nothing to read there, no `run.json` in the folder, a line that is no
                outcome, or two rows of one rollout that disagree; with file and line number.
        """
        where = Path(path)
        settings: Mapping[str, Any] | None = {}
        if where.is_dir():
            settings = read_settings(where)
            if settings is None:
                raise RunDamaged(f"{where}: expected a run folder with {_SETTINGS}, found none.")
            where /= _OUTCOMES
            if not where.exists():
                return cls((), settings)
        elif where.name == _OUTCOMES:
            settings = read_settings(where.parent)
        made = cls.__new__(cls)
        builder = _Builder()
        try:
            torn = _read_lines(where, builder)
            builder.finish()
        except _RowError as bad:
            raise RunDamaged(f"{where}:{bad.line}: {bad}.") from None
        except OSError as error:
            raise RunDamaged(f"{where}: {error.strerror or error}.") from None
        made._fill(builder, settings or {}, torn)
        return made

    def __len__(self) -> int:
        """Return the number of rollouts."""
        return len(self._task)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as dictionaries, in the order in which they were read."""
        columns = [(key, column) for key, column in self._fields.items()]
        rows = zip(self._task.tolist(), self._rollout.tolist(), self._success.tolist(), strict=True)
        for at, (task, rollout, success) in enumerate(rows):
            row = {"task_id": self._names[task], "rollout": rollout, "success": success}
            row.update((key, column[at]) for key, column in columns if column[at] is not None)
            yield row

    def __repr__(self) -> str:
        """Return policy and size."""
        tasks, policy = len(self.task_ids), self.policy
        return f"Outcomes({len(self)} rollouts of {tasks} tasks, policy={policy!r})"

    @property
    def task_ids(self) -> tuple[str, ...]:
        """The tasks with an outcome: in the order of the settings' `task_ids`, then as read."""
        planned = self.settings.get("task_ids")
        if not isinstance(planned, list | tuple):
            return self._names
        have = set(self._names)
        first = dict.fromkeys(name for name in planned if isinstance(name, str) and name in have)
        return (*first, *(name for name in self._names if name not in first))

    @property
    def policy(self) -> str | None:
        """The name of the policy that acted, where it is known."""
        policy = self.settings.get("policy")
        name = policy.get("name") if isinstance(policy, Mapping) else policy
        return name if isinstance(name, str) else None

    @property
    def scripted(self) -> bool:
        """Whether (some of) the outcomes come from a scripted policy, hence from no model."""
        policy = self.settings.get("policy")
        told = policy.get("scripted") if isinstance(policy, Mapping) else None
        named = (self.policy or "").split(":", 1)[0] == "scripted"
        return named or told is True or self.settings.get("scripted") is True

    def column(self, name: str) -> list[Any]:
        """Return one field of every row, None where a row lacks it, in the order of the rows.

        Raises:
            UnknownName: no row has it.
        """
        if name == "task_id":
            return [self._names[task] for task in self._task.tolist()]
        if name in ("rollout", "success"):
            values: list[Any] = (self._rollout if name == "rollout" else self._success).tolist()
            return values
        if name not in self._fields:
            known = (*_REQUIRED, *self._fields)
            raise UnknownName(f"No outcome has a field {name!r}.{did_you_mean(name, known)}")
        return list(self._fields[name])

    def keys(self) -> set[tuple[str, int]]:
        """Return the (task id, rollout) pairs that are there."""
        rows = zip(self._task.tolist(), self._rollout.tolist(), strict=True)
        return {(self._names[task], rollout) for task, rollout in rows}

    def counts(self) -> Counts:
        """Return successes and rollouts of each task, in the order of `task_ids`."""
        from agentenvs.harness.tax.counts import Counts

        size = len(self._names)
        n = np.bincount(self._task, minlength=size)
        c = np.bincount(self._task[self._success], minlength=size)
        ids = self.task_ids
        place = {name: at for at, name in enumerate(self._names)}
        order = np.array([place[name] for name in ids], dtype=np.intp)
        return Counts(ids, c[order].astype(np.int64), n[order].astype(np.int64))

    def pass_flags(self) -> dict[str, list[bool]]:
        """Return each task's successes in the order of its rollouts."""
        flags: dict[str, list[bool]] = {name: [] for name in self.task_ids}
        order = np.lexsort((self._rollout, self._task))
        rows = zip(self._task[order].tolist(), self._success[order].tolist(), strict=True)
        for task, success in rows:
            flags[self._names[task]].append(success)
        return flags

    def filter(
        self,
        tasks: Iterable[str] | None = None,
        predicate: Callable[[dict[str, Any]], bool] | None = None,
    ) -> Outcomes:
        """Return the rows of some tasks, or those that a predicate on the row holds for.

        Raises:
            UnknownName: one of the tasks has no outcome here.
        """
        wanted = None if tasks is None else set(tasks)
        for name in sorted(wanted or ()):
            if name not in self._names:
                raise UnknownName(f"No outcome of task {name!r}.{did_you_mean(name, self._names)}")
        rows = (row for row in self if wanted is None or row["task_id"] in wanted)
        kept = Outcomes((r for r in rows if predicate is None or predicate(r)), self.settings)
        kept.torn = self.torn
        return kept

    def merge(self, *others: Outcomes, renumber: bool = False) -> Outcomes:
        """Return the rows of several sets as one; a rollout that is in two of them counts once.

        The settings are those on which all agree; scripted outcomes stay marked.

        Args:
            others: outcomes to add.
            renumber: give every set rollout numbers of its own, for separate runs of the same
                tasks. A run that is given twice then counts twice.

        Raises:
            RunError: two sets disagree about one rollout; names it.
        """
        sets = (self, *others)
        builder = _Builder()
        start = 0
        try:
            for part in sets:
                for row in part:
                    row["rollout"] += start
                    builder.add(row, len(builder.task) + 1)
                if renumber and len(part):
                    start += int(part._rollout.max()) + 1
            builder.finish()
        except _RowError as bad:
            raise RunError(f"The outcomes to merge disagree: {bad}.") from None
        common = {
            key: value
            for key, value in self.settings.items()
            if all(key in o.settings and o.settings[key] == value for o in others)
        }
        if any(part.scripted for part in sets):
            common["scripted"] = True
        made = Outcomes.__new__(Outcomes)
        made._fill(builder, common, any(part.torn for part in sets))
        return made

    def write_jsonl(self, path: str | os.PathLike[str]) -> None:
        """Write a row for each rollout, whole or not at all. Settings are not written."""
        _write_whole(Path(path), (_dump(row) for row in self))

    def save_pass_flags(self, path: str | os.PathLike[str]) -> None:
        """Write a `{task_id, pass_flags}` row for each task, whole or not at all.

        Rows of scripted outcomes say so (`scripted`, `policy`), so that the mark survives.
        """
        mark: dict[str, Any] = {"scripted": True, "policy": self.policy} if self.scripted else {}
        rows = ({"task_id": t, "pass_flags": f, **mark} for t, f in self.pass_flags().items())
        _write_whole(Path(path), (_dump(row) for row in rows))


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
        self.path = where / _OUTCOMES
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
        number = int(rollout) if isinstance(rollout, np.integer) else rollout
        row = {"task_id": task_id, "rollout": number, "success": verdict, **given}
        check = _Builder()
        try:
            check.add(row, 1)
            check.finish()
            data = _dump(row)
        except _RowError as bad:
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
        found = _decode(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise RunDamaged(f"{path}: expected a JSON object: {error}.") from None
    if not isinstance(found, dict):
        raise RunDamaged(f"{path}: expected a JSON object, got {_show(found)}.")
    return found


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
    _write_whole(Path(folder) / _SETTINGS, [text.encode() + b"\n"])


def _read_lines(path: Path, builder: _Builder) -> bool:
    """Read rows; return whether the last line broke off."""
    number = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                row = _decode(text) if not text.isspace() else None
            except (ValueError, RecursionError) as error:
                if not file.read(1):
                    return True
                raise _RowError(number, f"expected JSON: {error}") from None
            if row is not None:
                builder.add(row, number)
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
            _decode(text)
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


def _write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.writelines(chunks)
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _dump(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
