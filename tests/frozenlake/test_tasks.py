from __future__ import annotations

from typing import Any

import pytest
from gymnasium.envs.toy_text.frozen_lake import generate_random_map

import agentenvs
from agentenvs import registry
from agentenvs.errors import BadArgument, UnknownName
from agentenvs.frozenlake import data_version, task_ids, task_sets
from agentenvs.frozenlake.tasks import all_ids, seed_of


def test_sizes_of_the_sets() -> None:
    sizes = {name: len(task_ids(name)) for name in task_sets()}
    assert sizes == {"train": 200, "heldout": 100, "mini": 24}
    for name, size in sizes.items():
        assert task_sets()[name].startswith(str(size))


def test_the_sets_are_parts_of_one_list() -> None:
    assert (*task_ids("train"), *task_ids("heldout")) == all_ids()
    assert task_ids("mini") == task_ids("train")[:24]


def test_train_is_the_default() -> None:
    assert agentenvs.tasks("FrozenLakeText") == task_ids() == task_ids("train")


def test_seeds_whose_map_came_before_are_passed_over_and_no_others() -> None:
    maps: dict[tuple[str, ...], int] = {}
    for seed in range(seed_of(all_ids()[-1]) + 1):
        maps.setdefault(tuple(generate_random_map(4, seed=seed)), seed)
    assert [f"4x4/{seed}" for seed in maps.values()] == list(all_ids())


def test_a_task_or_a_list_of_them() -> None:
    assert task_ids("4x4/0") == ["4x4/0"]
    assert task_ids(["4x4/2", "4x4/0"]) == ["4x4/2", "4x4/0"]


@pytest.mark.parametrize("tasks", ["minni", "4x4/3", "4x4/00", "8x8/0", ["4x4/481"], "4x4/-1"])
def test_unknown_tasks(tasks: Any) -> None:
    with pytest.raises(UnknownName, match="Did you mean|Known"):
        task_ids(tasks)


def test_neither_a_name_nor_a_list() -> None:
    with pytest.raises(BadArgument, match="a name or a list"):
        task_ids(3)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="to be a str"):
        seed_of(3)  # type: ignore[arg-type]


def test_seed_of_an_unknown_task() -> None:
    with pytest.raises(UnknownName, match="no task '4x4/3'"):
        seed_of("4x4/3")
    with pytest.raises(UnknownName, match="no task 'train'"):
        seed_of("train")


def test_the_maps_are_those_that_results_are_known_for() -> None:
    # Another Gymnasium or NumPy that draws other maps must not go unnoticed.
    assert registry.data_version("FrozenLakeText", "mini") == data_version() == "0d6c2a8b2a0d"
    with pytest.raises(UnknownName):
        data_version("paper")


def test_maps_are_independent_draws() -> None:
    mini = task_ids("mini")
    assert registry.clusters("FrozenLakeText", mini) == mini
