from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentenvs.errors import BadArgument, RunError, SettingsDiffer, UnknownName
from agentenvs.harness import (
    Ablation,
    Completion,
    Outcomes,
    Request,
    ablate,
    ablate_async,
    run,
)
from agentenvs.harness.ablation.result import compared
from agentenvs.harness.ablation.settings import ARMS
from agentenvs.harness.exchange import Form
from agentenvs.harness.seeds import derive


class Teller:
    """Plays known solutions now and then; wraps its calls in words where it is told to."""

    form: Form = "completion"
    scripted = False

    def __init__(self, gold: Any, name: str, wrap: str = "{}", skill: float = 0.5) -> None:
        self.name, self.wrap, self.skill, self.gold = name, wrap, skill, gold
        self.asked = self.closed = 0

    async def generate(self, request: Request) -> Completion:
        self.asked += 1
        where = request.where
        plan = self.gold(where.env_id, where.task)
        ease = derive(1, self.name, where.task) / 2**63
        if derive(where.seed, "luck") / 2**63 > (ease + self.skill) / 2:
            return Completion("No.")
        text = plan[where.step] if where.step < len(plan) else "Done."
        return Completion(self.wrap.format(text) if text.startswith("[") else text)

    def describe(self) -> Mapping[str, Any]:
        return {"skill": self.skill}

    async def close(self) -> None:
        self.closed += 1


SLOPPY = "Sure, I will do that now: {}"


@pytest.fixture
def pair(ledger: ModuleType) -> tuple[Teller, Teller]:
    return Teller(ledger.gold, "raw", SLOPPY), Teller(ledger.gold, "tuned", skill=0.8)


def folders(out: Path) -> dict[str, str]:
    return {name: str(out / name) for name in ARMS}


def facts(found: Ablation) -> dict[str, Any]:
    """Return what came out, without what depends on the machine."""
    return json.loads(json.dumps(found.to_dict()).replace("NaN", "null"))


def test_four_arms_are_played_and_compared(
    ledger: ModuleType, pair: tuple[Teller, Teller], tmp_path: Path
) -> None:
    seen: list[tuple[str, int]] = []
    found = ablate(
        ledger.ID,
        *pair,
        n=6,
        out=tmp_path,
        examples=1,
        seed=3,
        progress=lambda arm, progress: seen.append((arm, progress.done)),
    )
    assert list(found.arms) == list(ARMS)
    assert [arm for arm, done in seen if done == 72] == list(ARMS)
    settings = {name: Outcomes.load(tmp_path / name).settings for name in ARMS}
    assert [settings[name]["harness"] for name in ARMS] == ["none", "light", "none", "light"]
    assert [settings[name]["prompt"].get("examples") for name in ARMS] == [None, 1, None, 1]
    assert {known["seed"] for known in settings.values()} == {3}
    assert found.measures.K == 3
    assert found.arms["base-none"].solved == 0
    assert found.measures.pass_1.harness_base.value > 0.2
    assert found.measures.pass_1.harness_post.value == pytest.approx(0, abs=0.02)
    assert found.measures.pass_1.interaction.sure
    assert found.arms["base-light"].rescue_rate == 1
    assert found.arms["post-light"].rescue_rate == 0
    assert found.arms["base-none"].failures == {"balance": 72}
    assert (found.warnings, found.scripted, found.labels) == ((), False, ("base", "post"))
    assert (pair[0].closed, pair[1].closed) == (0, 0)


def test_the_same_call_plays_nothing_again(
    ledger: ModuleType, pair: tuple[Teller, Teller], tmp_path: Path
) -> None:
    first = ablate(ledger.ID, *pair, n=4, out=tmp_path, tasks=list(ledger.TASKS[:5]))
    asked = pair[0].asked + pair[1].asked
    rows = (tmp_path / "post-light" / "outcomes.jsonl").read_text().splitlines(keepends=True)
    again = ablate(ledger.ID, *pair, n=4, out=tmp_path, tasks=list(ledger.TASKS[:5]))
    assert pair[0].asked + pair[1].asked == asked
    assert facts(again) == facts(first)
    (tmp_path / "post-light" / "outcomes.jsonl").write_text("".join(rows[:-3]))
    mended = ablate(ledger.ID, *pair, n=4, out=tmp_path, tasks=list(ledger.TASKS[:5]))
    assert asked < pair[0].asked + pair[1].asked < asked + 20
    assert facts(mended) == facts(first)


def test_runs_that_are_there_take_the_place_of_arms(
    ledger: ModuleType, pair: tuple[Teller, Teller], tmp_path: Path
) -> None:
    first = ablate(ledger.ID, *pair, n=4, out=tmp_path)
    assert facts(ablate(arms=folders(tmp_path))) == facts(first)
    assert facts(ablate(out=tmp_path, K=3))["K"] == 3
    asked = pair[0].asked
    outcomes = {"base-none": Outcomes.load(tmp_path / "base-none")}
    mixed = ablate(ledger.ID, *pair, n=4, arms={**outcomes, "base-light": tmp_path / "base-light"})
    assert pair[0].asked == asked
    assert facts(mixed) == facts(first)


def test_arms_that_were_asked_otherwise_are_refused_before_anything_is_played(
    ledger: ModuleType, pair: tuple[Teller, Teller], tmp_path: Path
) -> None:
    run(ledger.ID, pair[0], n=4, harness="none", temperature=0.5, out=tmp_path / "warm")
    asked = pair[1].asked
    arms = {"base-none": tmp_path / "warm"}
    with pytest.raises(SettingsDiffer, match=r"sampling\.temperature: 0\.5 in base-none, 1\.0 in"):
        ablate(ledger.ID, *pair, n=4, arms=arms)
    assert pair[1].asked == asked
    found = ablate(ledger.ID, *pair, n=4, arms=arms, anyway=True)
    assert [text[:32] for text in found.warnings] == ["not alike: sampling.temperature:"]


def test_arms_over_other_tasks_are_refused_before_anything_is_played(
    ledger: ModuleType, pair: tuple[Teller, Teller], tmp_path: Path
) -> None:
    ablate(ledger.ID, *pair, n=1, out=tmp_path, tasks=list(ledger.TASKS[:3]))
    asked = pair[1].asked
    with pytest.raises(BadArgument, match="base-none is over other tasks.*: 1 of 3 are not in it"):
        ablate(
            ledger.ID,
            post=pair[1],
            n=1,
            tasks=list(ledger.TASKS[1:4]),
            arms={name: tmp_path / name for name in ARMS[:2]},
        )
    assert pair[1].asked == asked


def test_a_run_that_is_not_what_its_arm_says_is_refused(
    ledger: ModuleType, pair: tuple[Teller, Teller], tmp_path: Path
) -> None:
    ablate(ledger.ID, *pair, n=2, out=tmp_path)
    arms = {**folders(tmp_path), "base-light": tmp_path / "base-none"}
    with pytest.raises(SettingsDiffer, match='expected "light" in base-light, got "none"'):
        ablate(arms=arms)
    arms = {**folders(tmp_path), "base-light": tmp_path / "post-light"}
    with pytest.raises(SettingsDiffer, match=r"policy\.name"):
        ablate(arms=arms)


def test_what_an_arm_lacks_is_told(
    ledger: ModuleType, pair: tuple[Teller, Teller], tmp_path: Path
) -> None:
    ablate(ledger.ID, *pair, n=4, out=tmp_path)
    path = tmp_path / "base-light" / "outcomes.jsonl"
    rows = path.read_text().splitlines(keepends=True)
    kept = [row for row in rows if json.loads(row)["rollout"] != 3]
    path.write_text("".join(kept))
    void = {"task_id": ledger.TASKS[0], "rollout": 3, "attempt": 0, "reason": "timeout"}
    void |= {"error": "late", "wall_s": 1.0}
    (path.parent / "voids.jsonl").write_text(json.dumps(void) + "\n")
    found = ablate(out=tmp_path)
    assert found.warnings == (
        "base-light lacks 12 of 48 rollouts, 1 of them void (no verdict); "
        "the same command plays them.",
    )
    assert (found.arms["base-light"].void, found.arms["base-light"].n) == (1, (3, 3))
    assert found.measures.smallest_n == 3
    assert found.measures.K == 2
    path.write_text("".join(row for row in kept if json.loads(row)["task_id"] != "ledger_0"))
    with pytest.raises(RunError, match=r"different tasks:\n  base-light lacks 15 .*\n.*--common"):
        ablate(out=tmp_path)
    shared = ablate(out=tmp_path, common=True)
    assert (shared.measures.tasks, shared.measures.smallest_n) == (11, 3)
    assert {len(arm) for arm in shared.outcomes.values()} == {33}
    assert len({frozenset(arm.keys()) for arm in shared.outcomes.values()}) == 1
    assert shared.warnings[-1] == (
        "compared on 33 of 48 rollouts and 11 of 12 tasks, those that all four arms have; what "
        "some lack may be the hard ones."
    )
    path.write_text("")
    arms = {name: Outcomes.load(tmp_path / name) for name in ARMS}
    for common in (False, True):
        with pytest.raises(RunError, match="base-light lacks 48 of 48 rollouts"):
            compared(arms, None, 0.95, "none", False, common)


def test_common_takes_unequal_n_and_arms_over_other_tasks(
    ledger: ModuleType, pair: tuple[Teller, Teller], tmp_path: Path
) -> None:
    ablate(ledger.ID, *pair, n=4, out=tmp_path)
    few = Outcomes.load(tmp_path / "base-none").filter(
        ledger.TASKS[:5], lambda row: row["rollout"] < 4 - (row["task_id"] == ledger.TASKS[0])
    )
    arms = {**folders(tmp_path), "base-none": few}
    with pytest.raises(BadArgument, match=r"over the same tasks(.|\n)*--common"):
        ablate(arms=arms)
    found = ablate(arms=arms, common=True)
    assert (found.measures.tasks, found.arms["post-light"].n) == (5, (3, 4))
    whole = ablate(arms=folders(tmp_path))
    assert facts(ablate(arms=folders(tmp_path), common=True)) == facts(whole)


def test_what_cut_a_rollout_short_stands_apart(
    ledger: ModuleType, pair: tuple[Teller, Teller]
) -> None:
    found = ablate(ledger.ID, *pair, n=2, max_requests=3)
    report = found.arms["post-none"]
    assert report.cut["max_requests"] > 0
    assert "max_requests" not in report.failures
    assert report.failed == sum(report.failures.values()) + sum(report.cut.values())


def test_scripts_are_marked_and_never_called_base_or_post() -> None:
    tasks = ["mini_home_0", "mini_home_1", "mini_files_0"]
    found = ablate("BFCLv4", "scripted:wide", "scripted:narrow", tasks=tasks, n=2)
    assert found.scripted
    assert found.labels == ("first", "second")
    assert found.to_dict()["arms"]["base-none"]["policy"] == "scripted:wide"


def test_a_spec_is_built_once_for_both_of_its_arms(
    ledger: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Teller] = []

    def make(rest: str, **settings: Any) -> Teller:
        built.append(Teller(ledger.gold, rest, **settings))
        return built[-1]

    module = ModuleType("agentenvs_tests_teller")
    module.make = make  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
    kinds = {"teller": (module.__name__, "make", "")}
    monkeypatch.setattr("agentenvs.harness.policies.base.POLICIES", kinds)
    found = ablate(ledger.ID, "teller:a", "teller:b", n=2, post_kwargs={"skill": 0.9})
    assert [(one.name, one.skill, one.closed) for one in built] == [("a", 0.5, 1), ("b", 0.9, 1)]
    assert found.arms["post-light"].policy == "b"


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"arms": {"base-dark": "x"}}, UnknownName, "no arm 'base-dark'"),
        ({"base": None}, BadArgument, "The arm base-none is not there: give the policy `base`"),
        ({"sampler": object()}, BadArgument, "`sampler` is no setting"),
        ({"harness": "light"}, BadArgument, "`harness` is no setting"),
        ({"env_id": None}, BadArgument, "Expected an environment"),
        ({"arms": {"base-none": Outcomes()}}, BadArgument, "The arm base-none has no outcomes"),
        ({"K": 5}, BadArgument, "smallest n is 2"),
        ({"confidence": 2}, BadArgument, "confidence"),
    ],
)
def test_what_cannot_be_is_refused(
    ledger: ModuleType,
    pair: tuple[Teller, Teller],
    arguments: dict[str, Any],
    error: type[Exception],
    told: str,
) -> None:
    asked = {"env_id": ledger.ID, "base": pair[0], "post": pair[1], "n": 2, **arguments}
    with pytest.raises(error, match=told):
        ablate(**asked, tasks=list(ledger.TASKS[:2]))


def test_a_loop_that_runs_awaits_the_other_one(
    ledger: ModuleType, pair: tuple[Teller, Teller]
) -> None:
    async def within() -> Ablation:
        with pytest.raises(RunError, match="await ablate_async"):
            ablate(ledger.ID, *pair)
        return await ablate_async(ledger.ID, *pair, n=1)

    assert asyncio.run(within()).measures.K == 1


def test_progress_is_told_arm_by_arm(
    ledger: ModuleType, pair: tuple[Teller, Teller], capsys: pytest.CaptureFixture[str]
) -> None:
    ablate(ledger.ID, *pair, n=1, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    heads = [line for line in shown.err.splitlines() if " of 4)" in line]
    assert heads == [f"{name} ({at} of 4)" for at, name in enumerate(ARMS, 1)]
