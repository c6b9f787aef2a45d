from __future__ import annotations

import json
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import agentenvs
from agentenvs.bfcl import gold, gold_actions, task_ids
from agentenvs.bfcl.env import BFCLEnv
from agentenvs.bfcl.tasks import SPLITS, task
from agentenvs.errors import BadArgument, SourceMissing, UnknownName

ID = "agentenvs/BFCLv4-v0"
LATE = "multi_turn_miss_func_0"


def make(**kwargs: Any) -> gymnasium.Env[str, str]:
    return gymnasium.make(ID, **{"tasks": "mini", **kwargs})


def start(task: str, **kwargs: Any) -> tuple[gymnasium.Env[str, str], str, dict[str, Any]]:
    env = make(**kwargs)
    observation, info = env.reset(options={"task": task})
    return env, observation, info


def several_turns() -> str:
    return next(name for name in task_ids("mini") if task(name).turns > 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("decoding", ["native", "official"])
@pytest.mark.parametrize("tasks", ["mini", "base", "miss_func"])
def test_gymnasium_finds_nothing(request: pytest.FixtureRequest, tasks: str, decoding: str) -> None:
    if tasks != "mini":
        request.getfixturevalue("official_bfcl")
    env = gymnasium.make(ID, tasks=tasks, decoding=decoding, render_mode="ansi")
    check_env(env.unwrapped)


@pytest.mark.parametrize("rules", ["official", "fixed"])
@pytest.mark.parametrize("tasks", ["mini", *SPLITS])
def test_gold_actions_solve(request: pytest.FixtureRequest, tasks: str, rules: str) -> None:
    if tasks != "mini":
        request.getfixturevalue("official_bfcl")
    env = gymnasium.make(ID, tasks=tasks, rules=rules)
    lost = []
    for name in task_ids(tasks):
        env.reset(options={"task": name})
        total = 0.0
        for action in gold_actions(name):
            _, reward, terminated, truncated, info = env.step(action)
            total += float(reward)
        assert terminated
        assert not truncated
        if not info["success"]:
            lost.append(name)
        assert total == float(info["success"]) == info["score"]
    known = ["multi_turn_miss_func_49"] if (tasks, rules) == ("miss_func", "fixed") else []
    assert lost == known


def test_reset_tells_everything() -> None:
    _, observation, info = start("mini_home_0")
    assert observation == task("mini_home_0").questions[0]
    assert info["messages"] == [{"role": "user", "content": observation}]
    assert info["task"] == "mini_home_0"
    assert info["turn"] == 0
    assert info["policy"] == ""
    assert observation not in info["system"]
    assert [tool["name"] for tool in info["tools"]] == list(task("mini_home_0").docs)
    assert len(info["data_version"]) == 12


def test_calls_come_back_as_the_official_prompt_shows_them() -> None:
    env, _, _ = start("mini_home_0")
    observation, reward, terminated, truncated, info = env.step("[list_rooms(), nothing(a=1)]")
    result = info["messages"][0]["content"]
    json.loads(result)
    assert info["messages"] == [
        {"role": "tool", "name": "list_rooms()", "content": result},
        {
            "role": "tool",
            "name": "nothing(a=1)",
            "content": "Error during execution: name 'nothing' is not defined",
        },
    ]
    assert observation == repr(info["messages"])
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["parse"] == {"status": "calls", "reason": ""}


def test_json_and_python_calls_do_the_same() -> None:
    one, _, _ = start("mini_home_0")
    two, _, _ = start("mini_home_0")
    left = one.step("[turn_on('kitchen lamp')]")
    call = {"name": "turn_on", "arguments": {"device": "kitchen lamp"}}
    right = two.step(json.dumps({"content": "On it.", "tool_calls": [call]}))
    assert left[0] == right[0]


def test_words_end_a_turn() -> None:
    name = several_turns()
    env, _, _ = start(name)
    observation, _, terminated, _, info = env.step("Done.")
    assert observation == task(name).questions[1]
    assert (info["turn"], terminated) == (1, False)
    assert info["parse"] == {"status": "words", "reason": ""}


def test_malformed_calls_end_the_turn_officially_and_are_said_so() -> None:
    env, _, _ = start("mini_home_0")
    observation, _, terminated, _, info = env.step("[turn_on(device=)]")
    assert info["parse"]["status"] == "malformed"
    assert "syntax" in info["parse"]["reason"]
    assert (observation, terminated, info["success"]) == ("", True, False)
    assert info["reason"] == "multi_turn:empty_turn_model_response"
    assert info["failed_turn"] == 0


def test_malformed_calls_are_answered_under_fixed() -> None:
    env, _, _ = start("mini_home_0", rules="fixed", max_steps_per_turn=1)
    _, _, terminated, truncated, info = env.step("[turn_on(device=)]")
    assert not terminated
    assert not truncated
    assert "could not be read" in info["messages"][0]["content"]
    _, _, terminated, truncated, info = env.step("[turn_on(device=)]")
    assert (terminated, truncated) == (False, True)
    assert info["reason"] == "multi_turn:force_terminated"


def test_twenty_one_steps_then_a_stop() -> None:
    name = several_turns()
    env, _, _ = start(name)
    for _ in range(20):
        _, _, terminated, truncated, info = env.step("[list_rooms()]")
        assert not terminated
        assert not truncated
    observation, reward, terminated, truncated, info = env.step("[list_rooms()]")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert (info["success"], info["reason"]) == (False, "multi_turn:force_terminated")
    assert observation == repr(info["messages"])


@pytest.mark.parametrize(("rules", "success"), [("official", True), ("fixed", False)])
def test_a_stop_in_the_last_turn(rules: str, success: bool) -> None:
    env, _, _ = start("mini_home_0", rules=rules)
    assert task("mini_home_0").turns == 1
    env.step(gold_actions("mini_home_0")[0])
    for _ in range(20):
        _, reward, terminated, truncated, info = env.step("[list_rooms()]")
    assert (terminated, truncated) == (False, True)
    assert (info["success"], reward) == (success, float(success))


def test_functions_are_handed_over(official_bfcl: None) -> None:
    item = task(LATE)
    ((turn, late),) = item.withheld.items()
    env, _, info = start(LATE)
    assert not {tool["name"] for tool in info["tools"]} & set(late)
    for _ in range(turn):
        observation, _, _, _, info = env.step("Not yet.")
    assert info["messages"][0]["content"].endswith("What about now?")
    docs, _, sentence = observation.rpartition("\n")
    assert sentence == info["messages"][0]["content"]
    assert docs == str([item.docs[name] for name in late])
    assert [tool["name"] for tool in info["tools"]][-len(late) :] == list(late)
    base = env.unwrapped
    assert isinstance(base, BFCLEnv)
    assert [tool.name for tool in base.tools] == [tool["name"] for tool in info["tools"]]


@pytest.mark.parametrize(("rules", "refused"), [("official", False), ("fixed", True)])
def test_early_calls_of_withheld_functions(official_bfcl: None, rules: str, refused: bool) -> None:
    ((_, late),) = task(LATE).withheld.items()
    env, _, _ = start(LATE, rules=rules)
    _, _, _, _, info = env.step(f"[{late[0]}()]")
    assert info["withheld_call"] is True
    assert ("is not defined" in info["messages"][0]["content"]) == refused
    _, _, _, _, info = env.step("[ls()]")
    assert info["withheld_call"] is False


def test_official_decoding_drops_positional_values(official_bfcl: None) -> None:
    env, _, _ = start("multi_turn_base_0", decoding="official")
    _, _, _, _, info = env.step("cd('document')")
    assert info["messages"][0]["name"] == "cd()"
    assert info["messages"][0]["content"] == (
        "Error during execution: GorillaFileSystem.cd() missing 1 required positional "
        "argument: 'folder'"
    )


def test_gold_never_shows() -> None:
    for name in task_ids("mini"):
        env, observation, info = start(name)
        shown = observation + repr(info)
        for action in gold_actions(name):
            observation, _, _, _, info = env.step(action)
            assert not {"gold", "ground_truth", "answer"} & set(info)
        plan = [call for turn in gold(name) for step in turn for call in step]
        assert not [call for call in plan if len(call) > 30 and call in shown]


def test_arguments_are_checked() -> None:
    for wrong in (
        {"decoding": "loose"},
        {"docs": "short"},
        {"max_steps_per_turn": 0},
        {"max_steps_per_turn": True},
        {"exclude": "mini_home_0"},
        {"rules": "strict"},
        {"tasks": []},
    ):
        with pytest.raises(BadArgument, match="Expected"):
            BFCLEnv(**{"tasks": "mini", **wrong})  # type: ignore[arg-type]
    for unknown in ({"tasks": "minni"}, {"task": "mini_home_"}, {"exclude": ["x"]}):
        with pytest.raises(UnknownName):
            BFCLEnv(**{"tasks": "mini", **unknown})  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="seeds"):
        BFCLEnv("mini").reset(options={"seeds": 1})


def test_excluded_tasks_are_never_drawn_but_can_be_named() -> None:
    every = task_ids("mini")
    env = BFCLEnv("mini", exclude=every[1:])
    assert {env.reset(seed=seed)[1]["task"] for seed in range(10)} == {every[0]}
    assert env.reset(options={"task": every[1]})[1]["task"] == every[1]


def test_missing_data_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise SourceMissing("agentenvs data pull bfcl")

    monkeypatch.setattr("agentenvs.bfcl.tasks.open_official", refuse)
    with pytest.raises(SourceMissing, match="pull"):
        BFCLEnv("base")
    BFCLEnv("mini").reset(seed=0)
    BFCLEnv("base", task="mini_home_0").reset(seed=0)


def test_renders_the_conversation() -> None:
    env, observation, _ = start("mini_home_0", render_mode="ansi")
    env.step("[list_rooms()]")
    shown = str(env.render())
    assert observation in shown
    assert "list_rooms()" in shown


def test_vectors_agree(official_bfcl: None) -> None:
    names = ["multi_turn_base_0", "mini_home_0", "multi_turn_base_134"]
    actions = [gold_actions(name) for name in names]
    traces = []
    for mode in ("sync", "async"):
        vector = agentenvs.make_vec(ID, names, mode=mode)  # type: ignore[arg-type]
        try:
            observations, _ = vector.reset(seed=0)
            trace: list[Any] = [tuple(observations)]
            for step in range(2):
                batch = tuple(plan[min(step, len(plan) - 1)] for plan in actions)
                observations, rewards, terminated, truncated, _ = vector.step(batch)
                trace.append((tuple(observations), *map(list, (rewards, terminated, truncated))))
        finally:
            vector.close()
        traces.append(trace)
    assert traces[0] == traces[1]


def test_shared_memory_is_refused_loudly() -> None:
    with pytest.raises(Exception, match="shared_memory"):
        gymnasium.make_vec(ID, num_envs=2, vectorization_mode="async", tasks="mini")
