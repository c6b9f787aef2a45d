from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS, Events, Gate, Ramp

Same = Callable[..., None]

SETTINGS: list[dict[str, Any]] = [
    {},
    {"target": Ramp(0.25, 0.5, 12), "gamma": 0.7, "t_ref": 0.6, "seed": 5},
    {"target": Ramp(0.25, 0.5, 5, by="visits"), "pilot": 1},
    {
        "target": Ramp(0.4, 0.6, 12),
        "ref_share": 0.5,
        "gate": Gate(groups=4, confidence=0.6, probe=0.3),
    },
]


def outcomes(rng: np.random.Generator, heat: np.ndarray) -> np.ndarray:
    """Success falls with heat, so that a gate has something to close."""
    return rng.random(heat.shape) < 0.4 * np.exp(-3 * (heat - 1))


def play(sampler: PTGS, steps: int, numbers: bool = False, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        picked = rng.choice(20, 8, replace=False).tolist()
        ids: Any = picked if numbers else [f"task {at}" for at in picked]
        sampler.record(ids, outcomes(rng, sampler.rollout_temperatures(ids, 8)))


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("numbers", [False, True])
def test_a_log_replays_to_the_same_state(
    settings: dict, numbers: bool, same: Same, tmp_path: Path
) -> None:
    sampler = PTGS(**settings, keep_events=True)
    play(sampler, 15, numbers)
    if sampler.settings.gate:
        assert sampler.stats()["gate_off"] > 0
    sampler.events.write(tmp_path / "log")
    again = PTGS(**settings)
    again.replay(Events.read(tmp_path / "log"))
    same(again.state_dict(), sampler.state_dict())
    assert str(again.stats()) == str(sampler.stats())
    ids: Any = list(range(20)) if numbers else [f"task {at}" for at in range(20)]
    assert (again.temperatures(ids) == sampler.temperatures(ids)).all()


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_log_in_pieces_is_a_log(settings: dict, same: Same) -> None:
    sampler = PTGS(**settings, keep_events=True)
    play(sampler, 8)
    rows = list(sampler.events.rows())
    again = PTGS(**settings, keep_events=True)
    for step in range(1, 9):
        again.replay(Events.of(row for row in rows if row["step"] == step))
    same(again.state_dict(), sampler.state_dict())
    assert list(again.events.rows()) == rows


@pytest.mark.parametrize("settings", SETTINGS[:3])
def test_two_workers_with_tasks_of_their_own_merge_to_one(settings: dict, same: Same) -> None:
    """Each worker owns half of the tasks; steps are in common.

    A gate pools over tasks: its workers share a state, as in the next test.
    """
    one = PTGS(**settings)
    workers = [PTGS(**settings, keep_events=True) for _ in range(2)]
    rng = np.random.default_rng(2)
    for _ in range(12):
        ids = [f"task {at}" for at in rng.choice(20, 8, replace=False)]
        heat = one.rollout_temperatures(ids, 8)
        won = outcomes(rng, heat)
        for at, worker in enumerate(workers):
            mine = [int(task.split()[1]) % 2 == at for task in ids]
            kept = [task for task, own in zip(ids, mine, strict=True) if own]
            assert (worker.rollout_temperatures(kept, 8) == heat[mine]).all()
            worker.record(kept, won[mine])
        one.record(ids, won)
    merged = PTGS(**settings)
    merged.replay(Events.merge(*(worker.events for worker in workers)))
    same(merged.state_dict(), one.state_dict())


@pytest.mark.parametrize("settings", SETTINGS)
def test_two_workers_that_share_tasks_and_groups_stay_one(settings: dict, same: Same) -> None:
    """Workers with a copy each play parts of the same groups, and gather their rows each step."""
    one = PTGS(**settings)
    workers = [PTGS(**settings) for _ in range(2)]
    share = bool(settings.get("ref_share"))
    rng = np.random.default_rng(3)
    log = []
    for _ in range(12):
        ids = [f"task {at}" for at in rng.choice(20, 8, replace=False)]
        heat = one.rollout_temperatures(ids, 16)
        won = outcomes(rng, heat)
        one.record(ids, won)
        # The first three tasks are played by both, half of the rollouts each.
        parts = [(ids[:5], won[:5]), (ids[:3] + ids[5:], won[[0, 1, 2, 5, 6, 7]])]
        reports = []
        for at, (worker, (mine, table)) in enumerate(zip(workers, parts, strict=True)):
            assert set(worker.temperatures(mine)) <= set(heat[:, -1])
            split = np.arange(len(mine)) < 3
            cut = np.ones(table.shape, dtype=bool)
            cut[split] = np.arange(16) % 2 == at
            hits, rolls = (table & cut).sum(axis=1), cut.sum(axis=1)
            first = cut[:, :8]
            ref = {"ref_successes": (table[:, :8] & first).sum(axis=1), "ref_n": first.sum(axis=1)}
            reports.append(worker.report(mine, hits, rolls, **(ref if share else {})))
        rows = Events.merge(*reports)
        log.append(rows)
        for worker in workers:
            worker.replay(rows)
    same(workers[0].state_dict(), workers[1].state_dict())
    same(workers[0].state_dict(), one.state_dict())
    last = PTGS(**settings)
    last.replay(Events.join(log))
    same(last.state_dict(), one.state_dict())


def test_a_task_twice_in_a_step_comes_twice(same: Same) -> None:
    sampler = PTGS(target=Ramp(0.2, 0.8, 3), keep_events=True)
    for step in (1, 1, 1, 2):
        sampler.temperatures(["a", "b"], step=step)
        sampler.update(["a"], 3, 8, step=step)
    sampler.update(["b"], 3, 8, step=2)
    again = PTGS(target=Ramp(0.2, 0.8, 3))
    again.replay(Events.merge(sampler.events))
    same(again.state_dict(), sampler.state_dict())
    assert again.visits(["a", "b"]).tolist() == [4, 1]


@pytest.mark.parametrize("settings", SETTINGS)
def test_groups_that_come_back_late(settings: dict, same: Same) -> None:
    """Temperatures are drawn steps before their groups are told, as asynchronous trainers do."""
    sampler = PTGS(**settings, keep_events=True)
    rng = np.random.default_rng(4)
    out: list[tuple[str, np.ndarray]] = []
    for step in range(1, 16):
        busy = {task for task, _ in out}
        for at in rng.permutation(12)[:4]:
            if f"task {at}" not in busy:
                heat = sampler.rollout_temperatures([f"task {at}"], 8)[0]
                out.append((f"task {at}", outcomes(rng, heat)))
        back = [out.pop(at) for at in sorted(rng.permutation(len(out))[:3], reverse=True)]
        sampler.record([task for task, _ in back], [won for _, won in back], step=step)
    events = sampler.events
    assert (events.drawn < events.step).any()
    again = PTGS(**settings)
    again.replay(events)
    # What is still out was never told.
    told = sampler.state_dict()
    assert again.state_dict()["tally"].tolist() == told["tally"].tolist()
    assert (again.estimates(events.task) == sampler.estimates(events.task)).all()
    assert (again.visits(events.task) == sampler.visits(events.task)).all()


def changed(events: Events, column: str, at: int, value: float) -> Events:
    new = getattr(events, column).copy()
    new[at] = value
    return replace(events, **{column: new})


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("temperature", 1.2345678, r"temperature \d\.\d+ in row 9 \(task 'task \d+', step 2\)"),
        ("visit", 3, r"visit \d in row 9 \(task 'task \d+', step 2\), got 3"),
        ("step", 0, r"`step` of at least 1, the last one told, in row 9"),
        ("drawn", 3, "`drawn` no later than `step` in row 9 .*, got step 2, drawn 3"),
        ("drawn", 0, "`drawn` of at least 1 in row 9"),
        ("s", 9, "0 <= s <= n, got 9 of 8 at position 9"),
        ("ref_n", 1, "`ref_n` of 0 without `ref_share` in row 9"),
    ],
)
def test_rows_that_do_not_fit_are_named_and_leave_no_trace(
    column: str, value: float, message: str, same: Same
) -> None:
    sampler = PTGS(keep_events=True)
    play(sampler, 3)
    again = PTGS()
    again.temperatures([f"task {at}" for at in range(20)])
    before = again.state_dict()
    with pytest.raises(BadArgument, match=message):
        again.replay(changed(sampler.events, column, 9, value))
    same(again.state_dict(), before)


def test_other_settings_and_missing_rows_are_noticed() -> None:
    sampler = PTGS(keep_events=True)
    play(sampler, 5)
    with pytest.raises(BadArgument, match=r"in row 0 .*: the log is of other settings"):
        PTGS(seed=1).replay(sampler.events)
    rows = list(sampler.events.rows())
    with pytest.raises(BadArgument, match="the log does not go on where the sampler is"):
        PTGS().replay(Events.of(rows[8:]))
    with pytest.raises(BadArgument, match="`step` of at least 5"):
        sampler.replay(sampler.events)
    with pytest.raises(BadArgument, match=r"each group once, got row \d+ .* twice: `Events.merge`"):
        PTGS().replay(Events.join([sampler.events, sampler.events]))
    numbered = PTGS()
    numbered.temperatures([1])
    with pytest.raises(BadArgument, match="to be whole numbers as before"):
        numbered.replay(sampler.events)


def test_unchecked_counts_are_taken_in_whatever_was_played() -> None:
    sampler = PTGS(keep_events=True)
    play(sampler, 5)
    other = PTGS(seed=1, tau=2)
    other.replay(sampler.events, check=False)
    ids = [f"task {at}" for at in range(20)]
    assert (other.estimates(ids) == sampler.estimates(ids)).all()
    assert other.stats()["mean_T"] == sampler.stats()["mean_T"]


def test_no_rows() -> None:
    sampler = PTGS()
    sampler.replay(Events())
    assert (sampler.step, len(sampler)) == (0, 0)


def test_a_sampler_without_a_log_says_so() -> None:
    with pytest.raises(BadArgument, match="keep_events=True"):
        PTGS().events  # noqa: B018
