from __future__ import annotations

from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import agentenvs  # noqa: F401 - registers the environments
from agentenvs.acebench import dialogue
from agentenvs.acebench.conversation import END
from agentenvs.acebench.dialogue import AGENT, USER, DialogueEnv
from agentenvs.acebench.one_side import OneSide
from agentenvs.acebench.plans import gold_actions
from agentenvs.errors import BadArgument

TASK = "mini/agent_multi_turn_0"


def made(**settings: Any) -> DialogueEnv:
    return dialogue.raw_env(**{"tasks": "mini", **settings})


@pytest.mark.parametrize("side", [AGENT, USER])
def test_gymnasium_finds_nothing_on_either_side(side: str) -> None:
    env = OneSide(made(render_mode="ansi"), lambda messages: f"{len(messages)} messages", side)
    check_env(env, skip_render_check=True)
    assert env.render() is not None


def test_one_side_is_the_dialogue_with_the_user_played() -> None:
    env = OneSide(made(), "scripted")
    observation, info = env.reset(seed=3, options={"task": TASK})
    assert observation == info["messages"][0]["content"]
    assert info["system"]
    assert info["tools"]
    for action in gold_actions(TASK):
        observation, reward, terminated, truncated, info = env.step(action)
        assert info["parse"]["status"] in ("calls", "words")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["success"] is True


def test_or_with_the_agent_played() -> None:
    seen: list[list[Any]] = []

    def agent(messages: list[Any]) -> str:
        seen.append(messages)
        return "[turn_on_wifi()]" if len(seen) == 1 else "What else?"

    env = OneSide(made(share_reward=True), agent, USER)
    _, info = env.reset(seed=0, options={"task": TASK})
    assert info["instruction"]
    observation, *_ = env.step("Turn it on.")
    assert observation == "What else?"
    roles = [message["role"] for message in seen[-1]]
    assert roles == ["system", "user", "assistant", "tool"]
    _, _, terminated, _, info = env.step(END)
    assert terminated
    assert info["success"] is False


def test_somebody_has_to_play_the_other_side() -> None:
    with pytest.raises(BadArgument, match="side"):
        OneSide(made(), "scripted", "user")
    with pytest.raises(BadArgument, match="agent"):
        OneSide(made(), "scripted", USER)


def test_gymnasium_and_dialogue_are_one_loop() -> None:
    single = gymnasium.make("agentenvs/ACEBench-v0", tasks="mini", user=["one", "two", END])
    faced = OneSide(made(), ["one", "two", END])
    for task in (TASK, "mini/agent_multi_turn_8"):
        first, _ = single.reset(seed=1, options={"task": task})
        second, _ = faced.reset(seed=1, options={"task": task})
        assert first == second
        for action in ("[turn_on_wifi()]", "Yes?", "[login_device()]", "And?"):
            one, other = single.step(action), faced.step(action)
            assert one[1:4] == other[1:4]
            if not one[2]:
                assert one[0] == other[0]
