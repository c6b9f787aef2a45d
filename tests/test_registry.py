from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import agentenvs
from agentenvs import registry
from agentenvs.errors import BadArgument, UnknownName

ID = "agentenvs/BFCLv4-v0"


def test_make_by_id_and_by_module_prefix() -> None:
    for name in (ID, f"agentenvs:{ID}"):
        env = gymnasium.make(name, tasks="mini")
        assert isinstance(env.unwrapped, agentenvs.TextEnv)
        env.close()


def test_registering_twice_is_harmless() -> None:
    registry.register()
    registry.register()
    assert set(registry.WORLDS) <= set(gymnasium.registry)


@pytest.mark.parametrize("name", [ID, f"agentenvs:{ID}", "BFCLv4-v0", "BFCLv4"])
def test_short_names(name: str) -> None:
    assert registry.world(name).id == ID


def test_unknown_environment_is_named_with_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="no environment 'agentenvs/BFCLv5-v0'. Did you mean"):
        registry.world("agentenvs/BFCLv5-v0")


@pytest.mark.parametrize(("name", "meant"), [("webshop", "WebShop"), ("BFCL", "BFCLv4")])
def test_short_names_are_compared_with_short_ones(name: str, meant: str) -> None:
    with pytest.raises(UnknownName, match=f"Did you mean '{meant}'"):
        registry.world(name)


@pytest.mark.parametrize("env_id", registry.WORLDS)
def test_every_world_answers(env_id: str) -> None:
    # A world of this project's own has no tasks that a paper used.
    own = env_id in ("agentenvs/ToolLab-v0", "agentenvs/FrozenLakeText-v0")
    wanted = {"mini"} if own else {"mini", "paper"}
    assert wanted <= set(agentenvs.task_sets(env_id))
    mini = agentenvs.tasks(env_id, "mini")
    assert len(mini) == len(set(mini)) >= 24
    assert agentenvs.tasks(env_id, tasks=mini[:2]) == mini[:2]
    assert registry.gold_actions(env_id, mini[0])
    assert len(registry.data_version(env_id, "mini")) >= 8
    assert registry.data_version(env_id, "mini") == registry.data_version(env_id, "mini")


def test_options_that_do_not_decide_the_tasks_are_refused() -> None:
    with pytest.raises(BadArgument, match=r"\(none\), got 'catalog'"):
        agentenvs.tasks(ID, "mini", catalog="somewhere")
    with pytest.raises(BadArgument, match=r"\('catalog'\), got 'rules'"):
        registry.gold_actions("WebShop", "mini/synthetic/0", rules="fixed")


@pytest.mark.parametrize("name", ["bass", ["mini_nothing_0"]])
def test_unknown_task_set_or_task(name: str | list[str]) -> None:
    with pytest.raises(UnknownName):
        agentenvs.tasks(ID, name)


@pytest.mark.parametrize("env_id", [ID, "agentenvs/ToolLab-v0", "agentenvs/WebShop-v0"])
def test_gold_actions_solve_every_bundled_task(env_id: str) -> None:
    env = gymnasium.make(env_id, tasks="mini")
    for task in agentenvs.tasks(env_id, "mini"):
        env.reset(options={"task": task})
        for action in registry.gold_actions(env_id, task):
            *_, info = env.step(action)
        assert info.get("success") is True, (task, info)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environment_with_a_task_each(mode: str) -> None:
    names = agentenvs.tasks(ID, "mini")[:3]
    env = agentenvs.make_vec(ID, names, mode=mode, tasks="mini")  # type: ignore[arg-type]
    try:
        observations, info = env.reset(seed=0)
        assert list(info["task"]) == names
        assert len(observations) == 3
        _, rewards, *_ = env.step(("I cannot.",) * 3)
        assert np.all(rewards == 0)
    finally:
        env.close()


@pytest.mark.parametrize(("names", "mode"), [([], "sync"), (["mini_home_0"], "threads")])
def test_vector_arguments_are_checked(names: list[str], mode: str) -> None:
    with pytest.raises(BadArgument):
        agentenvs.make_vec(ID, names, mode=mode)  # type: ignore[arg-type]


def test_make_vec_of_gymnasium_in_sync_mode_and_async_without_shared_memory() -> None:
    for mode, options in (("sync", {}), ("async", {"shared_memory": False})):
        env = gymnasium.make_vec(
            ID, num_envs=2, vectorization_mode=mode, vector_kwargs=options, tasks="mini"
        )
        first, _ = env.reset(seed=[1, 2])
        second = env.step(("hello", "hello"))[0]
        assert all(isinstance(text, str) for text in (*first, *second))
        assert first != second
        env.close()


@pytest.mark.parametrize("env_id", registry.WORLDS)
def test_every_task_has_a_cluster(env_id: str) -> None:
    mini = agentenvs.tasks(env_id, "mini")
    labels = registry.clusters(env_id, mini)
    assert len(labels) == len(mini)
    turned = registry.clusters(env_id, mini[::-1])
    assert turned == labels[::-1]
    assert isinstance(registry.unsolvable(env_id, "fixed"), dict)


def test_clusters_of_unknown_tasks_and_rules_are_refused() -> None:
    with pytest.raises(UnknownName, match="no_such"):
        registry.clusters(ID, ["no_such"])
    with pytest.raises(BadArgument, match="rules"):
        registry.unsolvable(ID, "lenient")  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="got 'catalog'"):
        registry.clusters(ID, ["mini_home_0"], catalog="somewhere")


def test_bfcl_varies_its_base_tasks() -> None:
    tasks = ["multi_turn_long_context_7", "multi_turn_base_7", "multi_turn_miss_func_8"]
    found = registry.clusters(ID, tasks)
    assert found == ["multi_turn_base_7", "multi_turn_base_7", "multi_turn_base_8"]
    assert list(registry.unsolvable(ID, "fixed")) == ["multi_turn_miss_func_49"]
    assert registry.unsolvable(ID) == {}


def test_toollab_asks_for_an_errand_and_item_with_several_counts() -> None:
    assert len(set(registry.clusters("ToolLab", agentenvs.tasks("ToolLab", "heldout")))) == 60


def test_webshop_makes_several_goals_of_a_product() -> None:
    tasks = agentenvs.tasks("WebShop", "mini")
    assert len(set(registry.clusters("WebShop", tasks))) == 72
