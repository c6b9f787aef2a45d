"""What is known of the tasks of two runs: which hang together, and which are out of reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agentenvs import registry
from agentenvs.errors import BadArgument, SourceError, UnknownName
from agentenvs.harness.outcomes import Outcomes
from agentenvs.harness.task_files import clusters_in, unsolvable_in

__all__ = ["AUTO", "NONE", "TaskFacts", "clusters_of", "task_facts", "unsolvable_of"]

AUTO, NONE = "auto", "none"


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
        labels = clusters_in(Path(clusters), ids)
    if unsolvable == AUTO:
        tagged, note = unsolvable_of(settings, ids)
        notes.extend([note] if note else [])
    elif unsolvable != NONE:
        tagged = unsolvable_in(Path(unsolvable), ids)
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


def unsolvable_of(settings: Mapping[str, Any], ids: Sequence[str]) -> tuple[dict[str, str], str]:
    """Ask the environment of a run which of its tasks no agent can solve.

    Args:
        settings: of the run.
        ids: its tasks.

    Returns:
        Task id -> reason, empty where nothing is known or nothing would be left without them; and
        a note of the latter, or "".
    """
    env_id = settings.get("env_id")
    given = settings.get("env_kwargs")
    rules: Any = given.get("rules", "official") if isinstance(given, Mapping) else "official"
    if not isinstance(env_id, str):
        return {}, ""
    try:
        known = registry.unsolvable(env_id, rules)
    except (UnknownName, BadArgument):
        return {}, ""
    tagged = {name: known[name] for name in ids if name in known}
    if len(tagged) == len(ids):
        return {}, "every task of these runs is known to be out of reach"
    return tagged, ""


def _options(env_id: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    given = settings.get("env_kwargs")
    if not isinstance(given, Mapping):
        return {}
    return {key: given[key] for key in registry.world(env_id).task_options if key in given}
