"""Parquet files of outcomes, void tries and transcripts, for pandas, DuckDB, Polars and others.

A file holds one table and, in its metadata under `agentenvs.settings`, the run's settings as
JSON. Known columns have types of their own; whatever else a row carries is JSON text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import agentenvs
from agentenvs.errors import AgentEnvsError, RunDamaged
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.store.durable import replacing
from agentenvs.harness.store.transcripts import read_transcripts

__all__ = ["write", "write_transcripts", "write_voids"]

# Rows that are compressed and can be skipped together.
_GROUP = 2**17
# Steps are long: as many of them as have this much text go together.
_GROUP_CHARACTERS = 2**25
_INT64, _UINT64 = range(-(2**63), 2**63), range(2**64)
_MOST_COLUMNS = 256
_NUMBERS = ("score", "temperature", "wall_s")
_INTEGERS = ("seed", "steps", "new_tokens", "attempt")
_STEP_COLUMNS = {
    "task_id": "string",
    "rollout": "int64",
    "step": "int64",
    "text": "string",
    "news": "string",
    "parse": "string",
    "finish_reason": "string",
    "reward": "float64",
    "opening": "string",
}


def write(outcomes: Outcomes, path: str | os.PathLike[str]) -> int:
    """Write a row for each rollout, whole or not at all.

        >>> write(Outcomes.load("runs/wide"), "wide.parquet")

    Columns are `task_id`, `rollout`, `success`, `score`, `reason`, `seed`, `temperature`,
    `steps`, `new_tokens`, `wall_s`, `attempt`, as far as the rows have them, and `parse.calls`
    and the like, null where a row lacks one. Integers are 64 bits wide, without a sign where
    one needs that; such as fit in neither way, and all further fields, are JSON text. Rows of
    scripted outcomes say so (`scripted`, `policy`).

    Args:
        outcomes: the outcomes.
        path: the file; what is there is replaced.

    Returns:
        How many rows.

    Raises:
        AgentEnvsError: pyarrow is not installed.
        OSError: the file cannot be written.
    """
    arrow = _arrow()
    columns: dict[str, Any] = {
        "task_id": _texts(arrow, outcomes.column("task_id")),
        "rollout": _integers(arrow, outcomes.column("rollout")),
        "success": arrow.array(outcomes.column("success"), arrow.bool_()),
    }
    extra: dict[str, Any] = {}
    for name in outcomes.fields:
        values = outcomes.column(name)
        if name == "parse":
            continue
        if name in _NUMBERS:
            columns[name] = _numbers(arrow, values)
        elif name == "reason":
            columns[name] = _texts(arrow, values)
        elif name in _INTEGERS:
            columns[name] = _integers(arrow, values)
        else:
            extra[name] = _json(arrow, values)
    if "parse" in outcomes.fields:
        columns |= _parse(arrow, outcomes.column("parse"))
    if outcomes.scripted:
        columns["scripted"] = arrow.array([True] * len(outcomes), arrow.bool_())
        columns["policy"] = arrow.array([outcomes.policy] * len(outcomes), arrow.string())
    for name, values in extra.items():
        name = _clean(name)
        while name in columns:
            name += "_"
        columns[name] = values
    table = arrow.table(columns).replace_schema_metadata(_about(outcomes.settings))
    _write(arrow, path, table.schema, [table])
    return len(outcomes)


def write_voids(outcomes: Outcomes, path: str | os.PathLike[str]) -> int:
    """Write a row for each void try, whole or not at all; the same errors as `write`.

    Columns are `task_id`, `rollout`, `attempt`, `reason`, `error` and `wall_s`.
    """
    arrow = _arrow()
    rows = outcomes.voids
    columns = {
        name: make(arrow, [row[name] for row in rows])
        for name, make in (
            ("task_id", _texts),
            ("rollout", _integers),
            ("attempt", _integers),
            ("reason", _texts),
            ("error", _texts),
            ("wall_s", _numbers),
        )
    }
    table = arrow.table(columns).replace_schema_metadata(_about(outcomes.settings))
    _write(arrow, path, table.schema, [table])
    return len(rows)


def write_transcripts(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> int:
    """Write a row for each step of a run folder's transcripts, whole or not at all.

    Columns are `task_id`, `rollout`, `step` (from 0), `text`, `news` (messages as JSON text),
    `parse` (JSON text), `finish_reason`, `reward` and `opening` (messages as JSON text, where
    `step` is 0). The transcripts are read and written piece by piece.

    Returns:
        How many rows.

    Raises:
        RunDamaged: no run folder, or transcripts that cannot be read.
        AgentEnvsError: pyarrow is not installed.
        OSError: the file cannot be written.
    """
    arrow = _arrow()
    settings = Outcomes.load(folder).settings
    fields = [(name, arrow.type_for_alias(kind)) for name, kind in _STEP_COLUMNS.items()]
    schema = arrow.schema(fields, metadata=_about(settings))
    rows = 0

    def tables() -> Iterator[Any]:
        nonlocal rows
        for steps in _groups(_steps(folder)):
            rows += len(steps)
            try:
                yield arrow.Table.from_pylist(steps, schema)
            except (arrow.ArrowException, TypeError, OverflowError) as error:
                raise RunDamaged(f"{folder}: a step is none: {error}.") from None

    _write(arrow, path, schema, tables())
    return rows


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise AgentEnvsError(
            f"Parquet files need pyarrow ({error}): pip install 'agentenvs[parquet]'."
        ) from None
    return pyarrow


def _write(arrow: Any, path: str | os.PathLike[str], schema: Any, tables: Iterable[Any]) -> None:
    with (
        replacing(Path(path)) as fd,
        os.fdopen(fd, "wb", closefd=False) as file,
        arrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for table in tables:
            writer.write_table(table, row_group_size=_GROUP)


def _about(settings: Mapping[str, Any]) -> dict[str, str]:
    return {
        "agentenvs": agentenvs.__version__,
        "agentenvs.settings": json.dumps(settings, default=repr),
    }


def _steps(folder: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    for row in read_transcripts(folder):
        for number, step in enumerate(row["steps"]):
            yield {
                "task_id": _clean(row["task_id"]),
                "rollout": row["rollout"],
                "step": number,
                "text": _clean(step["text"]),
                "news": json.dumps(step["news"]),
                "parse": json.dumps(step["parse"]),
                "finish_reason": _clean(step["finish_reason"]),
                "reward": step["reward"],
                "opening": None if number else json.dumps(row["opening"]),
            }


def _groups(steps: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    held = 0
    for step in steps:
        group.append(step)
        held += sum(len(value) for value in step.values() if isinstance(value, str))
        if held >= _GROUP_CHARACTERS or len(group) >= _GROUP:
            yield group
            group, held = [], 0
    if group:
        yield group


def _clean(text: Any) -> Any:
    """Return a text as UTF-8 can hold it: lone surrogates, which models write, as escapes."""
    if not isinstance(text, str) or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def _texts(arrow: Any, values: Sequence[str | None]) -> Any:
    try:
        return arrow.array(values, arrow.string())
    except UnicodeEncodeError:
        return arrow.array(list(map(_clean, values)), arrow.string())


def _numbers(arrow: Any, values: Sequence[float | None]) -> Any:
    try:
        return arrow.array(values, arrow.float64())
    except (arrow.ArrowException, OverflowError):
        # Integers that no float equals.
        return _json(arrow, values)


def _integers(arrow: Any, values: Sequence[Any]) -> Any:
    kinds = set(map(type, values)) - {type(None)}
    if kinds <= {int}:
        there = [one for one in values if one is not None]
        low, high = min(there, default=0), max(there, default=0)
        for bounds, kind in ((_INT64, arrow.int64()), (_UINT64, arrow.uint64())):
            if low in bounds and high in bounds:
                return arrow.array(values, kind)
    return _json(arrow, values)


def _json(arrow: Any, values: Sequence[Any]) -> Any:
    dump = json.JSONEncoder(separators=(",", ":"), default=repr).encode
    return arrow.array([None if one is None else dump(one) for one in values], arrow.string())


def _parse(arrow: Any, rows: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Return a column for each key of the rows' `parse`; nested ones are dotted."""
    # Rows share these objects, of which there are few.
    place: dict[int, int] = {}
    at = [place.setdefault(id(row), len(place)) for row in rows]
    few = list({id(row): row for row in rows}.values())
    found: dict[str, list[Any]] = {}
    for number, row in enumerate(few):
        for key, value in _flat(row or {}, "parse"):
            key = _clean(key)
            column = found.get(key)
            if column is None:
                column = found[key] = [None] * len(few)
            if len(found) > _MOST_COLUMNS or column[number] is not None:
                # Too many, or two of one name: as they stand there.
                return {"parse": _json(arrow, rows)}
            column[number] = value
    where = arrow.array(at, arrow.int64())
    return {key: _integers(arrow, column).take(where) for key, column in found.items()}


def _flat(row: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from ((f"{prefix}.{key}.{inner}", count) for inner, count in value.items())
        else:
            yield f"{prefix}.{key}", value
