from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS, Gate, Ramp, Sampler

TASKS = [f"task {at}" for at in range(12)]


def test_temperatures_stay_until_the_update() -> None:
    sampler: Sampler = PTGS(seed=3)
    first = sampler.temperatures(TASKS)
    assert first.dtype == np.float64
    assert (first == first.astype(np.float32)).all()
    assert sampler.temperatures(TASKS[::-1]).tolist() == first[::-1].tolist()
    sampler.update(TASKS[:6], 3, 8)
    second = sampler.temperatures(TASKS)
    assert (second[:6] != first[:6]).all()
    assert (second[6:] == first[6:]).all()


def test_a_held_temperature_does_not_follow_the_target() -> None:
    sampler = PTGS(target=Ramp(0.2, 0.8, 3))
    held = sampler.temperatures(["a"])
    for _ in range(3):
        sampler.update(["b"], 1, 8)
    assert sampler.temperatures(["a"]) == held


def test_a_task_twice_in_a_batch_has_one_temperature() -> None:
    sampler = PTGS()
    one, other, again = sampler.temperatures(["a", "b", "a"])
    assert one == again != other


def test_counts_are_discounted_once_a_group() -> None:
    sampler = PTGS(gamma=0.9, target=0.25)
    for s, n in ((3, 8), (8, 8), (0, 16)):
        sampler.update(["a"], [s], [n])
    a, b = sampler.posterior(["a"])
    assert a[0] == pytest.approx(0.5 + 3 * 0.81 + 8 * 0.9, rel=1e-6)
    assert b[0] == pytest.approx(1.5 + 5 * 0.81 + 16, rel=1e-6)
    assert sampler.estimates(["a"])[0] == a[0] / (a[0] + b[0])
    assert sampler.visits(["a", "b"]).tolist() == [3, 0]


@pytest.mark.parametrize(("gamma", "kept"), [(0.0, 1), (1.0, 5)])
def test_the_ends_of_gamma(gamma: float, kept: int) -> None:
    sampler = PTGS(gamma=gamma)
    for _ in range(5):
        sampler.update([0], 0, 4)
    assert sampler.posterior([0])[1][0] == 1 + 4 * kept


def test_tau_of_1_is_a_fixed_temperature() -> None:
    sampler = PTGS(tau=1, t_ref=0.7)
    sampler.update(TASKS, 8, 8)
    assert (sampler.temperatures(TASKS) == float(np.float32(0.7))).all()


def test_pilot_groups_are_played_at_t_ref() -> None:
    sampler = PTGS(pilot=2, t_ref=0.5)
    for visit in range(4):
        at_ref = sampler.temperatures(TASKS) == 0.5
        assert at_ref.all() if visit < 2 else not at_ref.any()
        sampler.update(TASKS, 1, 8)


@pytest.mark.parametrize(
    ("share", "n", "count"),
    [(0, 8, 0), (0.5, 8, 4), (0.5, 3, 2), (0.01, 8, 1), (0.99, 8, 7), (0.25, 2, 1), (0.9, 2, 1)],
)
def test_the_first_rollouts_are_at_t_ref(share: float, n: int, count: int) -> None:
    sampler = PTGS(ref_share=share)
    rolled = sampler.rollout_temperatures(TASKS, n)
    assert rolled.shape == (12, n)
    assert (rolled[:, :count] == 1).all()
    assert (rolled[:, count:] == sampler.temperatures(TASKS)[:, None]).all()


def test_rollouts_at_t_ref_alone_feed_the_posterior() -> None:
    sampler = PTGS(ref_share=0.5, gamma=1)
    outcomes = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1]], dtype=bool)
    sampler.record(["a", "b"], outcomes)
    a, b = sampler.posterior(["a", "b"])
    assert a.tolist() == [3, 1]
    assert b.tolist() == [2, 4]
    sampler.update(["a", "b"], [2, 3], 6, ref_successes=[2, 0], ref_n=3)
    assert sampler.posterior(["a"])[0].tolist() == [5]


def test_record_is_update_by_the_row() -> None:
    one, two = PTGS(), PTGS()
    table = np.random.default_rng(0).random((12, 8)) < 0.3
    one.record(TASKS, table)
    two.record(TASKS, table.astype(int).tolist())
    assert (one.estimates(TASKS) == two.estimates(TASKS)).all()
    two = PTGS()
    two.update(TASKS, table.sum(axis=1), 8)
    assert (one.estimates(TASKS) == two.estimates(TASKS)).all()


def test_steps_count_updates_unless_they_are_given() -> None:
    sampler = PTGS(target=Ramp(0.1, 0.9, 10))
    sampler.update(["a"], 1, 2)
    sampler.update(["b"], 1, 2)
    assert sampler.step == 2
    sampler.temperatures(["c", "d"], step=2)
    sampler.update(["c"], 1, 2, step=2)
    sampler.update(["e"], 1, 2, step=2)
    assert sampler.step == 2
    sampler.record(["d"], [[True]], step=7)
    assert sampler.step == 7
    assert sampler.stats()["target"] == pytest.approx(0.1 * 9**0.8)
    sampler.update([], [], [])
    assert sampler.step == 8


def test_steps_that_are_over() -> None:
    sampler = PTGS()
    sampler.update(["a"], 1, 2, step=5)
    for ask in (
        lambda: sampler.temperatures(["a"], step=4),
        lambda: sampler.update(["a"], 1, 2, step=4),
        lambda: sampler.report(["a"], 1, 2, step=4),
    ):
        with pytest.raises(BadArgument, match="`step` of at least 5, the last one told, got 4"):
            ask()
    sampler.temperatures(["b"])
    with pytest.raises(BadArgument, match="for which 'b' got its temperature, 6, .* got 5"):
        sampler.update(["b"], 1, 2, step=5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tau": 0.9}, "`tau` to be at least 1 .*, got 0.9"),
        ({"tau": float("inf")}, "`tau` .*, got inf"),
        ({"tau": 10**400}, r"`tau` to be at least 1 and .*, got 10{50,}\.\.\."),
        ({"tau": -(10**400)}, "`tau` to be at least 1 and .*, got -100"),
        ({"seed": 10**5000}, "`seed` of 0 to .*, got a number of too many digits"),
        ({"tau": "hot"}, "`tau` to be a number, got 'hot'"),
        ({"gamma": -0.1}, "`gamma` to be at least 0 and at most 1, got -0.1"),
        ({"gamma": 1.01}, "`gamma` .*, got 1.01"),
        ({"gamma": float("nan")}, "`gamma` .*, got nan"),
        ({"gamma": True}, "`gamma` to be a number, got True"),
        ({"target": 0}, "`target` to be above 0 and below 1, got 0"),
        ({"target": 1.0}, "`target` to be above 0 and below 1, got 1.0"),
        ({"target": float("nan")}, "`target` .*, got nan"),
        ({"target": [0.5]}, r"`target` to be a number, got \[0.5\]"),
        ({"t_ref": 0}, "`t_ref` .*, got 0"),
        ({"seed": -1}, "`seed` of 0 to .*, got -1"),
        ({"seed": 2**64}, "`seed` of 0 to"),
        ({"seed": 0.5}, "`seed` to be an integer, got 0.5"),
        ({"ref_share": 1}, "`ref_share` to be at least 0 and below 1, got 1"),
        ({"pilot": -1}, "`pilot` of 0 to .*, got -1"),
        ({"gate": True}, "`gate` to be a Gate or None, got True"),
        ({"gate": Gate()}, "`ref_share` above 0 with a `gate`"),
    ],
)
def test_wrong_settings(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        PTGS(**wrong)


@pytest.mark.parametrize(
    ("ids", "s", "n", "message"),
    [
        (["a", "b", "a"], 1, 2, "each task once in an update, got 'a' twice"),
        ([4, 1, 4], 1, 2, "each task once in an update, got 4 twice"),
        (["a"], 3, 2, "0 <= successes <= n, got 3 of 2 at position 0"),
        (["a", "b"], [0, -1], 2, "0 <= successes <= n, got -1 of 2 at position 1"),
        (["a"], 0, 0, "`n` of at least 1, got 0"),
        (["a"], 0, -4, "`n` of at least 1, got -4"),
        (["a"], 0, 2**40, "`n` of at most"),
        (["a"], 0.5, 2, "`successes` to hold whole numbers, got 0.5"),
        (["a"], [float("nan")], 2, "`successes` to hold whole numbers, got nan"),
        (["a"], 1, float("inf"), "`n` to hold whole numbers, got inf"),
        (["a"], 1e300, 2, "`successes` to hold counts, got 1e.300"),
        (["a"], [True], 2, "`successes` to hold integers, got bool"),
        (["a"], [None], 2, "`successes` to hold integers, got None"),
        (["a"], [10**30], 2, "`successes` to hold integers, got 10{30}, beyond 64 bits"),
        (["a"], "1", 2, "`successes` to hold integers, got <U1"),
        (["a", "b"], [1], 2, r"one entry for each of 2 tasks, got shape \(1,\)"),
        (["a", "b"], 1, [2, 2, 2], r"one entry for each of 2 tasks, got shape \(3,\)"),
        (["a"], [[1]], 2, r"one entry for each of 1 tasks, got shape \(1, 1\)"),
        (["a", "b"], [1, [2]], 2, "`successes` to be an array, got a ragged list"),
        (["a"], np.ma.masked_array([1], mask=[True]), 2, "without masked values"),
    ],
)
def test_wrong_counts_change_nothing(
    ids: list, s: Any, n: Any, message: str, same: Callable[..., None]
) -> None:
    sampler = PTGS()
    before = sampler.state_dict()
    with pytest.raises(BadArgument, match=message):
        sampler.update(ids, s, n)
    same(sampler.state_dict(), before)


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ([True, False], r"`outcomes` of shape \(2, n\), a row for each task, got \(2,\)"),
        ([[True]], r"`outcomes` of shape \(2, n\), a row for each task, got \(1, 1\)"),
        ([[], []], r"got \(2, 0\)"),
        ([[0.5], [1]], "`outcomes` to hold booleans, got 0.5"),
        ([[float("nan")], [1]], "`outcomes` to hold booleans, got nan"),
        ([[2], [1]], "`outcomes` to hold booleans, got 2"),
        ([[True, None], [True, False]], "`outcomes` to hold booleans, got True|None"),
        ([["yes"], ["no"]], "`outcomes` to hold booleans, got <U3"),
        ([[True], [True, False]], "`outcomes` to be an array, got a ragged list"),
    ],
)
def test_wrong_outcomes(outcomes: Any, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        PTGS().record(["a", "b"], outcomes)


def test_counts_at_t_ref_belong_with_ref_share() -> None:
    plain, shared = PTGS(), PTGS(ref_share=0.5)
    with pytest.raises(BadArgument, match="no `ref_successes` and `ref_n` without `ref_share`"):
        plain.update(["a"], 1, 2, ref_successes=1, ref_n=1)
    for part in ({}, {"ref_n": 1}, {"ref_successes": 1}):
        with pytest.raises(BadArgument, match="`ref_successes` and `ref_n` with `ref_share`"):
            shared.update(["a"], 1, 2, **part)
    for part, message in (
        ((2, 1), "0 <= ref_successes <= ref_n, got 2 of 1"),
        ((0, 0), "`ref_n` of at least 1, got 0"),
        ((2, 2), "to be a part of the group, got 2 of 2 in 1 of 4"),
        ((0, 4), "to be a part of the group, got 0 of 4 in 1 of 4"),
        ((1, 5), "to be a part of the group, got 1 of 5 in 1 of 4"),
    ):
        with pytest.raises(BadArgument, match=message):
            shared.update(["a"], 1, 4, ref_successes=part[0], ref_n=part[1])
    for call in (
        lambda: shared.rollout_temperatures(["a"], 1),
        lambda: shared.record(["a"], [[True]]),
    ):
        with pytest.raises(BadArgument, match="`n` of at least 2 with `ref_share`, got 1"):
            call()
    with pytest.raises(BadArgument, match="`n` of 1 to .*, got 0"):
        plain.rollout_temperatures(["a"], 0)


def test_settings_are_ready_for_json() -> None:
    sampler = PTGS(target=Ramp(0.25, 0.5, 9), ref_share=0.5, gate=Gate(groups=5), seed=2**63)
    told = json.loads(json.dumps(sampler.describe()))
    assert told["target"] == {"start": 0.25, "end": 0.5, "total": 9, "by": "step"}
    assert told["gate"]["groups"] == 5
    assert PTGS(np.float32(1.5), np.float64(0.5), seed=np.int64(4)).describe()["seed"] == 4


@pytest.mark.parametrize("target", [5e-324, 1e-310, 1e-9, 1 - 1e-16])
def test_targets_at_an_end_are_switches(target: float) -> None:
    with pytest.warns(UserWarning, match="close to an end"):
        sampler = PTGS(target=target)
    ids = np.arange(2000)
    sampler.update(ids, ids % 2, 1)
    low, high = sampler.temperatures(ids[ids % 2 == 0]), sampler.temperatures(ids[ids % 2 == 1])
    # One success is surely above a tiny target, one failure surely below one next to 1.
    if target < 0.5:
        assert (low >= 1 - 1e-6).mean() > 0.99
        assert (high <= 1).all()
    else:
        assert (low >= 1).all()
        assert (high <= 1 + 1e-6).mean() > 0.99


Groups = dict[int, tuple[int, int]]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.integers(0, 9), st.integers(0, 8), min_size=1), min_size=1, max_size=6
    ),
    st.sampled_from([0.0, 0.25]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_neither_order_nor_batches_matter(
    steps: list[dict[int, int]], share: float, named: bool, random: Any
) -> None:
    """Whole steps at once, or task by task in any order: the same temperatures and state."""
    one, two = (
        PTGS(
            target=Ramp(0.3, 0.6, 4),
            seed=9,
            ref_share=share,
            gate=Gate(groups=2, probe=0.5, confidence=0.6) if share else None,
        )
        for _ in range(2)
    )

    def call(at: int) -> Any:
        return f"task {at}" if named else at

    for step, groups in enumerate(steps, 1):
        ids = list(groups)
        drawn = one.temperatures([call(at) for at in ids])
        parts = {at: (s, 2 * min(s // 4, 1), 2) for at, s in groups.items()}
        shuffled = list(ids)
        random.shuffle(shuffled)
        for at in shuffled:
            assert two.temperatures([call(at)], step=step)[0] == drawn[ids.index(at)]
        random.shuffle(shuffled)
        ref = {
            "ref_successes": [parts[at][1] for at in ids],
            "ref_n": 2,
        }
        one.update(
            [call(at) for at in ids], [groups[at] for at in ids], 10, **(ref if share else {})
        )
        for at in shuffled:
            mine = {"ref_successes": parts[at][1], "ref_n": 2} if share else {}
            two.update([call(at)], groups[at], 10, step=step, **mine)
    first, second = one.state_dict(), two.state_dict()
    assert first["header"] == second["header"]
    for name in first.keys() - {"header"}:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    assert str(one.stats()) == str(two.stats())
