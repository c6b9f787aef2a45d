from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agentenvs
from agentenvs import registry
from agentenvs.errors import BadArgument, UnknownName
from agentenvs.toollab import Design, task_ids, task_indices, task_sets
from agentenvs.toollab.tasks import all_ids, index_of, world_of


def test_sizes_of_the_sets() -> None:
    sizes = {name: len(task_ids(name)) for name in task_sets()}
    assert sizes == {"train": 200, "heldout": 120, "mini": 24, "all": 1600}
    for name, size in sizes.items():
        assert task_sets()[name].startswith(("all ", "")[name != "all"] + str(size))


def test_train_is_the_default() -> None:
    assert agentenvs.tasks("ToolLab") == task_ids() == task_ids("train")
    assert agentenvs.tasks("ToolLab", world=2) == task_ids("train", 2)


def test_ids_are_by_index() -> None:
    ids = task_ids("all")
    assert ids[0] == "0/order/lamp/one"
    assert ids[-1] == "0/reserve/binder/ten"
    assert len(set(ids)) == 1600
    assert index_of("3/return/kettle/nine") == (1 * 40 + 8) * 10 + 8
    assert all(index_of(name) == at for at, name in enumerate(ids) if at % 97 == 0)


@pytest.mark.parametrize("name", ["train", "heldout", "mini", "all"])
def test_ids_and_indices_agree(name: str) -> None:
    for world in (0, 5):
        indices = task_indices(name, world)
        assert task_ids(name, world) == [all_ids(world)[at] for at in indices]
        assert np.array_equal(task_indices(task_ids(name, world), world), indices)
    assert np.array_equal(task_indices(), Design.of(0).train)


def test_a_task_or_a_list_of_them() -> None:
    assert task_ids("0/order/lamp/one") == ["0/order/lamp/one"]
    assert task_ids(["0/order/lamp/two", "0/order/lamp/one"])[0] == "0/order/lamp/two"
    assert task_indices("0/order/lamp/two").tolist() == [1]


@pytest.mark.parametrize(
    "tasks", ["minni", "0/order/lamb/one", "1/order/lamp/one", ["0/order/lamp/eleven"], "0/order"]
)
def test_unknown_tasks(tasks: Any) -> None:
    with pytest.raises(UnknownName, match="Did you mean|Known"):
        task_ids(tasks)
    with pytest.raises(UnknownName):
        task_indices(tasks)


def test_no_list_and_no_world() -> None:
    with pytest.raises(BadArgument, match="a name or a list"):
        task_ids(3)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="`world`"):
        task_ids("mini", -1)


@pytest.mark.parametrize("task", ["", "order/lamp/one/0", "-1/a/b/c", "\u0663/a/b/c", "9" * 30, 7])
def test_ids_that_name_no_world(task: Any) -> None:
    with pytest.raises(UnknownName, match="ids are like"):
        world_of(task)


@pytest.mark.parametrize("task", ["00/order/lamp/one", "0/order/lamp", "0/order/lamp/one/"])
def test_ids_that_are_not_written_as_they_are(task: str) -> None:
    with pytest.raises(UnknownName, match="There is no task set or task|There is no task"):
        index_of(task)


def test_data_version_goes_by_the_world() -> None:
    versions = {registry.data_version("ToolLab", "mini", world=world) for world in range(5)}
    assert len(versions) == 5
    assert registry.data_version("ToolLab") == Design.of(0).digest
    with pytest.raises(UnknownName):
        registry.data_version("ToolLab", "paper")
