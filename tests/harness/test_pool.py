from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.errors import BrowserError, PolicyError, RunError
from agentenvs.harness import Outcomes, Sampling, run
from agentenvs.harness.jobs import Job
from agentenvs.harness.policies import PolicyUser, RandomPolicy
from agentenvs.harness.pool import Pool
from agentenvs.harness.progress import Progress, Reporter
from agentenvs.harness.prompts import prompt
from agentenvs.harness.store.folder import Memory

PLACES = ("policy", "step", "reset", "make")


class Shaky(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that fails where its plan says so, and for good once it has."""

    def __init__(self, env: Any, plan: Iterator[str]) -> None:
        super().__init__(env)
        self.plan = plan
        self.broken = self.closed = False

    def _go(self, place: str) -> None:
        assert not self.closed
        if self.broken or next(self.plan, "") == place:
            self.broken = True
            raise BrowserError("The browser is gone.")

    def reset(self, **kwargs: Any) -> Any:
        self._go("reset")
        return super().reset(**kwargs)

    def step(self, action: Any) -> Any:
        self._go("step")
        return super().step(action)

    def close(self) -> None:
        self.closed = True
        if self.broken:
            raise OSError("it does not close either")
        super().close()


class Line(RandomPolicy):
    """A policy whose line fails where its plan says so."""

    def __init__(self, plan: Iterator[str]) -> None:
        super().__init__()
        self.plan = plan

    async def generate(self, request: Any) -> Any:
        await asyncio.sleep(0)
        if next(self.plan, "") == "policy":
            raise TimeoutError("no answer")
        return await super().generate(request)


def play(
    ledger: ModuleType, plan: Iterator[str], retries: int = 2, size: int = 3
) -> tuple[Outcomes, list[Shaky], Progress]:
    """Play two rollouts of four tasks where things fail by a plan."""
    tasks, n = ledger.TASKS[:4], 2
    made: list[Shaky] = []
    store = Memory({"task_ids": list(tasks), "n": n})

    def make_env() -> Shaky:
        if next(plan, "") == "make":
            raise BrowserError("The browser could not start.")
        made.append(Shaky(gymnasium.make(ledger.ID), plan))
        return made[-1]

    pool = Pool(
        make_env,
        Line(plan),
        prompt("light"),
        ledger.ID,
        5,
        None,
        store.write,
        void=store.void,
        retries=retries,
    )
    progress = Progress(len(tasks) * n)
    jobs = [Job(task, rollout, Sampling()) for task in tasks for rollout in range(n)]
    try:
        asyncio.run(pool.play(jobs, size, progress, Reporter()))
    finally:
        pool.close()
    assert all(env.closed for env in made)
    return store.outcomes(), made, progress


@pytest.fixture(scope="module")
def calm(ledger: ModuleType, faulty: ModuleType) -> list[dict[str, Any]]:
    outcomes, made, progress = play(ledger, iter(()))
    assert len(made) == 3
    assert progress.void == 0
    rows: list[dict[str, Any]] = faulty.bare(outcomes)
    return rows


@given(st.lists(st.sampled_from(("", "", *PLACES)), max_size=40), st.integers(1, 9))
@settings(deadline=None, max_examples=40)
def test_no_interleaving_of_faults_changes_the_counts(
    ledger: ModuleType, faulty: ModuleType, calm: list[dict[str, Any]], plan: list[str], size: int
) -> None:
    outcomes, _, progress = play(ledger, iter(plan), retries=40, size=size)
    assert faulty.bare(outcomes) == calm
    assert outcomes.counts().n.tolist() == [2] * 4
    assert progress.void == len(outcomes.voids) <= len(plan)
    assert outcomes.open == []
    tries = sum(row.get("attempt", 0) for row in outcomes)
    assert tries == len(outcomes.voids)


@given(st.lists(st.sampled_from(("", *PLACES)), max_size=60), st.integers(0, 2))
@settings(deadline=None, max_examples=40)
def test_whatever_stays_open_the_rest_is_as_without_faults(
    ledger: ModuleType,
    faulty: ModuleType,
    calm: list[dict[str, Any]],
    plan: list[str],
    retries: int,
) -> None:
    # There are eight rollouts, too few to stop the run.
    outcomes, _, progress = play(ledger, iter(plan), retries=retries)
    missing = set(outcomes.open)
    assert faulty.bare(outcomes) == [
        row for row in calm if (row["task_id"], row["rollout"]) not in missing
    ]
    assert outcomes.kinds()["void"] == len(missing)
    assert progress.done == 8 - len(missing)
    left = [row for row in outcomes.voids if (row["task_id"], row["rollout"]) in missing]
    assert len(left) == (retries + 1) * len(missing)


@pytest.mark.parametrize("place", ["step", "reset"])
def test_an_environment_that_failed_is_closed_and_another_made(
    ledger: ModuleType, faulty: ModuleType, calm: list[dict[str, Any]], place: str
) -> None:
    plan = itertools.chain([""] * 11, itertools.repeat(place, 60))
    outcomes, made, _ = play(ledger, plan, retries=60, size=1)
    assert faulty.bare(outcomes) == calm
    assert [env.broken for env in made].count(True) == len(made) - 1 > 0
    assert {row["reason"] for row in outcomes.voids} == {"browser"}


def test_a_policys_fault_costs_no_environment(
    ledger: ModuleType, faulty: ModuleType, calm: list[dict[str, Any]]
) -> None:
    outcomes, made, _ = play(ledger, iter(["", "", "policy"] * 3), size=1)
    assert outcomes.voids
    assert len(made) == 1
    assert faulty.bare(outcomes) == calm


def test_where_nothing_comes_to_a_verdict_the_run_stops(ledger: ModuleType) -> None:
    class Dead(RandomPolicy):
        asked = 0

        async def generate(self, request: Any) -> Any:
            self.asked += 1
            raise ConnectionRefusedError("nobody listens")

    policy = Dead()
    with pytest.raises(RunError, match=r"19 rollouts in a row .* by connection: .*nobody listens"):
        run(ledger.ID, policy, n=6, retries=1, concurrency=3)
    assert 38 <= policy.asked < 48


def test_a_task_that_always_fails_does_not_keep_the_others_from_being_played(
    ledger: ModuleType,
) -> None:
    class Choosy(RandomPolicy):
        async def generate(self, request: Any) -> Any:
            if request.where.task == "ledger_1":
                raise TimeoutError("no answer")
            return await super().generate(request)

    outcomes = run(ledger.ID, Choosy(), n=40, retries=0, concurrency=2)
    assert outcomes.open == [("ledger_1", rollout) for rollout in range(40)]


@pytest.mark.parametrize("answer", [TimeoutError("gone"), None])
def test_a_policy_that_does_not_heed_the_end_of_the_run_plays_no_further(
    ledger: ModuleType, answer: Exception | None
) -> None:
    class Deaf(RandomPolicy):
        asked = 0

        async def generate(self, request: Any) -> Any:
            self.asked += 1
            if self.asked == 3:
                raise OSError("a bug")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if answer is not None:
                    raise answer from None
            return await super().generate(request)

    policy = Deaf()
    with pytest.raises(PolicyError, match="a bug"):
        run(ledger.ID, policy, n=9, concurrency=3)
    assert policy.asked == 3


def test_another_failure_stops_the_run_as_ever(ledger: ModuleType) -> None:
    class Wrong(RandomPolicy):
        async def generate(self, request: Any) -> Any:
            raise OSError("a bug")

    with pytest.raises(PolicyError, match="a bug"):
        run(ledger.ID, Wrong())


@pytest.mark.parametrize("leaves", [SystemExit(0), GeneratorExit()])
def test_nothing_that_a_policy_raises_is_lost(ledger: ModuleType, leaves: BaseException) -> None:
    class Leaving(RandomPolicy):
        async def generate(self, request: Any) -> Any:
            if request.where.rollout == 1:
                raise leaves
            return await super().generate(request)

    kind = PolicyError if isinstance(leaves, SystemExit) else GeneratorExit
    with pytest.raises(kind):
        run(ledger.ID, Leaving(), n=2)


def test_a_void_try_keeps_its_place_and_error(ledger: ModuleType) -> None:
    outcomes, _, _ = play(ledger, iter(["", "", "policy"]), size=1)
    (row,) = outcomes.voids
    assert (row["task_id"], row["rollout"], row["attempt"]) == ("ledger_0", 0, 0)
    assert (row["reason"], row["error"]) == ("timeout", "TimeoutError: no answer")
    assert row["wall_s"] >= 0
    assert [row.get("attempt") for row in outcomes] == [1] + [None] * 7


def test_a_fault_in_a_function_says_where(ledger: ModuleType) -> None:
    def answer(prompt: str) -> str:
        return prompt[None]  # type: ignore[index]

    line = answer.__code__.co_firstlineno + 1
    told = rf"policy failed in task '\w+', rollout 0 \(test_pool.py, line {line}\): TypeError: "
    for building in ({}, {"threads": 1}, {"batch": True}):
        with pytest.raises(PolicyError, match=told):
            run(ledger.ID, answer, policy_kwargs=building)


class Patient(RandomPolicy):
    """A policy that waits for a server until the progress has shown it."""

    def __init__(self, told: Any) -> None:
        super().__init__()
        self.told = told
        self.shown = asyncio.Event()

    def waiting(self) -> str:
        if isinstance(self.told, Exception):
            raise self.told
        return self.told

    async def generate(self, request: Any) -> Any:
        await self.shown.wait()
        self.told = ""
        return await super().generate(request)


class Held(RandomPolicy):
    """A policy that answers once the progress has been shown."""

    def __init__(self, shown: asyncio.Event) -> None:
        super().__init__()
        self.shown = shown

    async def generate(self, request: Any) -> Any:
        await self.shown.wait()
        return await super().generate(request)


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("no answer\nfrom host", "no answer from host"),
        ("x" * 500, "x" * 120),
        (5, ""),
        (OSError("?"), ""),
    ],
)
@pytest.mark.parametrize("plays", ["agent", "user"])
def test_what_a_policy_waits_for_is_shown(
    ledger: ModuleType, told: Any, shown: str, plays: str
) -> None:
    seen: list[str] = []
    patient = Patient(told)

    class Shown(Reporter):
        period_s = 0.001

        def tick(self, progress: Progress) -> None:
            seen.append(progress.waiting)
            patient.shown.set()

    class User(PolicyUser):
        async def answer(self, messages: Any) -> None: ...

    def make_env(user: Any = None) -> Any:
        return gymnasium.make(ledger.ID)

    pool = Pool(
        make_env,
        patient if plays == "agent" else Held(patient.shown),
        prompt("light"),
        ledger.ID,
        5,
        None,
        lambda played: None,
        None if plays == "agent" else lambda: User(patient, Sampling()),
    )
    progress = Progress(1)
    asyncio.run(pool.play([Job(ledger.TASKS[0], 0, Sampling())], 1, progress, Shown()))
    pool.close()
    assert seen[0] == shown
    assert progress.waiting == ""
