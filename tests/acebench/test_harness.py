"""Runs: what a model is asked, and Chinese text through prompts, parsers, folders and tables."""

# ruff: noqa: RUF001 - Chinese punctuation is meant

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import agentenvs
from agentenvs.acebench import gold_actions, mini, task_ids
from agentenvs.acebench.tasks import turns_of
from agentenvs.harness import Outcomes, run
from agentenvs.harness.episode import Episode
from agentenvs.harness.exchange import Completion, Request
from agentenvs.harness.policies.callable import CallablePolicy
from agentenvs.harness.prompts import Light
from agentenvs.harness.store.transcripts import read_transcripts
from agentenvs.spaces import UnicodeText
from agentenvs.wrappers import RelaxedToolCalls, parse_tool_calls

ID = "agentenvs/ACEBench-v0"
CHINESE = [name for name in task_ids("mini") if turns_of(name)[0].lang == "zh"]
DIALOGUE = "mini/normal_multi_turn_user_switch_1"


def golden(request: Request) -> str:
    plan = gold_actions(request.where.task)
    return plan[min(request.where.step, len(plan) - 1)]


def player(function: Callable[[Request], str]) -> CallablePolicy:
    return CallablePolicy(function, form="chat", request=True)


@pytest.mark.parametrize("harness", ["light", "none"])
@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_gold_goes_through_runs(harness: str, rules: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = run(
        ID, player(golden), tasks="mini", harness=harness, env_kwargs={"rules": rules}, out=out
    )
    assert done.counts().c.sum() == len(task_ids("mini"))
    read = Outcomes.load(out)
    assert list(read.task_ids) == task_ids("mini")
    rows = list(read)
    assert all(row["success"] for row in rows)
    assert read.counts().c.tolist() == done.counts().c.tolist()


def test_chinese_stays_whole_on_the_way(tmp_path: Path) -> None:
    assert len(CHINESE) >= 10
    seen: list[Request] = []

    def policy(request: Request) -> str:
        seen.append(request)
        return f"好的。\n{golden(request)}" if "normal" in request.where.task else golden(request)

    out = tmp_path / "run"
    done = run(ID, player(policy), tasks=CHINESE, out=out)
    assert done.counts().c.sum() == len(CHINESE)
    asked = {request.where.task: str(request.messages) for request in reversed(seen)}
    space = UnicodeText(2_000_000)
    for name in CHINESE:
        task = turns_of(name)[0]
        if task.category.startswith("agent_multi_turn"):
            continue
        for line in task.question.strip().split("\n"):
            assert line.partition(": ")[2] in asked[name] or line in asked[name]
        assert all(space.contains(request.messages[0]["content"]) for request in seen)  # type: ignore[index]
    said = {
        row["task_id"]: [step["text"] for step in row["steps"]] for row in read_transcripts(out)
    }
    for request in list(seen):
        assert policy(request) in said[request.where.task]
    done.write_jsonl(tmp_path / "rows.jsonl")
    done.save_pass_flags(tmp_path / "flags.json")
    assert Outcomes.load(tmp_path / "rows.jsonl").counts().c.sum() == len(CHINESE)


def test_chinese_names_and_values_are_parsed_and_written() -> None:
    tools = [
        {"name": "查天气", "parameters": {"properties": {"城市": {"type": "string"}}}},
        {"name": "图书.续借", "parameters": {"properties": {"书名": {"type": "string"}}}},
    ]
    for text in (
        "[查天气(城市='北京，朝阳区'), 图书.续借(书名='《三体》：第一部')]",
        '[{"name": "查天气", "arguments": {"城市": "北京，朝阳区"}}, '
        '{"name": "图书.续借", "arguments": {"书名": "《三体》：第一部"}}]',
        '```json\n[{"name": "查天气", "arguments": {"城市": "北京，朝阳区"}}, '
        '{"name": "图书.续借", "arguments": {"书名": "\\u300a三体》：第一部"}}]\n```',
    ):
        parse = parse_tool_calls(text, tools)
        assert [(call.name, call.arguments) for call in parse.calls] == [
            ("查天气", {"城市": "北京，朝阳区"}),
            ("图书.续借", {"书名": "《三体》：第一部"}),
        ]


@pytest.mark.parametrize("name", ["5G_report", "load-forecast", "3d.print"])
def test_names_that_are_no_identifiers_can_be_called(name: str) -> None:
    tools = [{"name": name, "parameters": {"properties": {"a": {"type": "string"}}}}]
    text = json.dumps([{"name": name, "arguments": {"a": "x"}}])
    (call,) = parse_tool_calls(text, tools).calls
    assert (call.name, call.arguments) == (name, {"a": "x"})


@pytest.mark.parametrize("form", ["chat", "completion"])
@pytest.mark.parametrize("prompt", ["light", "none"])
def test_a_forced_dialogue_is_asked_without_the_agents_own_answers(prompt: str, form: Any) -> None:
    episode = Episode(make(), prompt, task=DIALOGUE, form=form)
    turns = turns_of(DIALOGUE)
    for turn in turns:
        request = episode.request
        assert request is not None
        asked = request.prompt or "".join(one["content"] for one in request.messages or ())
        assert "我自己的回答" not in asked
        for line in turn.question.strip().split("\n"):
            assert line.partition(": ")[2] in asked
        if request.messages:
            roles = [one["role"] for one in request.messages]
            assert roles[0] == "system"
            assert all(one != other for one, other in pairwise(roles))
        episode.respond(Completion("我自己的回答"))
    assert episode.done
    assert episode.reason == "wrong_output_format"
    assert [step.text for step in episode.steps] == ["我自己的回答"] * len(turns)


def test_a_free_dialogue_keeps_the_agents_own_answers() -> None:
    episode = Episode(make(dialogue="free"), "light", task=DIALOGUE)
    (first, *_) = gold_actions(DIALOGUE)
    episode.respond(Completion(first))
    assert episode.request is not None
    assert episode.request.messages is not None
    assert [one["role"] for one in episode.request.messages] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert "Tool results:" in episode.request.messages[-1]["content"]


def test_the_light_prompt_shows_a_transcript_by_role() -> None:
    name = next(name for name, task in mini.tasks().items() if task.question.count("system: ") == 1)
    env = make()
    observation, info = env.reset(options={"task": turns_of(name.rpartition("_")[0])[0].unit})
    del observation
    roles = [one["role"] for one in Light().opening("", info)]
    assert roles[:2] == ["system", "user"]
    assert set(roles) <= {"system", "user", "assistant", "tool"}


def test_own_prompts_are_shown_and_recorded(tmp_path: Path) -> None:
    prompts = {"normal_atom_bool": "Call! {functions}"}
    arguments: dict[str, Any] = {
        "tasks": ["mini/normal_atom_bool_0"],
        "prompt": "none",
        "out": tmp_path / "run",
    }
    seen: list[Request] = []

    def policy(request: Request) -> str:
        seen.append(request)
        return golden(request)

    run(ID, player(policy), env_kwargs={"prompts": prompts}, n=1, **arguments)
    assert [str(one.messages).count("Call! [{") for one in seen] == [1]
    kept = json.loads((tmp_path / "run" / "run.json").read_text())
    assert prompts == _found(kept, "prompts")
    with pytest.raises(agentenvs.errors.SettingsDiffer, match="prompts"):
        run(ID, player(golden), env_kwargs={"prompts": {}}, n=1, **arguments)


def test_own_prompts_that_nobody_would_see_are_refused() -> None:
    prompts = {"normal_atom_bool": "Call! {functions}"}
    with pytest.raises(agentenvs.errors.BadArgument, match="prompt='none'"):
        run(ID, player(golden), tasks="mini", env_kwargs={"prompts": prompts})


def _found(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        if key in value:
            return value[key]
        return next((found for part in value.values() if (found := _found(part, key))), None)
    return None


def make(**kwargs: Any) -> gymnasium.Env[Any, Any]:
    return RelaxedToolCalls(gymnasium.make(ID, tasks="mini", **kwargs))
