from __future__ import annotations

import gymnasium
import pytest

from agentenvs import registry
from agentenvs.errors import UnknownName
from agentenvs.toollab import gold_actions, task_ids
from agentenvs.wrappers import RelaxedToolCalls


@pytest.mark.parametrize("world", [0, 7])
@pytest.mark.parametrize("relaxed", [False, True])
def test_gold_solves_all_tasks(world: int, relaxed: bool) -> None:
    env = gymnasium.make("agentenvs/ToolLab-v0", world=world, disable_env_checker=True)
    if relaxed:
        env = RelaxedToolCalls(env)
    unsolved = []
    for task in task_ids("all", world)[:: 1 if not relaxed else 13]:
        env.reset(options={"task": task})
        for action in gold_actions(task):
            *_, info = env.step(action)
        if not info.get("success"):
            unsolved.append(task)
    assert unsolved == []


def test_the_world_of_a_plan() -> None:
    task = "4/order/lamp/one"
    assert registry.gold_actions("ToolLab", task) == gold_actions(task, world=4)
    with pytest.raises(UnknownName, match="no task '4/order/lamp/one' in world 0"):
        registry.gold_actions("ToolLab", task, world=0)
    with pytest.raises(UnknownName):
        gold_actions("4/order/lamp/eleven")
