"""The world through prompts, parser, runner and policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentenvs.core import ToolCall
from agentenvs.frozenlake import best_moves, gold_actions, success_probability, task_ids
from agentenvs.harness import run
from agentenvs.harness.episode import Episode
from agentenvs.harness.exchange import Completion, Form, Request
from agentenvs.harness.policies import RandomPolicy, ScriptedPolicy
from agentenvs.wrappers import RelaxedToolCalls

ID = "agentenvs/FrozenLakeText-v0"
TASK = "4x4/0"
OPEN = "P . . .\nO O . .\n. O O .\nO . . G"


def begin(harness: str, **kwargs: Any) -> Episode:
    kwargs = {"success_rate": 1, **kwargs}
    env: gymnasium.Env[Any, Any] = gymnasium.make(ID, disable_env_checker=True, **kwargs)
    if harness == "light":
        env = RelaxedToolCalls(env)
    return Episode(env, harness, task=TASK, seed=0)


def finish(episode: Episode, *texts: str) -> Episode:
    for text in texts:
        episode.respond(Completion(text))
    return episode


def shown(episode: Episode) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in episode.messages]


def test_without_the_manual_the_conversation_has_the_worlds_words_and_no_others() -> None:
    episode = finish(begin("none", manual=False), "right right", "right down", "down down")
    assert episode.success
    roles = [role for role, _ in shown(episode)]
    assert roles == ["user", *["assistant", "tool"] * 3]
    assert shown(episode)[:2] == [("user", OPEN), ("assistant", "right right")]
    assert shown(episode)[-1] == ("tool", ". . . .\nO O . .\n. O O .\nO . . P")


def test_the_manual_is_a_system_message_and_replies_are_the_users() -> None:
    episode = finish(begin("none"), "right")
    roles = [role for role, _ in shown(episode)]
    assert roles == ["system", "user", "assistant", "user"]
    system = shown(episode)[0][1]
    assert "\ndown right\n" in system
    assert '"tool_calls"' in system


def test_the_light_prompt_has_the_rules_and_the_tool() -> None:
    system = shown(begin("light"))[0][1]
    assert "You stand on a frozen lake" in system
    assert "def move(direction: Literal['left', 'down', 'right', 'up']):" in system
    assert "tool_calls" not in system


@pytest.mark.parametrize("harness", ["none", "light"])
def test_plain_words_and_calls_are_read(harness: str) -> None:
    texts = ["right, right", '[{"name": "move", "arguments": {"direction": "right"}}]', "down"]
    episode = finish(begin(harness), *texts, "down down")
    assert episode.success
    assert [step.parse["status"] for step in episode.steps] == ["calls"] * 4


def test_the_light_parser_reads_calls_in_other_forms() -> None:
    episode = finish(
        begin("light"),
        'Off we go.\n```python\n[move(direction="right"), move("right")]\n```',
        '<tool_call>{"name": "move", "arguments": {"direction": "right"}}</tool_call>',
        "Where am I?",
        "[move('down'), move('down')]",
        "[move('down')]",
    )
    assert episode.success
    statuses = [step.parse["status"] for step in episode.steps]
    assert statuses == ["calls", "calls", "words", "calls", "calls"]


def test_structured_calls_become_a_line_of_moves() -> None:
    episode = begin("none")
    ways = [ToolCall("move", {"direction": way}) for way in ("right", "right")]
    episode.respond(Completion("", tuple(ways)))
    assert episode.steps[0].text == "right right"


class Best:
    """Plays the best moves for the map that it is shown."""

    name = "best"
    form: Form = "chat"
    scripted = False

    async def generate(self, request: Request) -> Completion:
        assert request.messages is not None
        cell = request.messages[-1]["content"].split().index("P")
        return Completion(" ".join(best_moves(request.where.task, cell, 5 - request.where.step)))

    def describe(self) -> dict[str, Any]:
        return {}

    async def close(self) -> None:
        pass


def test_the_best_play_through_the_runner(tmp_path: Path) -> None:
    outcomes = run("FrozenLakeText", Best(), tasks="mini", n=32, harness="none", out=tmp_path / "r")
    meant = [success_probability(task) for task in task_ids("mini")]
    counts = outcomes.counts()
    spread = (sum(p * (1 - p) for p in meant) * 32) ** 0.5 / (32 * 24)
    assert abs(counts.c.sum() / counts.n.sum() - sum(meant) / 24) < 4 * spread


def test_a_known_solution_succeeds_as_often_as_it_is_meant_to_where_no_move_slips() -> None:
    always = ScriptedPolicy("wide", gold=lambda _, task: gold_actions(task))
    kwargs = {"success_rate": 1}
    outcomes = run("FrozenLakeText", always, tasks="mini", n=16, env_kwargs=kwargs)
    meant = [always.probability(task) for task in task_ids("mini")]
    counts = outcomes.counts()
    spread = (sum(p * (1 - p) for p in meant) * 16) ** 0.5 / (16 * 24)
    assert abs(counts.c.sum() / counts.n.sum() - sum(meant) / 24) < 4 * spread


@pytest.mark.parametrize("harness", ["none", "light"])
def test_random_replies_run_to_their_end(harness: str) -> None:
    outcomes = run("FrozenLakeText", RandomPolicy(words=0.1), tasks="mini", n=2, harness=harness)
    assert outcomes.counts().n.tolist() == [2] * 24
