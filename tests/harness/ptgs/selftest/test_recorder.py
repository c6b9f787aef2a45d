from __future__ import annotations

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS
from agentenvs.harness.ptgs.selftest import Recorder
from agentenvs.harness.ptgs.selftest.recorder import Given, Told


def test_what_passes_is_kept_in_order() -> None:
    sampler = Recorder(seed=3)
    (t,) = sampler.temperatures(["a"])
    sampler.update(np.array(["a"]), 2, 4)
    sampler.record(["b", "c"], [[True, False], [True, True]])
    each = sampler.rollout_temperatures(["d"], 2)
    assert sampler.heard == [
        Given("a", (t,)),
        Told("a", 2, 4),
        Told("b", 1, 2, (True, False)),
        Told("c", 2, 2, (True, True)),
        Given("d", (each[0, 0], each[0, 1]), rolled=True),
    ]


def test_draws_are_those_of_ptgs() -> None:
    sampler, plain = Recorder(seed=5), PTGS(tau=1.5, gamma=0.95, target=0.5, seed=5)
    for _ in range(3):
        assert (sampler.temperatures([0, 1]) == plain.temperatures([0, 1])).all()
        for one in (sampler, plain):
            one.update([0, 1], [0, 8], 8)


def test_rollouts_of_a_group_have_temperatures_of_their_own() -> None:
    sampler = Recorder(seed=5)
    group = sampler.temperatures([0, 1])
    each = sampler.rollout_temperatures([0, 1], 512)
    assert (each == sampler.rollout_temperatures([0, 1], 512)).all()
    assert (each[:, :8] == sampler.rollout_temperatures([0, 1], 8)).all()
    assert (each == each.astype(np.float32)).all()
    assert (abs(np.log(each / group[:, None])) <= np.log(1.25) + 1e-6).all()
    assert (np.diff(np.sort(each), axis=1) > 1e-4 * each[:, 1:]).all()
    with pytest.raises(BadArgument, match="n"):
        sampler.rollout_temperatures([0], 0)


def test_what_it_is_told_counts_as_in_ptgs() -> None:
    sampler, plain = Recorder(seed=5), PTGS(tau=1.5, gamma=0.95, target=0.5, seed=5)
    for one in (sampler, plain):
        one.rollout_temperatures(["a"], 4)
        one.record(["a"], [[True, False, True, True]])
    assert sampler.posterior(["a"]) == plain.posterior(["a"])
    assert (sampler.temperatures(["a"]) == plain.temperatures(["a"])).all()


def test_replayed_groups_are_told() -> None:
    sampler, plain = Recorder(), PTGS(tau=1.5, gamma=0.95, target=0.5)
    sampler.replay(plain.report([7, 8], [1, 2], 4))
    assert sampler.heard == [Told(7, 1, 4), Told(8, 2, 4)]


def test_numbers_of_numpy_become_plain() -> None:
    sampler = Recorder()
    sampler.temperatures(np.array([3]))
    assert type(sampler.heard[0].task) is int


def test_who_looks_is_called_before_a_draw() -> None:
    sampler = Recorder()
    seen: list[int] = []
    sampler.on_ask = lambda: seen.append(len(sampler.heard))
    sampler.temperatures(["a", "b"])
    sampler.rollout_temperatures(["c"], 4)
    assert seen == [0, 2]
