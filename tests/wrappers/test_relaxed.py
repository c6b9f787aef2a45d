from __future__ import annotations

import json
from typing import Any

import gymnasium
import pytest

import agentenvs
from agentenvs.core import MAX_ACTION, TextEnv, ToolCall
from agentenvs.errors import BadAction, BadArgument
from agentenvs.wrappers import RelaxedToolCalls


@pytest.fixture
def env(echo: type[TextEnv]) -> RelaxedToolCalls:
    env = RelaxedToolCalls(echo())
    env.reset(seed=0)
    return env


def told(env: RelaxedToolCalls, action: Any) -> dict[str, Any]:
    return env.step(action)[-1]


def test_text_becomes_the_canonical_action(env: RelaxedToolCalls) -> None:
    info = told(env, "Let me look.\n```python\n[cd('reports')]\n```")
    assert json.loads(info["action"]) == {
        "content": "Let me look.",
        "tool_calls": [{"name": "cd", "arguments": {"folder": "reports"}}],
    }
    assert info["parse"] == {
        "status": "calls",
        "reason": "",
        "repairs": ["positional", "fence", "prose"],
        "strict": False,
        "format": "fence",
        "calls": 1,
        "mode": "relaxed",
    }


@pytest.mark.parametrize(
    "action",
    [
        [{"name": "cd", "arguments": {"folder": "a"}}],
        ({"name": "cd", "arguments": {"folder": "a"}},),
        [ToolCall("cd", {"folder": "a"})],
        ToolCall("cd", {"folder": "a"}),
        {"name": "cd", "arguments": {"folder": "a"}},
        [{"type": "function", "function": {"name": "cd", "arguments": '{"folder": "a"}'}}],
        {"content": None, "tool_calls": [{"name": "cd", "arguments": {"folder": "a"}}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "cd", "arguments": '{"folder": "a"}'}}],
        },
    ],
)
def test_structured_calls_are_actions(env: RelaxedToolCalls, action: Any) -> None:
    info = told(env, action)
    assert info["calls"] == [{"name": "cd", "arguments": {"folder": "a"}}]
    assert info["parse"]["format"] == "structured"
    assert info["parse"]["strict"]


def test_objects_that_dump_themselves_are_actions(env: RelaxedToolCalls) -> None:
    class Dumped:
        def model_dump(self) -> dict[str, Any]:
            return {"function": {"name": "ls", "arguments": "{}"}}

    assert told(env, [Dumped()])["calls"] == [{"name": "ls", "arguments": {}}]


@pytest.mark.parametrize(
    "arguments", ['{"folder": "repo', "[", "3", '{"folder": "a"} x', "[1, 2, 3]"]
)
def test_bad_arguments_in_structured_calls_are_data(env: RelaxedToolCalls, arguments: str) -> None:
    info = told(env, [{"function": {"name": "mv", "arguments": arguments}}])
    assert info["calls"] == []
    assert info["parse"]["status"] == "malformed"


def test_a_message_without_calls_is_words(env: RelaxedToolCalls) -> None:
    info = told(env, {"content": "see [ls()]", "tool_calls": None})
    assert info["parse"]["status"] == "words"
    assert info["calls"] == []


@pytest.mark.parametrize("action", [3, None, object(), [3], {"content": 3}, {"tool_calls": "x"}])
def test_other_actions_are_an_error(env: RelaxedToolCalls, action: Any) -> None:
    with pytest.raises(BadAction, match="Expected an action to be text"):
        env.step(action)


def test_plain_words_go_out_as_they_are(env: RelaxedToolCalls) -> None:
    assert told(env, "All done.")["action"] == "All done."


@pytest.mark.parametrize("words", ["see (a) and [1]", '{"answer": 42}', "[1, 2]", "a < b"])
def test_words_that_a_grammar_could_take_for_calls_go_out_wrapped(
    env: RelaxedToolCalls, words: str
) -> None:
    assert json.loads(told(env, words)["action"]) == {"content": words, "tool_calls": []}


def test_words_that_the_benchmark_itself_reads_as_a_call_are_reported_as_one() -> None:
    env = RelaxedToolCalls(gymnasium.make("agentenvs/ToolLab-v0", task="0/order/lamp/seven"))
    env.reset(seed=0)
    assert told(env, "find lamp")["parse"] == {
        "status": "calls",
        "reason": "",
        "repairs": [],
        "strict": False,
        "format": "native",
        "calls": 1,
        "mode": "relaxed",
    }
    assert told(env, "Done.")["parse"]["status"] == "words"


def test_what_an_environment_leaves_out_is_reported() -> None:
    env = RelaxedToolCalls(gymnasium.make("agentenvs/FrozenLakeText-v0", moves_per_step=1))
    env.reset(seed=0)
    left_out = "only 1 of 2 are carried out"
    for text in ("left left", "[move('left'), move('left')]"):
        assert told(env, text)["parse"]["reason"] == left_out
    assert told(env, "[move('left')]")["parse"]["reason"] == ""


def test_an_empty_list_of_calls_is_words_without_content(env: RelaxedToolCalls) -> None:
    info = told(env, "[]")
    assert json.loads(info["action"]) == {"content": None, "tool_calls": []}
    assert info["parse"]["status"] == "words"


def test_thoughts_are_not_passed_on(env: RelaxedToolCalls) -> None:
    assert told(env, "<think>secret</think>All done.")["action"] == "All done."


@pytest.mark.parametrize("text", ["[ls", "[cat(file_name='repo", "<think>hm", "[" * 200])
def test_malformed_text_stays_malformed(env: RelaxedToolCalls, text: str) -> None:
    info = told(env, text)
    body = json.loads(info["action"])
    assert (body["content"], body["tool_calls"]) == (text, "malformed")
    assert info["parse"]["status"] == "malformed"
    assert info["calls"] == []


def test_many_brackets_in_a_string_reach_the_environment(env: RelaxedToolCalls) -> None:
    content = "[{(" * 200
    info = told(env, [ToolCall("echo", {"content": content})])
    assert info["calls"] == [{"name": "echo", "arguments": {"content": content}}]


@pytest.mark.parametrize(
    "text",
    ["[" + "ls(), " * 300 + "]", f"[echo(content='{'x' * MAX_ACTION}')]", "x" * (MAX_ACTION + 1)],
)
def test_what_no_action_can_hold_is_malformed(env: RelaxedToolCalls, text: str) -> None:
    info = told(env, text)
    assert info["parse"]["status"] == "malformed"
    assert info["parse"]["reason"].startswith("too_large")
    assert (info["calls"], info["parse"]["calls"]) == ([], 0)


def test_strict_mode_reads_strictly(echo: type[TextEnv]) -> None:
    env = RelaxedToolCalls(echo(), mode="strict")
    env.reset(seed=0)
    assert told(env, "[ls()]")["calls"] == [{"name": "ls", "arguments": {}}]
    assert told(env, "Sure: [ls()]")["parse"]["status"] == "words"
    assert told(env, "[ls(")["parse"]["status"] == "malformed"


def test_tools_that_appear_are_known_at_once(env: RelaxedToolCalls) -> None:
    assert told(env, "[extra(3)]")["parse"]["status"] == "malformed"
    told(env, "[unlock()]")
    assert told(env, "[extra(3)]")["calls"] == [{"name": "extra", "arguments": {"value": 3}}]


def test_a_restored_snapshot_takes_tools_back(env: RelaxedToolCalls) -> None:
    unwrapped: Any = env.unwrapped
    before = unwrapped.snapshot()
    told(env, "[unlock()]")
    unwrapped.restore(before)
    assert told(env, "[extra(3)]")["parse"]["status"] == "malformed"


def test_tools_come_from_info_where_the_environment_has_no_such_attribute() -> None:
    class Other(gymnasium.Env[str, str]):
        def reset(self, **_: Any) -> tuple[str, dict[str, Any]]:
            return "", {"tools": [{"name": "f", "parameters": {"properties": {"x": {}}}}]}

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            return action, 0.0, False, False, {}

    env = RelaxedToolCalls(Other())
    env.reset()
    assert json.loads(env.step("[f(3)]")[0])["tool_calls"] == [{"name": "f", "arguments": {"x": 3}}]


def test_a_fork_goes_its_own_way(env: RelaxedToolCalls) -> None:
    twin = agentenvs.fork(env)
    told(twin, "[unlock()]")
    assert told(env, "[extra(3)]")["parse"]["status"] == "malformed"
    assert told(twin, "[extra(3)]")["parse"]["status"] == "calls"


def test_a_spec_rebuilds_the_wrapper(echo: type[TextEnv]) -> None:
    gymnasium.register("tests/Echo-v0", entry_point=echo)
    try:
        env = RelaxedToolCalls(gymnasium.make("tests/Echo-v0"), mode="strict")
        assert env.spec is not None
        again = gymnasium.make(env.spec)
        assert isinstance(again, RelaxedToolCalls)
        assert again.mode == "strict"
    finally:
        del gymnasium.registry["tests/Echo-v0"]


def test_an_unknown_mode_is_an_error(echo: type[TextEnv]) -> None:
    mode: Any = "loose"
    with pytest.raises(BadArgument, match="'relaxed' or 'strict', got 'loose'"):
        RelaxedToolCalls(echo(), mode=mode)
