from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import agentenvs
from agentenvs.acebench.conversation import END
from agentenvs.errors import BrowserError, InfrastructureFault, RunError
from agentenvs.harness import Completion, Outcomes, Request, read_transcripts, run
from agentenvs.harness.faults import Breaker, reason_of, told
from agentenvs.harness.policies import RandomPolicy, ScriptedPolicy
from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.records import Void

ACE = "agentenvs/ACEBench-v0"
DIALOGUES = [name for name in agentenvs.tasks(ACE, "mini") if "agent_multi_turn" in name]


def check_same(folder: Path, whole: Path, faulty: ModuleType, faults: list[Any]) -> None:
    """Check that faults changed nothing and that the folder tells each of them once."""
    outcomes = Outcomes.load(folder)
    assert faulty.bare(outcomes) == faulty.bare(Outcomes.load(whole))
    assert faulty.bare(read_transcripts(folder)) == faulty.bare(read_transcripts(whole))
    assert faulty.told(outcomes) == Counter(faults)
    assert outcomes.open == []
    assert outcomes.kinds()["void"] == 0


@pytest.mark.parametrize("max_requests", [None, 3])
@pytest.mark.parametrize("retries", [0, 2])
def test_faults_change_no_outcome(
    ledger: ModuleType, faulty: ModuleType, tmp_path: Path, max_requests: int | None, retries: int
) -> None:
    settings: dict[str, Any] = {
        "n": 6,
        "seed": 8,
        "max_requests": max_requests,
        "env_kwargs": {"max_steps": 6},
    }
    whole = run(ledger.ID, RandomPolicy(), out=tmp_path / "whole", **settings)
    assert whole.voids == []
    assert not (tmp_path / "whole" / "voids.jsonl").exists()
    policy = faulty.Flaky(RandomPolicy(), seed=1)
    _, calls = faulty.until_whole(
        lambda: run(ledger.ID, policy, out=tmp_path / "run", retries=retries, **settings)
    )
    assert calls > 1
    assert {reason for *_, reason, _ in policy.faults} == set(faulty.REASONS)
    check_same(tmp_path / "run", tmp_path / "whole", faulty, policy.faults)


def test_faults_change_nothing_that_a_sampler_learns(
    ledger: ModuleType, faulty: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    def sampler() -> PTGS:
        return PTGS(tau=1.5, gamma=0.9, target=0.5, seed=3)

    settings: dict[str, Any] = {"n": 9, "group": 3, "retries": 1}
    calm, inner = sampler(), sampling.Warm(ledger.gold)
    run(ledger.ID, inner, sampler=calm, out=tmp_path / "whole", **settings)
    policy, shaken = faulty.Flaky(inner, seed=2), sampler()
    _, calls = faulty.until_whole(
        lambda: run(ledger.ID, policy, sampler=shaken, out=tmp_path / "run", **settings)
    )
    assert calls > 3
    check_same(tmp_path / "run", tmp_path / "whole", faulty, policy.faults)
    tasks = list(ledger.TASKS)
    assert shaken.temperatures(tasks).tolist() == calm.temperatures(tasks).tolist()


class Partner:
    """A user whose words depend on the request's seed."""

    name, form, scripted = "partner", "chat", False

    async def generate(self, request: Request) -> Completion:
        assert request.seed is not None
        return Completion(END if request.seed % 5 == 0 else f"Please go on, {request.seed}.")

    def describe(self) -> dict[str, Any]:
        return {}

    async def close(self) -> None:
        """Nothing to free."""


def test_faults_of_a_user_change_no_outcome(faulty: ModuleType, tmp_path: Path) -> None:
    actor = ScriptedPolicy("wide")
    settings: dict[str, Any] = {"tasks": DIALOGUES, "n": 4, "seed": 2, "harness": "none"}
    run(ACE, actor, user=Partner(), out=tmp_path / "whole", **settings)
    user = faulty.Flaky(Partner(), seed=3, share=0.1)
    policy = faulty.Flaky(actor, seed=4, share=0.05)
    policy.scripted = True
    faulty.until_whole(lambda: run(ACE, policy, user=user, out=tmp_path / "run", **settings))
    assert user.faults
    assert policy.faults
    check_same(tmp_path / "run", tmp_path / "whole", faulty, user.faults + policy.faults)


def test_without_a_folder_voids_and_open_rollouts_are_told_too(
    ledger: ModuleType, faulty: ModuleType
) -> None:
    policy = faulty.Flaky(RandomPolicy(), seed=5)
    seen: list[int] = []
    outcomes = run(
        ledger.ID, policy, n=6, retries=0, progress=lambda state: seen.append(state.void)
    )
    missing = outcomes.open
    assert 0 < len(missing) == len(outcomes.voids) == len(policy.faults)
    assert faulty.told(outcomes) == Counter(policy.faults)
    assert max(seen) <= len(policy.faults)
    assert len(outcomes) + len(missing) == 72
    assert outcomes.kinds()["void"] == len(missing)
    assert int(outcomes.counts().n.sum()) == len(outcomes)
    whole = {
        (row["task_id"], row["rollout"]): row for row in faulty.bare(run(ledger.ID, "random", n=6))
    }
    assert faulty.bare(outcomes) == [whole[key] for key in sorted(whole) if key not in set(missing)]


def test_a_round_with_open_rollouts_stops_a_run_with_a_sampler(
    ledger: ModuleType, faulty: ModuleType, sampling: ModuleType
) -> None:
    sampler = sampling.Plain()
    policy = faulty.Flaky(sampling.Warm(ledger.gold), seed=6, share=0.1)
    with pytest.raises(RunError, match=r"rollouts of round 0 came to no verdict, the first .*task"):
        run(ledger.ID, policy, n=4, group=2, sampler=sampler, retries=0)
    assert sampler.told == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TimeoutError("x"), "timeout"),
        (ConnectionRefusedError("x"), "connection"),
        (InfrastructureFault("x", "http_503"), "http_503"),
        (BrowserError("x"), "browser"),
    ],
)
def test_each_fault_has_a_short_word(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason
    assert told(error) == f"{type(error).__name__}: x"


def test_a_long_error_is_cut() -> None:
    assert len(told(TimeoutError("x" * 10_000))) == 500


def opened(breaker: Breaker, count: int, task: str = "a") -> None:
    for _ in range(count):
        breaker.left_open(Void(task, 3, 2, "timeout", "TimeoutError: x", 1.0))


@pytest.mark.parametrize(("size", "most"), [(1, 12), (6, 12), (7, 14)])
def test_the_breaker_minds_rollouts_in_a_row(size: int, most: int) -> None:
    breaker = Breaker(size, 9)
    opened(breaker, most - 1)
    breaker.finished("a")
    opened(breaker, most - 1)
    with pytest.raises(RunError, match=rf"{most} rollouts .*task 'a', rollout 3, by timeout: Time"):
        opened(breaker, 1)
    # The run is being stopped: what else ends meanwhile is no news.
    opened(breaker, 20)


def test_tasks_that_always_fail_do_not_stop_the_others() -> None:
    breaker = Breaker(2, 9)
    for task in "abc":
        opened(breaker, 40, task)
    with pytest.raises(RunError, match="121 rollouts in a row"):
        opened(breaker, 1, "d")


def test_where_there_is_one_task_it_tells_enough() -> None:
    with pytest.raises(RunError, match="12 rollouts in a row"):
        opened(Breaker(2, 1), 12)
