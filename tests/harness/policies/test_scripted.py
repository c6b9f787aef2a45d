from __future__ import annotations

import asyncio
import json
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from agentenvs import registry
from agentenvs.core import Tool
from agentenvs.errors import PolicyError, UnknownName
from agentenvs.harness import Outcomes, Request, Where, make_policy, run
from agentenvs.harness.policies import ScriptedPolicy
from agentenvs.harness.tax import pass_at_k
from agentenvs.syntax import read_call_list

NAMES = [f"task_{index}" for index in range(2000)]


@pytest.fixture(scope="module")
def played() -> dict[str, Outcomes]:
    return {
        kind: run("BFCLv4", f"scripted:{kind}", tasks="mini", n=32, parser="native")
        for kind in ("wide", "narrow")
    }


def test_every_task_is_within_reach_of_wide() -> None:
    chances = [ScriptedPolicy("wide").probability(name) for name in NAMES]
    assert min(chances) >= 0.03
    assert max(chances) <= 0.6


def test_narrow_solves_some_tasks_always_and_some_never() -> None:
    chances = np.array([ScriptedPolicy("narrow").probability(name) for name in NAMES])
    assert (chances == 1.0).mean() == pytest.approx(0.35, abs=0.04)
    assert (chances == 0.0).mean() == pytest.approx(0.45, abs=0.04)


def test_both_hold_the_same_tasks_to_be_hard() -> None:
    wide, narrow = ScriptedPolicy("wide"), ScriptedPolicy("narrow")
    ordered = sorted(NAMES, key=wide.probability)
    chances = [narrow.probability(name) for name in ordered]
    assert chances == sorted(chances)


def test_the_curves_cross(played: dict[str, Outcomes]) -> None:
    def share(kind: str, k: int) -> float:
        counts = played[kind].counts()
        return float(pass_at_k(counts.c, counts.n, k).mean())

    assert share("wide", 1) < share("narrow", 1)
    assert share("wide", 32) > share("narrow", 32)


def test_results_are_marked_as_scripted(played: dict[str, Outcomes]) -> None:
    for kind, outcomes in played.items():
        assert outcomes.scripted
        assert outcomes.policy == f"scripted:{kind}"


def test_verdicts_follow_the_plan_and_the_slips(played: dict[str, Outcomes]) -> None:
    narrow = ScriptedPolicy("narrow")
    for task, flags in played["narrow"].pass_flags().items():
        chance = narrow.probability(task)
        if chance == 1.0:
            assert all(flags)
        elif chance == 0.0:
            assert sum(flags) <= 4, "a slip is a real wrong action"


def test_the_runs_seed_decides_the_rollouts(ledger: ModuleType) -> None:
    def flags(seed: int) -> dict[str, list[bool]]:
        policy = ScriptedPolicy("wide", gold=ledger.gold)
        return run(ledger.ID, policy, n=8, seed=seed).pass_flags()

    assert flags(0) == flags(0) != flags(1)


def replies(policy: ScriptedPolicy, where: Where, tools: Any) -> list[str]:
    async def play() -> list[str]:
        requests = [Request(tools=tools, where=where._replace(step=step)) for step in range(5)]
        return [(await policy.generate(request)).text for request in requests]

    return asyncio.run(play())


def test_a_slip_changes_one_action(ledger: ModuleType) -> None:
    policy = ScriptedPolicy("wide", gold=ledger.gold)
    tools = (ledger.DEPOSIT.schema(), ledger.WITHDRAW.schema())
    plan = [*ledger.gold("", "ledger_1"), "Done."]
    changed: set[int] = set()
    for seed in range(100):
        said = replies(policy, Where(ledger.ID, "ledger_1", 0, 0, seed), tools)
        differ = [
            step for step, pair in enumerate(zip(said, plan, strict=True)) if len({*pair}) > 1
        ]
        assert len(differ) <= 1
        changed.update(differ)
        for step in differ:
            known = {tool["name"]: Tool.of(tool) for tool in tools}
            read = read_call_list(said[step], known)
            assert said[step] == "Done." or (read is not None and read.status == "calls")
    assert changed == {0, 2}


def test_canonical_plans_slip_too(ledger: ModuleType) -> None:
    def plan(env_id: str, task: str) -> list[str]:
        return ['[{"name": "deposit", "arguments": {"amount": 5}}]', "Done."]

    policy = ScriptedPolicy("wide", gold=plan)
    said = {
        replies(policy, Where("", "ledger_1", 0, 0, seed), (ledger.DEPOSIT.schema(),))[0]
        for seed in range(60)
    }
    assert "Done." in said
    changed = [json.loads(text) for text in said - {"Done.", plan("", "")[0]}]
    assert changed
    assert all(row["tool_calls"][0]["arguments"] != {"amount": 5} for row in changed)


@pytest.mark.parametrize("parser", ["official", "native", "strict", "relaxed"])
def test_solutions_work_under_every_parser(parser: str) -> None:
    narrow = ScriptedPolicy("narrow")
    easy = [t for t in registry.tasks("BFCLv4", "mini") if narrow.probability(t) == 1.0][:6]
    outcomes = run("BFCLv4", narrow, tasks=easy, parser=parser)
    assert all(outcomes.column("success"))


def test_a_task_without_a_solution_is_an_error(ledger: ModuleType) -> None:
    with pytest.raises(PolicyError, match="no known solution"):
        run(ledger.ID, ScriptedPolicy("wide", gold=lambda env_id, task: []))


def test_an_unknown_kind_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'narrow'"):
        make_policy("scripted:narow")
