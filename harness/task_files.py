"""Files that tell of tasks: which hang together, and which are out of reach."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentenvs.errors import BadArgument

__all__ = ["clusters_in", "unsolvable_in"]

_ID_KEYS = ("task_id", "task", "id")


def clusters_in(path: Path, ids: Sequence[str]) -> dict[str, str]:
    """Return which of some tasks hang together, as a file tells it.

    Args:
        path: lines `task<TAB>label`, or JSON lines with `task_id` and `cluster`; other tasks may
            be in it.
        ids: the tasks.

    Returns:
        Task id -> label, in the order of `ids`.

    Raises:
        BadArgument: the file cannot be read, or a task has no label or two.
    """
    found: dict[str, str] = {}
    for number, (name, row) in _lines(path):
        label = row.get("cluster") if isinstance(row, Mapping) else row
        if not isinstance(label, str | int) or isinstance(label, bool) or label == "":
            raise BadArgument(
                f"{path}:{number}: expected a task and its label, got {name!r} alone."
            )
        if found.setdefault(name, str(label)) != str(label):
            raise BadArgument(
                f"{path}:{number}: expected one label for {name!r}, got {found[name]!r} before and "
                f"{label!r} now."
            )
    missing = [name for name in ids if name not in found]
    if missing:
        some = ", ".join(map(repr, missing[:3]))
        raise BadArgument(
            f"{path}: expected a label for every task, but {len(missing)} have none: {some}."
        )
    return {name: found[name] for name in ids}


def unsolvable_in(path: Path, ids: Sequence[str]) -> dict[str, str]:
    """Return which of some tasks no agent can solve, as a file tells it.

    Args:
        path: a task id at the start of each line, a reason behind a tab, or JSON lines with
            `task_id` or `task`, as `agentenvs data audit --json` prints.
        ids: the tasks.

    Returns:
        Task id -> reason, in the order of `ids`.

    Raises:
        BadArgument: the file cannot be read, or names none of the tasks.
    """
    named: dict[str, str] = {}
    for _, (name, row) in _lines(path):
        told = row.get("reasons", row.get("reason", "")) if isinstance(row, Mapping) else row
        named[name] = "; ".join(map(str, told)) if isinstance(told, list) else str(told)
    found = {name: named[name] for name in ids if name in named}
    if not found:
        raise BadArgument(f"{path}: expected ids of tasks, but none of the runs' tasks is there.")
    return found


def _lines(path: Path) -> Iterator[tuple[int, tuple[str, Any]]]:
    """Yield each line's number, task id, and the rest: a JSON object, or the text behind a tab.

    Raises:
        BadArgument: the file cannot be read, or a JSON line names no task.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"{path}: expected a file of task ids: {error}.") from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if not line.lstrip().startswith("{"):
            name, _, rest = line.strip().partition("\t")
            yield number, (name, rest)
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadArgument(f"{path}:{number}: expected JSON: {error}.") from None
        # Outcomes take whole numbers for ids, too.
        ids = [str(row[key]) for key in _ID_KEYS if type(row.get(key)) in (str, int)]
        if not ids:
            keys = ", ".join(_ID_KEYS)
            raise BadArgument(f"{path}:{number}: expected one of {keys} with a task's id.")
        yield number, (ids[0], row)
