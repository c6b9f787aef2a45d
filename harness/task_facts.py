"""What is known of the tasks of two runs: which hang together, and which are out of reach."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agentenvs import registry
from agentenvs.errors import BadArgument, SourceError, UnknownName
from agentenvs.harness.outcomes import Outcomes

__all__ = ["AUTO", "NONE", "TaskFacts", "clusters_of", "task_facts"]

AUTO, NONE = "auto", "none"
_ID_KEYS = ("task_id", "task", "id")


class TaskFacts(NamedTuple):
    """What was found about the tasks of a comparison.

    Attributes:
        clusters: task id -> label, over the tasks of both runs; None where nothing is known, or
            every task stands for itself.
        unsolvable: tasks of the runs that no agent can solve, each with the reason.
        notes: what could not be looked up, in sentences.
    """

    clusters: dict[str, str] | None
    unsolvable: dict[str, str]
    notes: tuple[str, ...]


def task_facts(
    base: Outcomes, post: Outcomes, clusters: str = AUTO, unsolvable: str = AUTO
) -> TaskFacts:
    """Look up what the environment of two runs, or a file, tells of their tasks.

    Args:
        base: the first run.
        post: the second; environment and rules are read from whichever names them.
        clusters: "auto" asks the environment, "none" takes every task for itself, anything else
            is a file: lines `task<TAB>label`, or JSON lines with `task_id` and `cluster`.
        unsolvable: "auto", "none", or a file: a task id at the start of each line, or JSON lines
            with `task_id` or `task`, as `agentenvs data audit --json` prints.

    Raises:
        BadArgument: a file that cannot be read, or that names no task of the runs.
    """
    ids = list(dict.fromkeys((*base.task_ids, *post.task_ids)))
    settings = base.settings if base.settings.get("env_id") else post.settings
    notes: list[str] = []
    labels: dict[str, str] | None = None
    tagged: dict[str, str] = {}
    if clusters == AUTO:
        labels, note = clusters_of(settings, ids)
        notes.extend([note] if note else [])
    elif clusters != NONE:
        labels = _file_clusters(Path(clusters), ids)
    if unsolvable == AUTO:
        tagged = _asked_unsolvable(settings, ids)
        if len(tagged) == len(ids):
            # Nothing would be left to tell without them.
            tagged = {}
            notes.append("every task of these runs is known to be out of reach")
    elif unsolvable != NONE:
        tagged = _file_unsolvable(Path(unsolvable), ids)
    if labels is not None and len(set(labels.values())) == len(labels):
        labels = None
    return TaskFacts(labels, tagged, tuple(notes))


def clusters_of(
    settings: Mapping[str, Any], ids: Sequence[str]
) -> tuple[dict[str, str] | None, str]:
    """Ask the environment of a run which of its tasks hang together.

    Args:
        settings: of the run.
        ids: its tasks.

    Returns:
        Task id -> label, None where nothing is known; and why it could not be looked up, "" where
        it could or the run names no environment.
    """
    env_id = settings.get("env_id")
    if not isinstance(env_id, str):
        return None, ""
    try:
        options = _options(env_id, settings)
        return dict(zip(ids, registry.clusters(env_id, ids, **options), strict=True)), ""
    except (SourceError, UnknownName, BadArgument) as error:
        return None, f"which tasks hang together could not be looked up ({error})"


def _asked_unsolvable(settings: Mapping[str, Any], ids: list[str]) -> dict[str, str]:
    env_id = settings.get("env_id")
    given = settings.get("env_kwargs")
    rules: Any = given.get("rules", "official") if isinstance(given, Mapping) else "official"
    if not isinstance(env_id, str):
        return {}
    try:
        known = registry.unsolvable(env_id, rules)
    except (UnknownName, BadArgument):
        return {}
    return {name: known[name] for name in ids if name in known}


def _options(env_id: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    given = settings.get("env_kwargs")
    if not isinstance(given, Mapping):
        return {}
    return {key: given[key] for key in registry.world(env_id).task_options if key in given}


def _file_clusters(path: Path, ids: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, (name, row) in _lines(path):
        label = row.get("cluster") if isinstance(row, Mapping) else row
        if not isinstance(label, str | int) or label == "":
            raise BadArgument(
                f"{path}:{number}: expected a task and its label, got {name!r} alone."
            )
        found[name] = str(label)
    missing = [name for name in ids if name not in found]
    if missing:
        some = ", ".join(map(repr, missing[:3]))
        raise BadArgument(
            f"{path}: expected a label for every task, but {len(missing)} have none: {some}."
        )
    return {name: found[name] for name in ids}


def _file_unsolvable(path: Path, ids: list[str]) -> dict[str, str]:
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
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadArgument(f"{path}: expected a file of task ids: {error}.") from None
    for number, line in enumerate(text.splitlines(), 1):
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
        ids = [row[key] for key in _ID_KEYS if isinstance(row.get(key), str)]
        if not ids:
            keys = ", ".join(_ID_KEYS)
            raise BadArgument(f"{path}:{number}: expected one of {keys} with a task's id.")
        yield number, (ids[0], row)
