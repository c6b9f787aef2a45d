from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from agentenvs import registry
from agentenvs.errors import PolicyError, SettingsDiffer
from agentenvs.harness import Outcomes, replay_sampler, run
from agentenvs.harness.policies import ScriptedPolicy
from agentenvs.harness.ptgs import PTGS, Gate, Ramp

WORLDS = ("ToolLab", "BFCLv4")


def table(outcomes: Outcomes, field: str) -> Any:
    """Return a field as an array (tasks, rollouts)."""
    found = {(row["task_id"], row["rollout"]): row[field] for row in outcomes}
    n = outcomes.settings["n"]
    return np.array([[found[task, at] for at in range(n)] for task in outcomes.task_ids])


def bare(outcomes: Outcomes) -> list[dict[str, Any]]:
    kept = [{key: value for key, value in row.items() if key != "wall_s"} for row in outcomes]
    return sorted(kept, key=lambda row: (row["task_id"], row["rollout"]))


def check_same(left: Mapping[str, Any], right: Mapping[str, Any]) -> None:
    assert left.keys() == right.keys()
    assert left["header"] == right["header"]
    for key in left.keys() - {"header"}:
        np.testing.assert_array_equal(left[key], right[key], err_msg=key)


def check_consistent(outcomes: Outcomes, sampler: PTGS, feeding: slice) -> None:
    """Work posterior and temperatures out anew from the rows alone."""
    group, m = outcomes.settings["group"], len(outcomes.task_ids)
    success = table(outcomes, "success").reshape(m, -1, group)
    played = table(outcomes, "temperature").reshape(m, -1, group)
    fed = success[:, :, feeding]
    s = np.zeros(m)
    f = np.zeros(m)
    told = {key: value for key, value in outcomes.settings["sampler"].items() if key != "name"}
    gamma, middle, tau = told["gamma"], told["t_ref"], told["tau"]
    other = PTGS(**told)
    for at in range(success.shape[1]):
        asked = other.rollout_temperatures(outcomes.task_ids, group)
        np.testing.assert_array_equal(played[:, at], asked)
        other.record(outcomes.task_ids, success[:, at])
        wins = fed[:, at].sum(axis=1)
        s = gamma * s + wins
        f = gamma * f + fed.shape[2] - wins
    a, b = sampler.posterior(outcomes.task_ids)
    np.testing.assert_allclose(a, 1 + s, rtol=1e-6)
    np.testing.assert_allclose(b, 1 + f, rtol=1e-6)
    assert (sampler.visits(outcomes.task_ids) == success.shape[1]).all()
    assert played.min() >= middle / tau * (1 - 1e-6)
    assert played.max() <= middle * tau * (1 + 1e-6)
    check_same(other.state_dict(), sampler.state_dict())


@pytest.mark.parametrize("world", WORLDS)
def test_posterior_temperatures_and_outcomes_are_consistent(world: str) -> None:
    sampler = PTGS(tau=1.5, gamma=0.9, target=0.5, seed=5)
    outcomes = run(world, "scripted:wide", tasks="mini", n=12, group=4, sampler=sampler)
    assert 0 < sum(outcomes.column("success")) < len(outcomes)
    check_consistent(outcomes, sampler, slice(None))


@pytest.mark.parametrize("world", WORLDS)
def test_a_policy_that_minds_temperature_is_heard(world: str, sampling: ModuleType) -> None:
    policy = sampling.Warm(registry.gold_actions)
    sampler = PTGS(tau=3.0, gamma=0.9)
    outcomes = run(world, policy, tasks="mini", n=12, group=4, sampler=sampler)
    check_consistent(outcomes, sampler, slice(None))
    plain = run(world, policy, tasks="mini", n=12)
    assert (table(outcomes, "success") != table(plain, "success")).any()


def test_the_first_part_of_a_group_is_at_t_ref_and_feeds_alone(sampling: ModuleType) -> None:
    policy = sampling.Warm(registry.gold_actions)
    sampler = PTGS(tau=1.4, gamma=0.5, t_ref=0.8, ref_share=0.25, seed=2)
    outcomes = run("ToolLab", policy, tasks="mini", n=24, group=8, sampler=sampler)
    played = table(outcomes, "temperature").reshape(24, 3, 8)
    assert (played[:, :, :2] == np.float32(0.8)).all()
    assert (played[:, :, 2:] == played[:, :, 2:3]).all()
    assert (played[:, :, 2:] != np.float32(0.8)).all()
    check_consistent(outcomes, sampler, slice(0, 2))


def test_scheduling_changes_nothing(sampling: ModuleType) -> None:
    policy = sampling.Warm(registry.gold_actions)
    found = []
    for concurrency in (1, 64):
        sampler = PTGS(seed=3)
        arguments: dict[str, Any] = {"tasks": "mini", "n": 16, "group": 4}
        outcomes = run("ToolLab", policy, sampler=sampler, concurrency=concurrency, **arguments)
        found.append((bare(outcomes), sampler.state_dict()))
    assert found[0][0] == found[1][0]
    check_same(found[0][1], found[1][1])


@pytest.mark.parametrize("after", [150, 700, 1100])
def test_stopped_within_a_round_and_taken_up_a_run_ends_the_same(
    sampling: ModuleType, tmp_path: Path, after: int
) -> None:
    settings: dict[str, Any] = {
        "tau": 1.3,
        "target": Ramp(0.25, 0.5, 4),
        "ref_share": 0.5,
        "gate": Gate(groups=10),
    }
    arguments: dict[str, Any] = {"tasks": "mini", "n": 32, "group": 8}
    undisturbed = PTGS(**settings)
    policy = sampling.Warm(registry.gold_actions)
    whole = run("ToolLab", policy, sampler=undisturbed, **arguments)
    policy.left = after
    with pytest.raises(PolicyError):
        run("ToolLab", policy, sampler=PTGS(**settings), out=tmp_path, concurrency=9, **arguments)
    stopped = len(Outcomes.load(tmp_path))
    assert stopped % (24 * 8) != 0
    halfway = replay_sampler(tmp_path, PTGS(**settings))
    assert (halfway.visits(whole.task_ids) == stopped // (24 * 8)).all()
    policy.left = 10**9
    sampler = PTGS(**settings)
    ended = run("ToolLab", policy, sampler=sampler, out=tmp_path, **arguments)
    assert bare(ended) == bare(whole)
    check_same(sampler.state_dict(), undisturbed.state_dict())
    check_same(replay_sampler(tmp_path, PTGS(**settings)).state_dict(), sampler.state_dict())


def test_a_stopped_run_leaves_the_sampler_as_it_was(sampling: ModuleType) -> None:
    sampler = PTGS()
    run("ToolLab", "scripted:wide", tasks="mini", n=8, sampler=sampler)
    before = sampler.state_dict()
    policy = sampling.Warm(registry.gold_actions, after=500)
    with pytest.raises(PolicyError):
        run("ToolLab", policy, tasks="mini", n=32, group=8, sampler=sampler)
    check_same(sampler.state_dict(), before)


def test_another_sampler_is_refused(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"tasks": "mini", "n": 8, "group": 4, "out": tmp_path}
    run("ToolLab", "scripted:wide", sampler=PTGS(), **arguments)
    with pytest.raises(SettingsDiffer, match=r"sampler\.tau: 1\.5 -> 1\.4"):
        run("ToolLab", "scripted:wide", sampler=PTGS(tau=1.4), **arguments)
    learned = PTGS()
    learned.update(["0/x"], [3], [4])
    used = replay_sampler(tmp_path, PTGS())
    with pytest.raises(SettingsDiffer, match="in the state that it had as the run began"):
        run("ToolLab", "scripted:wide", sampler=used, **arguments)


def test_one_sampler_learns_from_run_after_run() -> None:
    sampler = PTGS(gamma=1.0)
    runs = [
        run("ToolLab", "scripted:wide", tasks="mini", n=4, seed=seed, sampler=sampler)
        for seed in range(3)
    ]
    wins = sum(table(outcomes, "success").sum(axis=1) for outcomes in runs)
    a, b = sampler.posterior(runs[0].task_ids)
    np.testing.assert_allclose(a, 1 + wins)
    np.testing.assert_allclose(b, 1 + 12 - wins)


def test_the_log_of_events_says_what_the_rows_say() -> None:
    sampler = PTGS(keep_events=True)
    policy = ScriptedPolicy("wide")
    outcomes = run("ToolLab", policy, tasks="mini", n=12, group=4, sampler=sampler)
    events = sampler.events
    played = table(outcomes, "temperature").reshape(24, 3, 4)
    success = table(outcomes, "success").reshape(24, 3, 4)
    assert list(events.task) == list(outcomes.task_ids) * 3
    np.testing.assert_array_equal(events.temperature, played[:, :, 0].T.ravel())
    np.testing.assert_array_equal(events.s, success.sum(axis=2).T.ravel())
    other = PTGS()
    other.replay(events)
    check_same(other.state_dict(), sampler.state_dict())


def test_a_function_that_cannot_see_the_temperature_is_told_so() -> None:
    settings: dict[str, Any] = {"tasks": "mini", "n": 2, "harness": "none", "sampler": PTGS()}
    with pytest.warns(UserWarning, match="temperatures do not reach it"):
        run("ToolLab", lambda prompt: "find lamp", **settings)
    seen: set[float] = set()

    def policy(request: Any) -> str:
        seen.add(request.temperature)
        return "find lamp"

    outcomes = run("ToolLab", policy, policy_kwargs={"request": True}, **settings)
    assert seen == set(outcomes.column("temperature"))
