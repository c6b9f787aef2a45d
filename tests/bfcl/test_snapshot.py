from __future__ import annotations

import copy
import random
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentenvs
from agentenvs.bfcl import gold_actions, task_ids
from agentenvs.bfcl.env import BFCLEnv
from agentenvs.bfcl.tasks import task


def some_actions(name: str, rng: random.Random, count: int) -> list[str]:
    """Return gold and odd actions, mixed."""
    plan = gold_actions(name)
    functions = list(task(name).docs)
    odd = ["[]", "Done.", f"[{rng.choice(functions)}()]", f"[{rng.choice(functions)}(a=1)]"]
    return [rng.choice(plan) if rng.random() < 0.7 else rng.choice(odd) for _ in range(count)]


def play(env: BFCLEnv, actions: list[str]) -> list[Any]:
    trace: list[Any] = []
    for action in actions:
        step = env.step(action)
        trace.append(step)
        if step[2] or step[3]:
            break
    return trace


def check(name: str, seed: int, before: int, after: int, rules: Any) -> None:
    rng = random.Random(seed)
    env = BFCLEnv(task=name, rules=rules, max_steps_per_turn=4)
    env.reset(seed=0)
    if (early := play(env, some_actions(name, rng, before))) and (early[-1][2] or early[-1][3]):
        return
    saved = env.snapshot()
    actions = some_actions(name, rng, after)
    fork = copy.deepcopy(env)
    first = play(env, actions)
    assert play(fork, actions) == first
    for _ in range(2):
        env.restore(saved)
        assert play(env, actions) == first
    other = BFCLEnv(task=name, rules=rules, max_steps_per_turn=4)
    other.restore(saved)
    assert play(other, actions) == first


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(task_ids("mini")),
    st.integers(0, 1000),
    st.integers(0, 5),
    st.integers(1, 5),
    st.sampled_from(["official", "fixed"]),
)
def test_restoring_repeats_what_followed(
    name: str, seed: int, before: int, after: int, rules: str
) -> None:
    check(name, seed, before, after, rules)


@pytest.mark.parametrize("index", range(0, 200, 17))
@pytest.mark.parametrize("split", ["base", "miss_func", "long_context"])
def test_restoring_repeats_official_tasks(official_bfcl: None, split: str, index: int) -> None:
    check(f"multi_turn_{split}_{index}", index, 2, 5, "official")


def test_generators_go_on_where_they_were(official_bfcl: None) -> None:
    name = next(n for n in task_ids("base") if "VehicleControlAPI" in task(n).classes)
    env = BFCLEnv(task=name)
    env.reset(seed=0)
    env.step("[get_current_speed()]")
    saved = env.snapshot()
    first = env.step("[get_current_speed()]")[0]
    assert env.step("[get_current_speed()]")[0] != first
    env.restore(saved)
    assert env.step("[get_current_speed()]")[0] == first


def test_shared_directories_stay_shared(official_bfcl: None) -> None:
    name = next(n for n in task_ids("base") if "GorillaFileSystem" in task(n).classes)
    env = BFCLEnv(task=name)
    env.reset(seed=0)
    env.step("[mkdir('a'), mkdir('b'), mv('b', 'a'), cp('a', 'c')]")
    env.restore(env.snapshot())
    env.step("[cd('a'), cd('b'), mkdir('new'), cd('..'), cd('..'), cd('c'), cd('b')]")
    assert "new" in env.step("[ls()]")[0]


def test_a_wrapped_environment_forks() -> None:
    env = gymnasium.make("agentenvs/BFCLv4-v0", task="mini_home_0")
    env.reset(seed=0)
    twin = agentenvs.fork(env)
    action = gold_actions("mini_home_0")[0]
    assert env.step(action)[0] == twin.step(action)[0]
    assert env.step("Done.")[1] == 1.0
    assert twin.step("[list_rooms()]")[1] == 0.0
