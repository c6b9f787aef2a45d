"""Task sets and task ids by name, for benchmarks whose ids are all known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from agentenvs.errors import BadArgument, UnknownName, did_you_mean

__all__ = ["ids_of"]


def ids_of(
    tasks: str | Sequence[str],
    sets: Collection[str],
    members: Callable[[str], Sequence[str]],
    known: Collection[str],
) -> list[str]:
    """Return the task ids of a named set, of one task, or of a list after checking it.

    Args:
        tasks: a set's name, a task's id, or a list of ids.
        sets: names of the sets.
        members: gives the ids of a set.
        known: every id there is.

    Raises:
        UnknownName: there is no such set or task, with the closest known name.
        BadArgument: `tasks` is neither a name nor a list of ids.
    """
    if isinstance(tasks, str):
        if tasks in sets:
            return list(members(tasks))
        if tasks not in known:
            hint = did_you_mean(tasks, (*sets, *known))
            raise UnknownName(f"There is no task set or task {tasks!r}.{hint}")
        return [tasks]
    if not isinstance(tasks, Sequence):
        raise BadArgument(f"Expected `tasks` to be a name or a list of ids, got {type(tasks)}.")
    for name in tasks:
        if not isinstance(name, str):
            raise BadArgument(f"Expected a task id to be a str, got {type(name)}.")
        if name not in known:
            raise UnknownName(f"There is no task {name!r}.{did_you_mean(name, known)}")
    return list(tasks)
