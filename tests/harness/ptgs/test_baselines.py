from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from agentenvs.errors import BadArgument, SettingsDiffer
from agentenvs.harness.ptgs import PTGS, Fixed, Gate, HeatMatched, RefSampler, Sampler, Spread

Same = Callable[[Mapping[str, Any], Mapping[str, Any]], None]
TASKS = [f"task {at}" for at in range(8)]
MAKE: list[Callable[[], Sampler]] = [
    lambda: Fixed(0.7),
    lambda: Spread(0.5, 2),
    lambda: HeatMatched(PTGS(seed=2)),
    lambda: HeatMatched(PTGS(seed=2, ref_share=0.5)),
]


def outcomes(n: int = 4) -> Any:
    return np.random.default_rng(0).random((len(TASKS), n)) < np.linspace(0, 1, 8)[:, None]


@pytest.mark.parametrize("make", MAKE)
def test_temperatures_stay_until_the_update(make: Callable[[], Sampler]) -> None:
    sampler = make()
    first = sampler.temperatures(TASKS)
    assert first.shape == (8,)
    assert first.dtype == np.float64
    assert sampler.temperatures(TASKS[:3]).tolist() == first[:3].tolist()
    rolled = sampler.rollout_temperatures(TASKS, 4)
    assert rolled.shape == (8, 4)
    assert sampler.rollout_temperatures(TASKS, 4).tolist() == rolled.tolist()
    sampler.record(TASKS, outcomes())
    assert sampler.stats()["groups"] == 8
    alike = outcomes().all(axis=1) | ~outcomes().any(axis=1)
    assert 0 < alike.mean() < 1
    assert sampler.stats()["zero_advantage"] == alike.mean()


@pytest.mark.parametrize("make", MAKE)
def test_a_state_carries_on(make: Callable[[], Sampler], same: Same) -> None:
    sampler, other = make(), make()
    for _ in range(3):
        sampler.rollout_temperatures(TASKS, 4)
        sampler.record(TASKS, outcomes())
    sampler.temperatures(TASKS[:2])
    state = sampler.state_dict()
    json.dumps(state["header"])
    other.load_state_dict({**state, "header": json.loads(json.dumps(state["header"]))})
    same(other.state_dict(), state)
    assert other.temperatures(TASKS).tolist() == sampler.temperatures(TASKS).tolist()
    assert other.stats() == pytest.approx(sampler.stats(), nan_ok=True)


@pytest.mark.parametrize(
    ("mine", "yours", "difference"),
    [
        (Fixed(0.7), Fixed(0.8), "t is 0.7 here, 0.8 there"),
        (Spread(0.5, 2), Spread(0.5, 3), "high is 2.0 here, 3.0 there"),
        (HeatMatched(PTGS(1.5)), HeatMatched(PTGS(1.2)), "heat_matched is"),
    ],
)
def test_a_state_of_other_settings_is_refused(
    mine: Sampler, yours: Sampler, difference: str
) -> None:
    with pytest.raises(SettingsDiffer, match=difference):
        mine.load_state_dict(yours.state_dict())
    with pytest.raises(BadArgument, match="Expected the state of a"):
        mine.load_state_dict(PTGS().state_dict())


@pytest.mark.parametrize("make", MAKE[:3])
def test_counts_that_make_no_sense(make: Callable[[], Sampler]) -> None:
    sampler = make()
    with pytest.raises(BadArgument, match="each task once"):
        sampler.update(["a", "a"], 1, 4)
    with pytest.raises(BadArgument, match="got 5 of 4"):
        sampler.update(["a"], 5, 4)
    with pytest.raises(BadArgument, match="a row for each task"):
        sampler.record(["a", "b"], [[True, False]])
    with pytest.raises(BadArgument, match="`n` of 1 to"):
        sampler.rollout_temperatures(["a"], 0)
    assert sampler.stats()["step"] == 0


def test_fixed_is_fixed() -> None:
    sampler = Fixed(0.7)
    assert sampler.rollout_temperatures(["a", "b"], 3).tolist() == [[0.7] * 3] * 2
    sampler.update(["a"], 0, 16)
    assert sampler.temperatures(["a"]).tolist() == [0.7]
    assert sampler.stats()["mean_T"] == pytest.approx(0.7)
    with pytest.raises(BadArgument, match="`t` to be at least 1e-06"):
        Fixed(0.0)


def test_a_spread_is_even_in_factors() -> None:
    sampler = Spread(0.5, 2)
    assert sampler.rollout_temperatures(["a"], 5)[0] == pytest.approx([0.5, 2**-0.5, 1, 2**0.5, 2])
    assert sampler.temperatures(["a"]).tolist() == [1]
    assert sampler.rollout_temperatures(["a"], 1).tolist() == [[1]]
    with pytest.raises(BadArgument, match="`high` to be at least 2"):
        Spread(2.0, 1.0)


def test_matched_heat_is_the_geometric_mean_of_ptgs() -> None:
    plain = PTGS(seed=5)
    matched = HeatMatched(PTGS(seed=5))
    found = matched.temperatures(TASKS)
    assert len(set(found.tolist())) == 1
    wanted = math.exp(np.log(plain.temperatures(TASKS)).mean())
    assert found[0] == pytest.approx(wanted, rel=1e-6)
    assert HeatMatched(PTGS(seed=5)).temperatures(TASKS[::-1])[0] == found[0]


def test_a_task_keeps_its_heat_when_another_batch_comes() -> None:
    matched = HeatMatched(PTGS(seed=5))
    first = matched.temperatures(TASKS[:4])
    both = matched.temperatures(TASKS)
    assert both[:4].tolist() == first.tolist()
    assert len(set(both[4:].tolist())) == 1
    assert both[4] != both[0]
    twice = HeatMatched(PTGS(seed=5)).temperatures([TASKS[0], TASKS[0], TASKS[1]])
    assert twice[0] == HeatMatched(PTGS(seed=5)).temperatures(TASKS[:2])[0]


def test_matched_heat_learns_as_ptgs_does() -> None:
    plain, matched = PTGS(seed=5), HeatMatched(PTGS(seed=5))
    for sampler in (plain, matched):
        for _ in range(4):
            sampler.rollout_temperatures(TASKS, 4)
            sampler.record(TASKS, outcomes())
    assert matched.inner.estimates(TASKS).tolist() == plain.estimates(TASKS).tolist()
    given = matched.temperatures(TASKS)
    assert given[0] == pytest.approx(math.exp(np.log(plain.temperatures(TASKS)).mean()), rel=1e-6)
    assert given[0] == given[7]


def test_matched_heat_keeps_the_share_at_t_ref_and_watches_what_was_played() -> None:
    matched = HeatMatched(PTGS(ref_share=0.5, t_ref=0.8, gate=Gate(groups=2), seed=1))
    rolled = matched.rollout_temperatures(TASKS, 4)
    assert (rolled[:, :2] == np.float32(0.8)).all()
    assert len(set(rolled[:, 2:].ravel().tolist())) == 1
    matched.record(TASKS, outcomes())
    assert matched.stats()["mean_T"] == pytest.approx(rolled[0, 3])
    side = "hot" if rolled[0, 3] > 0.8 else "cold"
    seen = [name for name, x in matched.stats().items() if "minus_ref" in name and x == x]
    assert seen
    assert all(name.startswith(side) for name in seen)
    with pytest.raises(BadArgument, match="`n` of at least 2"):
        matched.rollout_temperatures(TASKS, 1)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.9])
@pytest.mark.parametrize("wrap", [lambda sampler: sampler, HeatMatched])
def test_who_pools_groups_can_tell_the_rollouts_at_t_ref_apart(wrap: Any, share: float) -> None:
    sampler = wrap(PTGS(seed=2, ref_share=share))
    assert isinstance(sampler, RefSampler)
    first = sampler.ref_rollouts(4)
    assert first == {0.0: 0, 0.25: 1, 0.9: 3}[share]
    rolled = sampler.rollout_temperatures(TASKS, 4)
    assert (rolled[:, :first] == 1.0).all()
    assert (rolled[:, first:] != 1.0).all()


def test_samplers_that_learn_from_all_rollouts_alike_need_not_say_so() -> None:
    assert not isinstance(Fixed(1.0), RefSampler)


def test_what_cannot_be_matched() -> None:
    with pytest.raises(BadArgument, match="to be a PTGS, got Fixed"):
        HeatMatched(Fixed(1.0))  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="without `keep_events`"):
        HeatMatched(PTGS(keep_events=True))
