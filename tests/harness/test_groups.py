from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument, PolicyError, RunDamaged, SettingsDiffer
from agentenvs.harness import Outcomes, replay_sampler, run
from agentenvs.harness.exchange import Sampling
from agentenvs.harness.groups import Groups, unchanged_by_failure
from agentenvs.harness.ptgs import PTGS


def bare(outcomes: Any) -> list[dict[str, Any]]:
    kept = [{key: value for key, value in row.items() if key != "wall_s"} for row in outcomes]
    return sorted(kept, key=lambda row: (row["task_id"], row["rollout"]))


def table(outcomes: Outcomes, field: str) -> Any:
    """Return a field as an array (tasks, rollouts)."""
    found = {(row["task_id"], row["rollout"]): row[field] for row in outcomes}
    n = outcomes.settings["n"]
    return np.array([[found[task, at] for at in range(n)] for task in outcomes.task_ids])


def test_a_sampler_of_two_methods_sets_each_groups_temperature(
    ledger: ModuleType, sampling: ModuleType
) -> None:
    sampler = sampling.Plain()
    outcomes = run(ledger.ID, sampling.Warm(ledger.gold), n=6, group=2, sampler=sampler)
    first = 0.5 + 0.1 * np.arange(12)
    wanted = np.stack([first, first, first + 1, first + 1, first + 2, first + 2], axis=1)
    np.testing.assert_array_equal(table(outcomes, "temperature"), wanted)


def test_what_a_sampler_is_told_is_what_came_out(ledger: ModuleType, sampling: ModuleType) -> None:
    sampler = sampling.Plain()
    outcomes = run(ledger.ID, sampling.Warm(ledger.gold), n=6, group=2, sampler=sampler)
    success = table(outcomes, "success")
    rounds = [success[:, at : at + 2].sum(axis=1).tolist() for at in (0, 2, 4)]
    assert sampler.told == [(list(ledger.TASKS), counts, [2] * 12) for counts in rounds]
    assert len({tuple(counts) for counts in rounds}) > 1


def test_without_a_group_all_rollouts_are_one(ledger: ModuleType, sampling: ModuleType) -> None:
    sampler = sampling.Plain()
    outcomes = run(ledger.ID, sampling.Warm(ledger.gold), n=4, sampler=sampler)
    assert sampler.told == [(list(ledger.TASKS), outcomes.counts().c.tolist(), [4] * 12)]
    assert outcomes.settings["group"] == 4
    assert outcomes.settings["sampling"]["temperature"] is None


def test_each_rollout_may_have_its_own_temperature(
    ledger: ModuleType, sampling: ModuleType
) -> None:
    sampler = sampling.Learner()
    outcomes = run(ledger.ID, sampling.Warm(ledger.gold), n=6, group=3, sampler=sampler)
    played = table(outcomes, "temperature")
    assert len(np.unique(played)) == played.size
    fresh = sampling.Learner()
    for at in (0, 3):
        asked = fresh.rollout_temperatures(outcomes.task_ids, 3)
        np.testing.assert_array_equal(asked, played[:, at : at + 3])
        fresh.record(outcomes.task_ids, table(outcomes, "success")[:, at : at + 3])
    assert fresh.seen == sampler.seen


@pytest.mark.parametrize("concurrency", [1, 5, 64])
def test_scheduling_changes_nothing(
    ledger: ModuleType, sampling: ModuleType, concurrency: int
) -> None:
    results = []
    for size in (3, concurrency):
        sampler = sampling.Learner(4)
        outcomes = run(
            ledger.ID,
            sampling.Warm(ledger.gold),
            n=8,
            group=4,
            sampler=sampler,
            concurrency=size,
        )
        results.append((bare(outcomes), sampler.seen))
    assert results[0] == results[1]


@pytest.mark.parametrize("after", [0, 40, 130, 300])
def test_a_stopped_run_leaves_the_sampler_as_it_was_and_goes_on_with_it(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path, after: int
) -> None:
    undisturbed = sampling.Learner()
    whole = run(ledger.ID, sampling.Warm(ledger.gold), n=12, group=4, sampler=undisturbed)
    sampler = sampling.Learner()
    policy = sampling.Warm(ledger.gold, after=after)
    arguments: dict[str, Any] = {"n": 12, "group": 4, "sampler": sampler, "out": tmp_path}
    with pytest.raises(PolicyError):
        run(ledger.ID, policy, concurrency=7, **arguments)
    assert sampler.seen == {}
    assert len(Outcomes.load(tmp_path)) < 144
    policy.left = 10**9
    assert bare(run(ledger.ID, policy, concurrency=2, **arguments)) == bare(whole)
    assert sampler.seen == undisturbed.seen


def test_a_stopped_run_replays_to_where_it_stood(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    policy = sampling.Warm(ledger.gold, after=200)
    with pytest.raises(PolicyError):
        run(ledger.ID, policy, n=12, group=4, sampler=sampling.Learner(), out=tmp_path)
    done = Outcomes.load(tmp_path)
    assert 48 < len(done) < 144
    sampler = replay_sampler(tmp_path, sampling.Learner())
    rounds = {len(seen) for seen in sampler.seen.values()}
    assert rounds == {min(done.counts().n) // 4}


def test_a_folder_replays_to_the_same_state(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    sampler = sampling.Learner(3)
    run(ledger.ID, sampling.Warm(ledger.gold), n=6, group=2, sampler=sampler, out=tmp_path)
    assert replay_sampler(tmp_path, sampling.Learner(3)).state_dict() == sampler.state_dict()


def test_more_rounds_go_on_from_those_that_are_there(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    policy = sampling.Warm(ledger.gold)
    run(ledger.ID, policy, n=4, group=2, sampler=sampling.Learner(), out=tmp_path)
    sampler = sampling.Learner()
    more = run(ledger.ID, policy, n=6, group=2, sampler=sampler, out=tmp_path)
    undisturbed = sampling.Learner()
    whole = run(ledger.ID, policy, n=6, group=2, sampler=undisturbed)
    assert bare(more) == bare(whole)
    assert sampler.seen == undisturbed.seen


def test_a_sampler_that_has_learned_since_is_refused_and_left_as_it_was(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    policy = sampling.Warm(ledger.gold)
    sampler = sampling.Learner()
    run(ledger.ID, policy, n=4, group=2, sampler=sampler, out=tmp_path)
    before = sampler.state_dict()
    told = r"Task 'ledger_0', rollout 0 was played at temperature 1\.\d+, where this sampler gives"
    with pytest.raises(SettingsDiffer, match=told):
        run(ledger.ID, policy, n=4, group=2, sampler=sampler, out=tmp_path)
    with pytest.raises(SettingsDiffer, match="nothing learned since"):
        replay_sampler(tmp_path, sampler)
    assert sampler.state_dict() == before


def test_other_settings_of_a_sampler_or_a_group_are_refused(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    policy = sampling.Warm(ledger.gold)
    run(ledger.ID, policy, n=4, group=2, sampler=sampling.Learner(), out=tmp_path)
    for kwargs, told in (
        ({"sampler": sampling.Learner(1), "group": 2}, r"sampler\.seed: 0 -> 1"),
        ({"sampler": sampling.Plain(), "group": 2}, r'sampler\.name: "Learner" -> "Plain"'),
        ({"sampler": sampling.Learner(), "group": 4}, r"group: 2 -> 4"),
        ({"sampler": sampling.Learner()}, r"group: 2 -> 4"),
        ({}, r'sampler\.name: "Learner" -> null'),
    ):
        with pytest.raises(SettingsDiffer, match=told):
            run(ledger.ID, policy, n=4, out=tmp_path, **kwargs)
    with pytest.raises(SettingsDiffer, match=r"another sampler:\n  sampler\.seed: 0 -> 1"):
        replay_sampler(tmp_path, sampling.Learner(1))


@pytest.mark.parametrize(
    ("n", "group", "told"),
    [
        (10, 4, r"multiple of `group`, got n=10 and group=4; n=12 would do"),
        (3, 4, r"got n=3 and group=4; n=4 would do"),
        (4, 0, r"`group` to be an int of at least 1, got 0"),
        (4, -2, "got -2"),
        (4, 2.0, "got 2.0"),
        (4, True, "got True"),
    ],
)
def test_groups_that_do_not_fit_are_refused(
    ledger: ModuleType, sampling: ModuleType, n: int, group: Any, told: str
) -> None:
    with pytest.raises(BadArgument, match=told):
        run(ledger.ID, sampling.Warm(None), n=n, group=group, sampler=sampling.Plain())


@pytest.mark.parametrize(
    ("temperatures", "told"),
    [
        ([1.0], r"12 temperatures, got shape \(1,\)"),
        ([1.0] * 11 + [float("nan")], "within 0 to 100, got nan for task 'ledger_11'"),
        ([-1.0] + [1.0] * 11, "within 0 to 100, got -1.0 for task 'ledger_0'"),
        ([1.0] * 11 + [101.0], "within 0 to 100, got 101.0 for task 'ledger_11'"),
        (["hot"] * 12, r"an array of temperatures, got \['hot'"),
        ([1.0, [1.0, 2.0]], r"an array of temperatures, got \[1.0, \[1.0, 2.0\]\]"),
        (None, "an array of temperatures, got None"),
        (1.0, r"12 temperatures, got shape \(\)"),
    ],
)
def test_temperatures_that_are_none_are_refused(
    ledger: ModuleType, sampling: ModuleType, temperatures: Any, told: str
) -> None:
    sampler = sampling.Plain()
    sampler.temperatures = lambda _: temperatures
    with pytest.raises(BadArgument, match=told):
        run(ledger.ID, sampling.Warm(ledger.gold), sampler=sampler)


@pytest.mark.parametrize(
    ("sampler", "told"),
    [
        ("ptgs", "a sampler, got 'ptgs', without `temperatures`; `make_sampler` makes one"),
        (3, "a sampler, got 3, without `temperatures`"),
        (PTGS, "a sampler, got <class '.*PTGS'>, a class"),
    ],
)
def test_what_is_no_sampler_is_refused(ledger: ModuleType, sampler: Any, told: str) -> None:
    with pytest.raises(BadArgument, match=told):
        run(ledger.ID, "random", sampler=sampler)


@pytest.mark.parametrize(
    ("described", "told"),
    [({"x": object()}, "what JSON can hold: Object of type"), ([1], r"to give a dict, got \[1\]")],
)
def test_a_sampler_describes_itself_in_json(
    ledger: ModuleType, sampling: ModuleType, described: Any, told: str
) -> None:
    sampler = sampling.Learner()
    sampler.describe = lambda: described
    with pytest.raises(BadArgument, match=told):
        run(ledger.ID, sampling.Warm(ledger.gold), sampler=sampler)


def test_a_sampler_that_fails_at_learning_is_brought_back_and_the_run_goes_on(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    class Moody(PTGS):
        well = False

        def record(self, ids: Any, outcomes: Any, *, step: int | None = None) -> None:
            if self.step == 1 and not self.well:
                raise ZeroDivisionError
            super().record(ids, outcomes, step=step)

    policy, sampler = sampling.Warm(ledger.gold), Moody()
    arguments: dict[str, Any] = {"n": 6, "group": 2, "sampler": sampler}
    with pytest.raises(ZeroDivisionError):
        run(ledger.ID, policy, out=tmp_path, **arguments)
    assert (sampler.step, len(Outcomes.load(tmp_path))) == (0, 48)
    sampler.well = True
    went_on = run(ledger.ID, policy, out=tmp_path, **arguments)
    undisturbed = run(ledger.ID, policy, n=6, group=2, sampler=PTGS())
    assert bare(went_on) == bare(undisturbed)


def test_a_failed_run_keeps_the_log_of_what_went_before(
    ledger: ModuleType, sampling: ModuleType
) -> None:
    sampler = PTGS(keep_events=True)
    run(ledger.ID, sampling.Warm(ledger.gold), n=4, group=2, sampler=sampler)
    before = list(sampler.events.rows())
    assert len(before) == 24
    with pytest.raises(PolicyError):
        run(ledger.ID, sampling.Warm(ledger.gold, after=90), n=6, group=2, sampler=sampler)
    assert list(sampler.events.rows()) == before
    assert sampler.step == 2


def test_rollout_temperatures_of_another_shape_are_refused(
    ledger: ModuleType, sampling: ModuleType
) -> None:
    sampler = sampling.Learner()
    sampler.rollout_temperatures = lambda tasks, n: np.ones((len(tasks), n + 1))
    with pytest.raises(BadArgument, match=r"shape \(12, 2\), got shape \(12, 3\)"):
        run(ledger.ID, sampling.Warm(ledger.gold), n=2, sampler=sampler)


def test_a_run_without_a_sampler_replays_to_nothing(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    run(ledger.ID, sampling.Warm(ledger.gold), out=tmp_path)
    with pytest.raises(BadArgument, match="made with a sampler; this one was not"):
        replay_sampler(tmp_path, sampling.Learner())


def test_outcomes_in_memory_replay_too(ledger: ModuleType, sampling: ModuleType) -> None:
    sampler = sampling.Learner()
    outcomes = run(ledger.ID, sampling.Warm(ledger.gold), n=4, group=2, sampler=sampler)
    assert replay_sampler(outcomes, sampling.Learner()).seen == sampler.seen


def edit(folder: Path, change: Any) -> None:
    path = folder / "outcomes.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in change(lines)))


def test_a_later_round_without_an_earlier_one_is_damage(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    policy = sampling.Warm(ledger.gold)
    run(ledger.ID, policy, n=6, group=2, sampler=sampling.Learner(), out=tmp_path)
    edit(tmp_path, lambda rows: [row for row in rows if row["rollout"] != 1])
    with pytest.raises(RunDamaged, match="rollouts of round 1, though round 0 is not complete"):
        replay_sampler(tmp_path, sampling.Learner())


def test_an_outcome_that_is_none_of_the_runs_is_damage(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    run(ledger.ID, sampling.Warm(ledger.gold), n=2, out=tmp_path)
    edit(tmp_path, lambda rows: [{**row, "rollout": row["rollout"] + 1} for row in rows])
    with pytest.raises(RunDamaged, match="rollout 2 is there but no part"):
        run(ledger.ID, sampling.Warm(ledger.gold), n=2, out=tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"n": -2}, "multiple of `group`, got n=-2 and group=2"),
        ({"n": 5}, "multiple of `group`, got n=5 and group=2"),
        ({"n": "4"}, "got n='4' and group=2"),
        ({"n": 10**30}, "at most 1000000000 rollouts in run.json, got n=10{30} for each of 12"),
        ({"group": 0}, "got n=4 and group=0"),
        ({"group": None}, "got n=4 and group=None"),
        ({"task_ids": 5}, "to list different tasks, got 5"),
        ({"task_ids": [["a"]]}, r"to list different tasks, got \[\['a'\]\]"),
        ({"task_ids": ["a", "a"]}, r"to list different tasks, got \['a', 'a'\]"),
        ({"task_ids": ["ledger_0"]}, "'ledger_1', rollout 0 is there but no part of the run"),
    ],
)
def test_settings_that_were_changed_by_hand_are_damage(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    policy = sampling.Warm(ledger.gold)
    run(ledger.ID, policy, n=4, group=2, sampler=sampling.Learner(), out=tmp_path)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(RunDamaged, match=told):
        replay_sampler(tmp_path, sampling.Learner())


def test_a_temperature_beyond_all_bounds_is_damage(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    run(ledger.ID, sampling.Warm(ledger.gold), n=2, sampler=sampling.Learner(), out=tmp_path)
    edit(tmp_path, lambda rows: [row | {"temperature": 10**400} for row in rows])
    with pytest.raises(RunDamaged, match="expected a temperature, got a number beyond"):
        replay_sampler(tmp_path, sampling.Learner())


def test_a_temperature_that_was_changed_by_hand_is_found(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    policy = sampling.Warm(ledger.gold)
    run(ledger.ID, policy, n=4, group=2, sampler=sampling.Learner(), out=tmp_path)

    def nudge(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for row in rows:
            if (row["task_id"], row["rollout"]) == ("ledger_5", 3):
                row["temperature"] = float(np.nextafter(row["temperature"], 2))
        return rows

    edit(tmp_path, nudge)
    with pytest.raises(SettingsDiffer, match="'ledger_5', rollout 3"):
        replay_sampler(tmp_path, sampling.Learner())


def test_a_sampler_without_a_state_keeps_what_it_was_told(sampling: ModuleType) -> None:
    sampler = sampling.Plain()

    def fail() -> None:
        with unchanged_by_failure(sampler):
            sampler.update(["a"], [1], [1])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert len(sampler.told) == 1


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.randoms())
def test_every_rollout_is_played_once_whatever_is_there(
    tasks: int, rounds: int, size: int, draw: random.Random
) -> None:
    names = [f"t{at}" for at in range(tasks)]
    n = rounds * size
    have = [(task, at) for task in names for at in range(n) if draw.random() < 0.5]
    groups = Groups(names, n, Sampling(0.7), None)
    for task, rollout in have:
        groups.note(task, rollout, success=True)
    jobs = [job for number in range(groups.rounds) for job in groups.begin(number)]
    assert sorted([*have, *((job.task, job.rollout) for job in jobs)]) == [
        (task, at) for task in names for at in range(n)
    ]
    assert {job.sampling.temperature for job in jobs} <= {0.7}


PROGRAM = """
import asyncio, importlib.util, sys
from pathlib import Path
from agentenvs.harness import run

def load(name):
    spec = importlib.util.spec_from_file_location(name, Path(sys.argv[1]) / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

ledger, sampling = load("ledger"), load("sampling")
ledger.register()

class Slow(sampling.Warm):
    async def generate(self, request):
        await asyncio.sleep(0.01)
        return await super().generate(request)

sampler = sampling.Learner(8)
run(ledger.ID, Slow(ledger.gold), n=20, group=5, sampler=sampler, seed=6, out=sys.argv[2],
    concurrency=8)
print(sampler.state_dict()["header"])
"""


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
def test_killed_within_rounds_a_run_ends_like_an_undisturbed_one(
    ledger: ModuleType, sampling: ModuleType, tmp_path: Path
) -> None:
    rows = tmp_path / "outcomes.jsonl"
    for most, kind in ((70, signal.SIGKILL), (150, signal.SIGINT)):
        process = start(tmp_path)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if rows.exists() and rows.read_bytes().count(b"\n") >= most:
                break
            time.sleep(0.005)
        process.send_signal(kind)
        process.communicate()
        assert most <= len(Outcomes.load(tmp_path)) < 240
        copied = shutil.copytree(tmp_path, tmp_path.with_name(f"at{most}"))
        whole_rounds = {len(s) for s in replay_sampler(copied, sampling.Learner(8)).seen.values()}
        assert len(whole_rounds) == 1
    process = start(tmp_path)
    told, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    sampler = sampling.Learner(8)
    policy = sampling.Warm(ledger.gold)
    whole = run(ledger.ID, policy, n=20, group=5, sampler=sampler, seed=6)
    assert json.loads(told) == sampler.seen
    assert bare(Outcomes.load(tmp_path)) == bare(whole)


@pytest.mark.parametrize("part", [(0, 0), (2, 1), (0, 5), (-1, 2), (0, 1, 2), "0:2", (0.0, 2.0), 2])
def test_a_part_that_is_none_of_the_run_is_refused(part: Any) -> None:
    with pytest.raises(BadArgument, match="Expected `rollouts` to be .first, one after the last."):
        Groups(["a"], 4, Sampling(), part=part)


def test_a_sampler_plays_no_part(ledger: ModuleType) -> None:
    with pytest.raises(BadArgument, match="learns from whole rounds"):
        run(
            ledger.ID, "random", n=4, sampler=PTGS(tau=1.5, gamma=0.95, target=0.5), rollouts=(0, 2)
        )
