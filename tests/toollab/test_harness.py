"""The world through prompts, parser, runner and policies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentenvs.actions import read_json_action
from agentenvs.core import ToolCall
from agentenvs.harness import run
from agentenvs.harness.episode import Episode
from agentenvs.harness.exchange import Completion
from agentenvs.harness.policies import RandomPolicy, ScriptedPolicy
from agentenvs.toollab import gold_actions, task_ids
from agentenvs.toollab.design import CHANNELS
from agentenvs.toollab.grammar import write
from agentenvs.wrappers import RelaxedToolCalls

ID = "agentenvs/ToolLab-v0"
TASK = "0/order/lamp/seven"


def begin(harness: str, seed: int = 0, **kwargs: Any) -> Episode:
    env: gymnasium.Env[Any, Any] = gymnasium.make(ID, disable_env_checker=True, **kwargs)
    if harness == "light":
        env = RelaxedToolCalls(env)
    return Episode(env, harness, task=TASK, seed=seed)


def finish(episode: Episode, *texts: str) -> Episode:
    for text in texts:
        episode.respond(Completion(text))
    return episode


def native(tag: str) -> list[str]:
    """Return the plan of the task as an agent that was told the tag writes it."""
    find, call, code = gold_actions(TASK)
    lines = [write(as_calls(text)).replace(" it ", f" {tag} ") for text in (find, call)]
    return [*lines, code]


def as_calls(text: str) -> tuple[ToolCall, ...]:
    action = read_json_action(text)
    assert action is not None
    return action.calls


def test_the_conversation_has_the_worlds_words_and_no_others(seeds: Mapping[str, int]) -> None:
    find, call, code = native("k3")
    episode = finish(begin("none", seeds["k3"]), find, "mail k3", call)
    shown = [("user", "order lamp seven"), ("assistant", "find lamp"), ("tool", "k3")]
    shown += [("assistant", "mail k3"), ("tool", "error"), ("assistant", call), ("tool", "ok")]
    assert episode.request is not None
    assert episode.request.messages is not None
    assert [(m["role"], m["content"]) for m in episode.request.messages] == shown
    finish(episode, code)
    assert episode.success
    assert [(m["role"], m["content"]) for m in episode.messages] == [*shown, ("assistant", code)]
    assert {key for message in episode.messages for key in message} == {"role", "content"}


def test_the_manual_is_a_system_message_and_replies_are_the_users() -> None:
    episode = finish(begin("none", manual=True), "find chair")
    assert episode.request is not None
    assert episode.request.messages is not None
    system, *others = episode.request.messages
    assert system["role"] == "system"
    assert "find ITEM" in system["content"]
    assert [m["role"] for m in others] == ["user", "assistant", "user"]
    assert others[-1]["content"] == "unknown"


def test_the_light_prompt_has_the_policy_and_the_tools() -> None:
    episode = begin("light", manual=True)
    assert episode.request is not None
    assert episode.request.messages is not None
    text = episode.request.messages[0]["content"]
    assert "find ITEM" not in text
    assert "order, furnishings" in text
    assert all(f"def {name}(" in text for name in ("find", *CHANNELS))


def test_the_light_parser_reads_calls_and_command_lines(seeds: Mapping[str, int]) -> None:
    find, call, code = native("k3")
    channel, tag, label, count = call.split()
    episode = finish(
        begin("light", seeds["k3"]),
        'Let me look.\n```python\n[find(item="lamp")]\n```',
        f'[{channel}(tag="{tag}", label="{label}", count="{count}")]',
        code,
    )
    assert episode.success
    assert [step.parse["status"] for step in episode.steps] == ["calls", "calls", "words"]
    episode = finish(begin("light", seeds["k3"]), find, call, code)
    assert episode.success
    assert [step.parse["status"] for step in episode.steps] == ["calls", "calls", "words"]
    assert episode.steps[0].parse["format"] == "native"


def test_structured_calls_become_command_lines() -> None:
    episode = begin("none")
    episode.respond(Completion("", (ToolCall("find", {"item": "lamp"}),)))
    assert episode.steps[0].text == "find lamp"


@pytest.mark.parametrize("harness", ["none", "light"])
def test_scripted_runs_have_the_rates_they_are_meant_to(harness: str, tmp_path: Path) -> None:
    policy = ScriptedPolicy("wide")
    outcomes = run("ToolLab", policy, tasks="mini", n=16, harness=harness, out=tmp_path / "run")
    meant = [policy.probability(task) for task in task_ids("mini")]
    counts = outcomes.counts()
    rate = counts.c.sum() / counts.n.sum()
    spread = (sum(p * (1 - p) for p in meant) * 16) ** 0.5 / (16 * 24)
    assert abs(rate - sum(meant) / 24) < 4 * spread
    again = run("ToolLab", policy, tasks="mini", n=16, harness=harness)
    assert again.counts().c.tolist() == counts.c.tolist()


def test_random_replies_run_to_their_end() -> None:
    for harness in ("none", "light"):
        outcomes = run("ToolLab", RandomPolicy(words=0.1), tasks="mini", n=2, harness=harness)
        assert outcomes.counts().n.tolist() == [2] * 24


def test_a_run_in_another_world() -> None:
    policy = ScriptedPolicy("narrow", gold=lambda _, task: gold_actions(task))
    outcomes = run("ToolLab", policy, tasks="mini", n=1, env_kwargs={"world": 2})
    assert list(outcomes.task_ids) == task_ids("mini", 2)
