from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.core import ToolCall
from agentenvs.errors import PolicyError
from agentenvs.harness import Completion, Outcomes, Request, make_policy, run
from agentenvs.harness.policies import RandomPolicy, ReplayPolicy, ScriptedPolicy


def bare(outcomes: Outcomes) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "wall_s"} for row in outcomes]


def test_a_replay_repeats_every_outcome(ledger: ModuleType, tmp_path: Path) -> None:
    first = run(ledger.ID, RandomPolicy(), n=3, out=tmp_path)
    assert bare(run(ledger.ID, f"replay:{tmp_path}", n=3)) == bare(first)


def test_parsed_calls_and_endings_are_repeated(ledger: ModuleType, tmp_path: Path) -> None:
    async def answer(request: Request) -> Completion:
        if request.where.rollout and request.where.step:
            return Completion("too long", finish_reason="context")
        call = ToolCall("deposit", {"amount": 1})
        return Completion("Well.", (call,), finish_reason="tool_calls")

    first = run(ledger.ID, answer, n=2, out=tmp_path, policy_kwargs={"request": True})
    assert set(first.column("reason")) == {"steps", "context_overflow"}
    assert bare(run(ledger.ID, ReplayPolicy(tmp_path), n=2)) == bare(first)


def test_a_replay_of_a_script_stays_marked(ledger: ModuleType, tmp_path: Path) -> None:
    run(ledger.ID, ScriptedPolicy("wide", gold=ledger.gold), out=tmp_path)
    assert run(ledger.ID, f"replay:{tmp_path}").scripted
    run(ledger.ID, RandomPolicy(), out=tmp_path / "other")
    assert not run(ledger.ID, f"replay:{tmp_path / 'other'}").scripted


def test_what_was_not_recorded_cannot_be_replayed(ledger: ModuleType, tmp_path: Path) -> None:
    run(ledger.ID, RandomPolicy(), out=tmp_path)
    with pytest.raises(PolicyError, match=r"no transcript of task 'ledger_0', rollout 1"):
        run(ledger.ID, f"replay:{tmp_path}", n=2)


def test_an_environment_that_goes_on_longer_is_an_error(ledger: ModuleType, tmp_path: Path) -> None:
    run(ledger.ID, lambda _: "[deposit(amount=1)]", out=tmp_path, max_requests=2)
    with pytest.raises(PolicyError, match=r"holds 2 replies.*one more"):
        run(ledger.ID, f"replay:{tmp_path}")


def test_a_folder_without_transcripts_is_refused(ledger: ModuleType, tmp_path: Path) -> None:
    run(ledger.ID, RandomPolicy(), out=tmp_path, transcripts=False)
    for spec, told in (
        (f"replay:{tmp_path}", "no transcripts"),
        (f"replay:{tmp_path / 'none'}", "Cannot replay"),
        ("replay", "run folder"),
    ):
        with pytest.raises(PolicyError, match=told):
            make_policy(spec)
