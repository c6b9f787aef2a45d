from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.test import (
    api_test,
    parallel_api_test,
    parallel_seed_test,
    seed_test,
)

from agentenvs.acebench import dialogue, mini
from agentenvs.acebench.conversation import END
from agentenvs.acebench.dialogue import AGENT, USER, DialogueEnv
from agentenvs.acebench.plans import gold_actions
from agentenvs.acebench.users import ScriptedUser
from agentenvs.errors import BadAction, BadArgument, UnknownName

TASK = "mini/agent_multi_turn_0"


@pytest.fixture(autouse=True)
def _texts_are_no_arrays() -> Iterator[None]:
    """PettingZoo's tests advise observations and actions that are numbers."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Observation is not a NumPy array")
        warnings.filterwarnings("ignore", "(Observation|Action) space for each agent probably")
        yield


def made(**settings: Any) -> DialogueEnv:
    return dialogue.raw_env(**{"tasks": "mini", **settings})


def test_pettingzoo_finds_nothing() -> None:
    api_test(dialogue.env(tasks="mini"), num_cycles=100)
    seed_test(lambda: dialogue.env(tasks="mini"), num_cycles=50)


def test_pettingzoo_finds_nothing_in_the_parallel_version() -> None:
    parallel_api_test(dialogue.parallel_env(tasks="mini"), num_cycles=100)
    parallel_seed_test(lambda: dialogue.parallel_env(tasks="mini"), num_cycles=50)


def play(env: DialogueEnv, task: str, seed: int = 0, **settings: Any) -> DialogueEnv:
    """Let the gold actions and a scripted user talk."""
    env.reset(seed=seed, options={"task": task})
    user = ScriptedUser(mini.tasks()[task], seed)
    actions = iter(gold_actions(task, **settings))
    while env.agents and not any(env.terminations.values()):
        if env.agent_selection == USER:
            env.step(user.speak(env.talk))
        else:
            env.step(next(actions))
    return env


@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_gold_actions_and_a_scripted_user_are_paid(rules: Any) -> None:
    for task in mini.tasks():
        if "agent_multi_turn" not in task:
            continue
        env = play(made(rules=rules), task, rules=rules)
        assert env.rewards == {USER: 0.0, AGENT: 1.0}, task
        assert env.terminations == {USER: True, AGENT: True}
        assert env.truncations == {USER: False, AGENT: False}
        assert env.infos[AGENT]["success"] is True
        assert env.infos[USER]["reason"] == ""


def test_the_reward_can_be_shared_and_graded() -> None:
    assert play(made(share_reward=True), TASK).rewards == {USER: 1.0, AGENT: 1.0}
    env = made(reward="score")
    env.reset(options={"task": TASK})
    for text in ("a", "b", END):
        env.step(text)
    assert env.rewards[AGENT] == env.infos[AGENT]["score"]


def test_the_user_sees_neither_calls_nor_results() -> None:
    env = made(task=TASK)
    env.reset(seed=0)
    assert env.infos[USER]["instruction"] == mini.tasks()[TASK].question
    env.step("I want something.")
    assert env.observe(AGENT) == {"message": "I want something."}
    heard = env.observe(USER)
    env.step("[turn_on_wifi()]")
    assert env.agent_selection == AGENT
    assert env.observe(USER) == heard
    assert "true" in env.observe(AGENT)["message"].lower()
    assert env.infos[AGENT]["parse"]["status"] == "calls"
    assert env.infos[AGENT]["messages"][0]["role"] == "tool"
    env.step("What shall I write?")
    assert env.agent_selection == USER
    assert env.observe(USER) == {"message": "What shall I write?"}
    assert "turn_on_wifi" not in str(env.infos[USER]["messages"])


def test_the_limit_truncates_both() -> None:
    env = made(task=TASK, max_messages=3)
    env.reset(seed=0)
    for text in ("a", "b", "c"):
        env.step(text)
    assert env.truncations == {USER: True, AGENT: True}
    assert env.terminations == {USER: False, AGENT: False}
    env.step(None)
    env.step(None)
    assert env.agents == []


def test_a_step_after_the_end_says_so() -> None:
    env = dialogue.raw_env(tasks="mini")
    with pytest.raises(ResetNeeded, match="call `reset`"):
        env.step("Hello.")
    env.reset(seed=0)
    for text in ("Hello.", END, END, None, None):
        env.step(text)
    assert env.agents == []
    with pytest.raises(ResetNeeded, match="call `reset`"):
        env.step("Hello.")


@pytest.mark.parametrize("text", ["", "\ud800", "x" * 200_000, "[" * 9_000, "[__import__('os')]"])
def test_any_text_is_an_action(text: str) -> None:
    env = made(task=TASK)
    env.reset(seed=0)
    for _ in range(4):
        env.step(text)
    assert env.agents == [USER, AGENT]


def test_nothing_but_text_is() -> None:
    env = made(task=TASK)
    env.reset(seed=0)
    for action in (None, 3, ["a"]):
        with pytest.raises(BadAction, match="str"):
            env.step(action)  # type: ignore[arg-type]


def test_seeds_draw_tasks_and_options_name_them() -> None:
    env = made()
    drawn = set()
    for seed in range(30):
        env.reset(seed=seed)
        first = env.talk.task.name
        env.reset(seed=seed)
        assert env.talk.task.name == first
        drawn.add(first)
    assert len(drawn) > 5
    assert all("agent_multi_turn" in name for name in drawn)
    env.reset(seed=0, options={"task": TASK})
    assert env.talk.task.name == TASK


def test_wrong_arguments_are_errors() -> None:
    for settings in (
        {"rules": "none"},
        {"reward": "all"},
        {"decoding": "json"},
        {"render_mode": "human"},
        {"tasks": ["mini/agent_multi_step_0"]},
        {"task": TASK, "max_messages": 0},
    ):
        with pytest.raises(BadArgument):
            made(**settings).reset()
    for name in ("mini/agent_multi_step_0", "nonsense", 3):
        with pytest.raises(UnknownName):
            made(task=name)
    with pytest.raises(BadArgument, match="reset"):
        _ = made().talk


def test_a_copy_goes_on_alone() -> None:
    env = made(task=TASK)
    env.reset(seed=0)
    env.step("Hello.")
    twin = copy.deepcopy(env)
    twin.step("[turn_on_wifi()]")
    assert len(env.talk.messages) == 1
    env.step("[turn_on_wifi()]")
    assert env.observe(AGENT) == twin.observe(AGENT)
    assert env.talk.world is not twin.talk.world


def test_the_agent_is_offered_its_tools_when_its_first_turn_comes() -> None:
    made = dialogue.env(tasks="mini")
    made.reset(seed=0)
    made.step("Hello.")
    info = made.last()[4]
    assert {"system", "policy", "tools"} <= info.keys()
    made.step("What can I do for you?")
    made.step("Nothing yet.")
    assert "system" not in made.last()[4]
