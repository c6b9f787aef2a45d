"""Rows of outcomes, checked and gathered into columns."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Mapping
from itertools import repeat
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FORMS",
    "REQUIRED",
    "Columns",
    "RowError",
    "check",
    "decode",
    "line_decoder",
    "show",
]

#: the fields that every row has
REQUIRED = ("task_id", "rollout", "success")
#: what rows of scripted outcomes carry, so that the mark goes wherever a row goes
_MARKS = ("scripted", "policy")
#: what a row may look like, for messages
FORMS = (
    "A row is {task_id, rollout, success} for a rollout, or {task_id, pass_flags} or "
    "{task_id, c, n} (c successes in n rollouts) for a task."
)
# They say how busy the machine was and how often what surrounds it failed, so that they alone
# never make two rows disagree.
_NOT_COMPARED = frozenset({"attempt", "wall_s"})
_MAX_FIELDS = 256
_MAX_ROLLOUT = 2**53
_MOST_SHARED = 2**14
_INTEGERS = frozenset({int})
# Each rollout takes 25 bytes; a count in a file must not ask for more than memory has.
_MAX_COUNTED = 20_000_000
_FIELD_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "score": ((int, float, NoneType), "a number"),
    "temperature": ((int, float, NoneType), "a number"),
    "wall_s": ((int, float, NoneType), "a number"),
    "seed": ((int, NoneType), "an integer"),
    "steps": ((int, NoneType), "an integer"),
    "attempt": ((int, NoneType), "an integer"),
    "reason": ((str, NoneType), "a string"),
    "parse": ((dict, NoneType), "an object"),
}


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


#: reads JSON text, and refuses NaN and infinities
decode = json.JSONDecoder(parse_constant=_no_constant).decode


def line_decoder() -> Callable[[str], Any]:
    """Return what reads lines as `decode` does, and makes equal numbers of different lines one."""
    floats = _Shared(float)
    whole = json.JSONDecoder(parse_constant=_no_constant, parse_float=floats.__getitem__)

    def read(text: str) -> Any:
        if text.startswith("{"):
            value, end = whole.raw_decode(text)
            if end == len(text) - 1 and text.endswith("\n"):
                return value
        return whole.decode(text)

    return read


class RowError(Exception):
    """A row that is no outcome.

    Attributes:
        line: its number in the file, from 1.
        hint: what rows look like, with a space before it; "" where that is not what is wrong.
    """

    def __init__(self, line: int, why: str, *, form: bool = True) -> None:
        super().__init__(why)
        self.line = line
        self.hint = f" {FORMS}" if form else ""


class _Shared(dict[str, Any]):
    """Values by a text, each made once, the first ones alone where there are very many.

    Args:
        make: makes a value from its text.
    """

    def __init__(self, make: Callable[[str], Any] = str) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> Any:
        """Return the value of a text that was not there before."""
        value = self._make(text)
        if len(self) < _MOST_SHARED:
            self[text] = value
        return value


class _Counts:
    """Objects of integers with the same keys, each there once.

    Args:
        keys: the keys.
    """

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = keys
        self._known: dict[tuple[int, ...], dict[str, int]] = {}

    def share(self, value: Any) -> Any:
        """Return an equal object that is there already, or this one, which then is."""
        if type(value) is not dict or tuple(value) != self._keys:
            return value
        counts = tuple(value.values())
        # True equals 1, and is another value.
        if not _INTEGERS.issuperset(map(type, counts)):
            return value
        if len(self._known) >= _MOST_SHARED:
            return self._known.get(counts, value)
        return self._known.setdefault(counts, value)


class Columns:
    """Rows as they come in, column by column.

    Attributes:
        index: task id -> its number, in the order of first appearance.
        task, rollout, success, line: the row's task number, rollout, verdict and line.
        fields: further fields, None where a row lacks one.
        marks: settings that rows carry along.
    """

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self.task = array("q")
        self.rollout = array("q")
        self.success = bytearray()
        self.line = array("q")
        self.fields: dict[str, list[Any]] = {}
        self.marks: dict[str, Any] = {}
        # What the last row looked like, and where such rows go.
        self._shape: tuple[str, ...] = ()
        self._places: list[tuple[Callable[[Any], None], Callable[[Any], Any] | None]] = []
        self._texts = _Shared()
        self._counts: dict[tuple[str, ...], _Counts] = {}

    def add(self, row: Any, line: int) -> None:
        """Add a row of any kind.

        Raises:
            RowError: it is no outcome.
        """
        if type(row) is dict and tuple(row) == self._shape and self._add_alike(row, line):
            return
        self._shape = ()
        if not isinstance(row, Mapping):
            raise RowError(line, f"expected an object, got {show(row)}")
        name = _task(row, line)
        if "pass_flags" in row:
            self._add_flags(name, row, line)
            return
        if "success" not in row and "c" in row and "n" in row:
            self._add_counts(name, row, line)
            return
        self._append(name, _rollout(row, line), row.get("success"), line, "success")
        at = len(self.task) - 1
        known: tuple[str, ...] = REQUIRED
        if row.get("scripted") is True:
            self._mark(row)
            known += _MARKS
        for key, value in row.items():
            if value is None or key in known:
                continue
            column = self.fields.get(key)
            if column is None:
                if len(self.fields) >= _MAX_FIELDS:
                    raise RowError(
                        line, f"expected at most {_MAX_FIELDS} different fields", form=False
                    )
                column = self.fields[key] = []
            if len(column) < at:
                column.extend(repeat(None, at - len(column)))
            column.append(value)
        keys = tuple(row)
        if keys[:3] == REQUIRED and known is REQUIRED and None not in row.values():
            self._shape = keys
            self._places = [(self.fields[key].append, self._shared(row[key])) for key in keys[3:]]

    def _add_alike(self, row: dict[str, Any], line: int) -> bool:
        """Add a row that looks like the last one; return whether nothing is wrong with it."""
        name, rollout, success, *values = row.values()
        right = type(name) is str and name and type(rollout) is int and type(success) is bool
        if not right or not 0 <= rollout < _MAX_ROLLOUT:
            return False
        self.task.append(self.index.setdefault(name, len(self.index)))
        self.rollout.append(rollout)
        self.success.append(success)
        self.line.append(line)
        for (append, share), value in zip(self._places, values, strict=True):
            append(value if share is None else share(value))
        return True

    def _shared(self, value: Any) -> Callable[[Any], Any] | None:
        """Return what finds, for values like this one, an equal one that is there already.

        A million rows have few different reasons and counts, and would hold each a million times.
        """
        if type(value) is str:
            texts = self._texts
            return lambda one: texts[one] if type(one) is str else one
        if type(value) is dict and _INTEGERS.issuperset(map(type, value.values())):
            return self._counts.setdefault(tuple(value), _Counts(tuple(value))).share
        return None

    def _add_flags(self, name: str, row: Mapping[str, Any], line: int) -> None:
        flags = row["pass_flags"]
        if not isinstance(flags, list):
            raise RowError(line, f"expected `pass_flags` to be a list, got {show(flags)}")
        for rollout, flag in enumerate(flags):
            self._append(name, rollout, flag, line, "pass_flags")
        self._mark(row)

    def _add_counts(self, name: str, row: Mapping[str, Any], line: int) -> None:
        c, n = row["c"], row["n"]
        if type(c) is not int or type(n) is not int or not 0 <= c <= n:
            got = f"c = {show(c)} with n = {show(n)}"
            raise RowError(line, f"expected integers 0 <= `c` <= `n`, got {got}")
        if len(self.task) + n > _MAX_COUNTED:
            why = f"expected at most {_MAX_COUNTED} rollouts in all, got `n` {show(n)}"
            raise RowError(line, why, form=False)
        if n:
            self.task.extend(repeat(self.index.setdefault(name, len(self.index)), n))
            self.rollout.extend(range(n))
            self.success.extend(b"\1" * c + b"\0" * (n - c))
            self.line.extend(repeat(line, n))
        self._mark(row)

    def _mark(self, row: Mapping[str, Any]) -> None:
        if row.get("scripted") is True:
            self.marks["scripted"] = True
        if isinstance(row.get("policy"), str):
            self.marks["policy"] = row["policy"]

    def _append(self, name: str, rollout: int, success: Any, line: int, field: str) -> None:
        if type(success) is not bool and not (type(success) is int and success in (0, 1)):
            raise RowError(line, f"expected `{field}` to hold true or false, got {show(success)}")
        self.task.append(self.index.setdefault(name, len(self.index)))
        self.rollout.append(rollout)
        self.success.append(success)
        self.line.append(line)

    def finish(self) -> None:
        """Bring the columns to one length, check their types, drop repeated rows.

        Raises:
            RowError: a field of the wrong type, or two rows of one rollout that disagree.
        """
        total = len(self.task)
        for key, column in self.fields.items():
            column.extend(repeat(None, total - len(column)))
            if key in _FIELD_TYPES:
                types, _ = _FIELD_TYPES[key]
                if not set(types).issuperset(map(type, column)):
                    at = next(i for i, value in enumerate(column) if type(value) not in types)
                    raise _wrong_type(key, column[at], self.line[at])
        if total < 2:
            return
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
            if key not in _NOT_COMPARED and column[first] != column[second]:
                name = next(n for n, i in self.index.items() if i == self.task[first])
                raise RowError(
                    self.line[second],
                    f"task {name!r}, rollout {self.rollout[first]} was there before (row "
                    f"{self.line[first]}) with `{key}` {show(column[first])}, "
                    f"now {show(column[second])}",
                    form=False,
                )

    def _take(self, keep: NDArray[np.bool_]) -> None:
        self.task = array("q", np.asarray(self.task)[keep].tolist())
        self.rollout = array("q", np.asarray(self.rollout)[keep].tolist())
        self.success = bytearray(np.asarray(self.success)[keep].tolist())
        kept = keep.tolist()
        for key, column in self.fields.items():
            self.fields[key] = [value for value, k in zip(column, kept, strict=True) if k]


def check(row: Mapping[str, Any], line: int = 1) -> None:
    """Check the row of one rollout by itself, `success` excepted.

    Raises:
        RowError: it is no outcome, or a field has the wrong type.
    """
    _task(row, line)
    _rollout(row, line)
    if len(row) > _MAX_FIELDS:
        raise RowError(line, f"expected at most {_MAX_FIELDS} different fields", form=False)
    if "pass_flags" in row:
        raise RowError(line, "`pass_flags` belongs to rows of whole tasks")
    for key, (types, _) in _FIELD_TYPES.items():
        if type(row.get(key)) not in types:
            raise _wrong_type(key, row[key], line)


def _task(row: Mapping[str, Any], line: int) -> str:
    name = row.get("task_id")
    if type(name) is int:
        name = str(name)
    if not isinstance(name, str) or not name:
        raise RowError(line, f"expected `task_id` to be a non-empty string, got {show(name)}")
    return name


def _rollout(row: Mapping[str, Any], line: int) -> int:
    rollout = row.get("rollout")
    if type(rollout) is not int or not 0 <= rollout < _MAX_ROLLOUT:
        raise RowError(
            line, f"expected `rollout` to be an integer of 0 or more, got {show(rollout)}"
        )
    return rollout


def _wrong_type(key: str, value: object, line: int) -> RowError:
    why = f"expected `{key}` to be {_FIELD_TYPES[key][1]}, got {show(value)}"
    return RowError(line, why, form=False)


def show(value: object) -> str:
    """Return a value as it may stand in a message: one that is long is cut."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
