from __future__ import annotations

import warnings

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import PTGS, Ramp


def test_equal_factors_up_to_exactly_the_end() -> None:
    ramp = Ramp(0.25, 0.5, 200)
    steps = ramp.at(np.arange(1, 201))
    assert steps[0] == pytest.approx(0.25 * 2 ** (1 / 200))
    assert np.ptp(steps[1:] / steps[:-1]) < 1e-12
    assert steps[-1] == 0.5
    assert ramp.at(1000) == 0.5
    assert Ramp(0.7, 0.3, 3).at(3) == 0.3


def test_by_visits_each_task_goes_its_own_way() -> None:
    sampler = PTGS(target=Ramp(0.25, 0.5, 4, by="visits"))
    for _ in range(3):
        sampler.update(["a"], 0, 8)
    a, b = sampler.posterior(["a", "b"])
    discounted = 8 * (1 + 0.95 + 0.95**2)
    assert a.tolist() == pytest.approx([2 * 0.5, 2 * 0.25 * 2**0.25])
    assert b.tolist() == pytest.approx([1 + discounted, 2 - 0.5 * 2**0.25], rel=1e-6)
    assert "target" not in sampler.stats()


def test_by_steps_all_tasks_go_together() -> None:
    sampler = PTGS(target=Ramp(0.25, 0.5, 4))
    assert sampler.stats()["target"] == pytest.approx(0.25 * 2**0.25)
    for _ in range(3):
        sampler.update(["a"], 0, 8)
    assert sampler.estimates(["b"]).tolist() == [0.5]
    assert sampler.stats()["target"] == 0.5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"start": 0.0}, "`start` to be above 0 and below 1, got 0.0"),
        ({"end": 1}, "`end` to be above 0 and below 1, got 1"),
        ({"end": float("nan")}, "got nan"),
        ({"end": "half"}, "`end` to be a number, got 'half'"),
        ({"total": 0}, "`total` of 1 to .*, got 0"),
        ({"total": 2.5}, "`total` to be an integer, got 2.5"),
        ({"by": "epoch"}, '`by` to be "step" or "visits", got \'epoch\''),
    ],
)
def test_wrong_ramps(wrong: dict, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        Ramp(**({"start": 0.25, "end": 0.5, "total": 10} | wrong))


def test_targets_close_to_an_end_warn_where_they_are_given() -> None:
    with pytest.warns(UserWarning, match=r"`end` = 0.97 is close to an end") as caught:
        Ramp(0.25, 0.97, 10)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"`target` = 0.01 is close to an end") as caught:
        PTGS(target=0.01)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PTGS(target=0.05)
        PTGS(target=0.95)
