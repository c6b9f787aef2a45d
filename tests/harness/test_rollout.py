from __future__ import annotations

import asyncio
import itertools
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import pytest

from agentenvs.errors import BadArgument, PolicyError, RunError, UnknownName
from agentenvs.harness import (
    Completion,
    Episode,
    Outcomes,
    Request,
    Sampling,
    make_policy,
    read_transcripts,
    run,
    run_async,
)
from agentenvs.harness.policies import RandomPolicy, ScriptedPolicy
from agentenvs.harness.seeds import derive


def rows(outcomes: Outcomes) -> list[dict[str, Any]]:
    """Return the rows in a fixed order, without what depends on the machine."""
    bare = [{key: value for key, value in row.items() if key != "wall_s"} for row in outcomes]
    return sorted(bare, key=lambda row: (row["task_id"], row["rollout"]))


def said(folder: Path) -> list[dict[str, Any]]:
    return sorted(read_transcripts(folder), key=lambda row: (row["task_id"], row["rollout"]))


class Shuffled(RandomPolicy):
    """Answers in an order that its own, unseeded delays decide."""

    async def generate(self, request: Request) -> Completion:
        for _ in range(random.SystemRandom().randrange(4)):
            await asyncio.sleep(0)
        return await super().generate(request)


@pytest.fixture(scope="module")
def reference(
    ledger: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("reference")
    outcomes = run(ledger.ID, RandomPolicy(), n=6, concurrency=1, seed=4, out=folder)
    return rows(outcomes), said(folder)


@pytest.mark.parametrize("concurrency", [1, 7, 64])
def test_scheduling_cannot_change_a_result(
    ledger: ModuleType,
    reference: tuple[list[dict[str, Any]], list[dict[str, Any]]],
    tmp_path: Path,
    concurrency: int,
) -> None:
    outcomes = run(ledger.ID, Shuffled(), n=6, concurrency=concurrency, seed=4, out=tmp_path)
    assert rows(outcomes) == reference[0]
    assert said(tmp_path) == reference[1]


def test_slots_give_what_fresh_environments_give(ledger: ModuleType) -> None:
    outcomes = run(ledger.ID, RandomPolicy(), n=3, seed=4, concurrency=2)
    policy = RandomPolicy()

    async def alone(row: dict[str, Any]) -> Episode:
        env = gymnasium.make(ledger.ID)
        episode = Episode(
            env,
            task=row["task_id"],
            form="completion",
            seed=derive(4, row["task_id"], row["rollout"]),
            rollout=row["rollout"],
        )
        while episode.request is not None:
            episode.respond(await policy.generate(episode.request))
        return episode

    for row in outcomes:
        episode = asyncio.run(alone(row))
        assert (episode.success, episode.reason, len(episode.steps)) == (
            row["success"],
            row["reason"],
            row["steps"],
        )


def test_a_rows_fields(ledger: ModuleType) -> None:
    gold = make_policy(ScriptedPolicy("wide", gold=ledger.gold))
    outcomes = run(ledger.ID, gold, n=2, seed=9, temperature=0.5)
    assert len(outcomes) == 24
    assert outcomes.scripted
    row = next(iter(outcomes))
    assert row["seed"] == derive(9, row["task_id"], row["rollout"])
    assert row["temperature"] == 0.5
    assert row["wall_s"] > 0
    assert sum(row["parse"][key] for key in ("calls", "words", "malformed")) == row["steps"]


def test_parse_counts_tell_rescued_steps(ledger: ModuleType) -> None:
    texts = [
        "Sure:\n```python\n[deposit(amount=1)]\n```",
        "[deposit(amount=1)]",
        "Done.",
        "[f(",
        "",
    ]

    async def answer(request: Request) -> str:
        return texts[min(request.where.step, 4)]

    outcomes = run(
        ledger.ID, answer, tasks=["ledger_0"], policy_kwargs={"request": True}, parser="relaxed"
    )
    parse = next(iter(outcomes))["parse"]
    assert (parse["calls"], parse["strict"], parse["rescued"]) == (2, 1, 1)
    assert parse["repaired"] == 1


def test_replies_whose_tokens_ran_out_are_counted(ledger: ModuleType, tmp_path: Path) -> None:
    async def answer(request: Request) -> Completion:
        short = request.where.rollout == 1
        return Completion("[deposit(amo", finish_reason="length" if short else "stop")

    settings: dict[str, Any] = {"policy_kwargs": {"request": True, "form": "completion"}}
    tasks = list(ledger.TASKS[:2])
    outcomes = run(ledger.ID, answer, tasks=tasks, n=2, out=tmp_path, **settings)
    cut = {(row["rollout"], row["parse"]["cut"], row["steps"]) for row in outcomes}
    assert {(rollout, count > 0, count in (0, steps)) for rollout, count, steps in cut} == {
        (0, False, True),
        (1, True, True),
    }
    assert outcomes.parse_totals()["cut"] == sum(row["parse"]["cut"] for row in outcomes)


def test_rollouts_of_one_task_start_together(ledger: ModuleType) -> None:
    asked: list[tuple[str, int]] = []

    async def answer(request: Request) -> str:
        if request.where.step == 0:
            asked.append((request.where.task, request.where.rollout))
        return "No."

    run(ledger.ID, answer, n=3, concurrency=5, policy_kwargs={"request": True})
    assert asked == list(itertools.product(ledger.TASKS, range(3)))


def test_a_finished_episode_is_replaced_at_once(ledger: ModuleType) -> None:
    live: set[tuple[str, int]] = set()
    most = 0

    async def answer(request: Request) -> str:
        nonlocal most
        where = request.where
        live.add((where.task, where.rollout))
        most = max(most, len(live))
        await asyncio.sleep(0)
        if where.task == "ledger_0" and where.step < 15:
            return "[deposit(amount=1)]"
        if where.step:
            live.discard((where.task, where.rollout))
        return "No."

    outcomes = run(ledger.ID, answer, concurrency=4, policy_kwargs={"request": True})
    assert most == 4
    assert outcomes.column("task_id").index("ledger_0") > 4


class Failing:
    """Passes requests on until it has had enough."""

    name = "failing"
    form = "completion"
    scripted = False

    def __init__(self, inner: Any, after: int) -> None:
        self.inner = inner
        self.left = after
        self.closed = False

    async def generate(self, request: Request) -> Completion:
        self.left -= 1
        if self.left < 0:
            raise OSError("the model went away")
        completion: Completion = await self.inner.generate(request)
        return completion

    def describe(self) -> dict[str, Any]:
        return {}

    async def close(self) -> None:
        self.closed = True


def test_a_policys_failure_stops_the_run_and_names_the_rollout(
    ledger: ModuleType, tmp_path: Path
) -> None:
    policy = Failing(RandomPolicy(), after=30)
    with pytest.raises(PolicyError, match=r"task 'ledger_\d+', rollout \d.*model went away"):
        run(ledger.ID, policy, n=4, out=tmp_path, concurrency=5)
    kept = Outcomes.load(tmp_path)
    assert 0 < len(kept) < 48
    assert len(said(tmp_path)) == len(kept)


def test_what_a_failure_left_is_finished_by_the_same_call(
    ledger: ModuleType, tmp_path: Path
) -> None:
    policy = Failing(RandomPolicy(), after=30)
    with pytest.raises(PolicyError):
        run(ledger.ID, policy, n=4, out=tmp_path, concurrency=5)
    policy.left = 10**9
    outcomes = run(ledger.ID, policy, n=4, out=tmp_path)
    whole = run(ledger.ID, RandomPolicy(), n=4)
    assert rows(outcomes) == rows(whole)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("bare text", "Completion, got str"),
        (Completion(None), "`text` to be a str, got NoneType"),  # type: ignore[arg-type]
        (Completion(b"a"), "`text` to be a str, got bytes"),  # type: ignore[arg-type]
        (Completion("", tool_calls=({"name": "f"},)), "`tool_calls` to be ToolCalls"),  # type: ignore[arg-type]
        (Completion("", tool_calls=3), "`tool_calls` to be ToolCalls, got 3"),  # type: ignore[arg-type]
    ],
)
def test_a_reply_of_the_wrong_kind_is_the_policys_fault(
    ledger: ModuleType, reply: Any, says: str
) -> None:
    class Mute(Failing):
        async def generate(self, request: Request) -> Any:
            return reply

    with pytest.raises(PolicyError, match=says):
        run(ledger.ID, Mute(None, 1))


def test_a_reply_that_was_cancelled_loses_no_rollout_in_silence(
    ledger: ModuleType, tmp_path: Path
) -> None:
    class Cancelled(Failing):
        async def generate(self, request: Request) -> Completion:
            if request.where.task == "ledger_3":
                raise asyncio.CancelledError
            return await self.inner.generate(request)

    with pytest.raises(PolicyError, match="gave up in task 'ledger_3'"):
        run(ledger.ID, Cancelled(RandomPolicy(), 1), n=2, out=tmp_path, concurrency=2)
    assert 0 < len(Outcomes.load(tmp_path)) < 24


def test_a_policy_that_was_given_stays_open(ledger: ModuleType) -> None:
    policy = Failing(RandomPolicy(), after=10**9)
    run(ledger.ID, policy)
    assert not policy.closed


def test_environments_are_closed_however_a_run_ends(
    ledger: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    closed: list[Any] = []
    begin = ledger.Ledger.__init__

    def noted(self: Any, **kwargs: Any) -> None:
        made.append(self)
        begin(self, **kwargs)

    monkeypatch.setattr(ledger.Ledger, "__init__", noted)
    monkeypatch.setattr(ledger.Ledger, "close", lambda self: closed.append(self))
    run(ledger.ID, RandomPolicy(), n=2, concurrency=5)
    with pytest.raises(PolicyError):
        run(ledger.ID, Failing(RandomPolicy(), after=60), n=4, concurrency=5)
    assert len(made) > 10
    assert {id(env) for env in made} == {id(env) for env in closed}


def test_rounds_share_their_environments(
    ledger: ModuleType, sampling: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(ledger.Ledger, "close", lambda self: made.append(self))
    run(ledger.ID, RandomPolicy(), n=6, group=2, sampler=sampling.Learner(), concurrency=5)
    # Beside the five slots, the tasks are listed and the arguments tried.
    assert len(made) == 7


def test_an_environments_fault_is_no_failed_rollout(
    ledger: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Any, action: str) -> Any:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(ledger.Ledger, "_act", broken)
    with pytest.raises(RunError, match=r"environment failed in task 'ledger_0'.*oops"):
        run(ledger.ID, RandomPolicy(), out=tmp_path)
    assert len(Outcomes.load(tmp_path)) == 0


def test_run_within_a_loop_points_to_its_sibling(ledger: ModuleType) -> None:
    async def outer() -> Outcomes:
        with pytest.raises(RunError, match="run_async"):
            run(ledger.ID, RandomPolicy())
        return await run_async(ledger.ID, RandomPolicy(), tasks=["ledger_1"])

    assert len(asyncio.run(outer())) == 1


@pytest.mark.parametrize(
    ("kwargs", "told"),
    [
        ({"n": 0}, "`n`"),
        ({"n": 1.5}, "`n`"),
        ({"concurrency": 0}, "`concurrency`"),
        ({"max_requests": 0}, "`max_requests`"),
        ({"seed": "x"}, "`seed`"),
        ({"temperature": -1.0}, "`temperature`"),
        ({"top_p": 0.0}, "`top_p`"),
        ({"max_tokens": 0}, "`max_tokens`"),
        ({"out": __file__}, "folder"),
        ({"n": 4, "group": 2}, "`group` is for a run with a sampler"),
        ({"policy": "random", "policy_kwargs": {"foo": 1}}, "foo"),
        ({"policy_kwargs": {"words": 0.5}}, "built already"),
        ({"retries": -1}, "`retries` to be at least 0, got -1"),
        ({"retries": None}, "`retries` to be an int"),
        ({"engine_kwargs": {"workers": 2}}, "'local' takes no arguments, got 'workers'"),
    ],
)
def test_arguments_out_of_range_are_refused(
    ledger: ModuleType, kwargs: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadArgument, match=told):
        run(ledger.ID, **{"policy": RandomPolicy(), **kwargs})


def test_an_unknown_policy_is_named_with_the_nearest(ledger: ModuleType) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'random'"):
        run(ledger.ID, "randm")


def test_an_unknown_engine_is_named_with_the_nearest(ledger: ModuleType) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'local'"):
        run(ledger.ID, RandomPolicy(), engine="locl")


def test_a_callback_sees_every_rollout(ledger: ModuleType) -> None:
    seen: list[tuple[int, int]] = []
    run(ledger.ID, RandomPolicy(), progress=lambda state: seen.append((state.done, state.total)))
    assert seen == [(done, 12) for done in range(1, 13)]


def test_no_limit_of_requests_means_the_environments_own(ledger: ModuleType) -> None:
    outcomes = run(ledger.ID, lambda _: "[deposit(amount=0)]", tasks=["ledger_0"])
    assert next(iter(outcomes))["reason"] == "steps"
    outcomes = run(ledger.ID, lambda _: "[deposit(amount=0)]", tasks=["ledger_0"], max_requests=3)
    assert next(iter(outcomes))["reason"] == "max_requests"


def test_sampling_fields_are_pinned() -> None:
    assert Sampling().as_dict() == {"temperature": 1.0, "top_p": 1.0, "max_tokens": 512}


def test_a_benchmark_runs_by_its_short_name() -> None:
    for harness in ("light", "none"):
        outcomes = run("BFCLv4", "scripted:narrow", tasks="mini", harness=harness)
        assert outcomes.settings["harness"] == harness
        assert 0 < sum(outcomes.column("success")) < len(outcomes)


def test_a_part_is_played_and_the_rest_later(ledger: ModuleType, tmp_path: Path) -> None:
    whole = run(ledger.ID, RandomPolicy(), n=4)
    seen: list[tuple[int, int]] = []
    part = run(
        ledger.ID,
        RandomPolicy(),
        n=4,
        rollouts=(1, 3),
        out=tmp_path,
        progress=lambda state: seen.append((state.done, state.total)),
    )
    tasks = len(whole.task_ids)
    assert seen[-1] == (2 * tasks, 2 * tasks)
    assert (part.part, part.open) == ((1, 3), [])
    assert rows(run(ledger.ID, RandomPolicy(), n=4, out=tmp_path)) == rows(whole)
