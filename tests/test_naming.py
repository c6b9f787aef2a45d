from __future__ import annotations

from typing import Any

import pytest

from agentenvs.errors import BadArgument, UnknownName
from agentenvs.naming import ids_of

SETS = {"short": ["one_0"], "long": ["one_0", "two_1"]}
KNOWN = ("one_0", "two_1")


def named(tasks: Any) -> list[str]:
    return ids_of(tasks, SETS, SETS.__getitem__, KNOWN)


@pytest.mark.parametrize(
    ("tasks", "ids"),
    [
        ("long", ["one_0", "two_1"]),
        ("two_1", ["two_1"]),
        (("two_1", "one_0"), ["two_1", "one_0"]),
        ([], []),
    ],
)
def test_sets_tasks_and_lists(tasks: Any, ids: list[str]) -> None:
    assert named(tasks) == ids
    assert named("long") is not SETS["long"]


@pytest.mark.parametrize(
    ("tasks", "error", "told"),
    [
        ("lung", UnknownName, "no task set or task 'lung'. Did you mean 'long'"),
        (["one_1"], UnknownName, "no task 'one_1'. Did you mean 'one_0'"),
        ([3], BadArgument, "a task id to be a str, got <class 'int'>"),
        (3, BadArgument, "a name or a list of ids, got <class 'int'>"),
    ],
)
def test_what_is_no_task_is_named(tasks: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        named(tasks)
