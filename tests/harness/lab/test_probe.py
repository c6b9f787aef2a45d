import math

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.lab.probe import heating, profile


def outcomes(rates, n, seed=0):
    return np.random.default_rng(seed).random((*np.shape(rates), n)) < np.asarray(rates)[..., None]


def test_a_profile_averages_the_tasks_of_each_bin():
    successes = np.zeros((2, 4, 4), dtype=bool)
    successes[0, 1, :2] = successes[0, 2, :1] = successes[0, 3] = True
    successes[1, 0, :1] = successes[1, 3, :3] = True
    got = profile(successes, [0.0, 0.4, 0.2, 1.0], edges=(0.2, 0.5, 0.9))
    assert got.tasks.tolist() == [1, 2, 0, 1]
    assert got.low.tolist() == [0, 0.2, 0.5, 0.9]
    assert got.high.tolist() == [0.2, 0.5, 0.9, 1]
    assert got.p[0].tolist() == [0, 0.25]
    assert got.p[1].tolist() == [0.375, 0]
    assert np.isnan(got.p[2]).all()
    assert got.p[3].tolist() == [1, 0.75]
    assert got.se[1, 0] == pytest.approx(0.125)
    assert np.isnan(got.se[[0, 2, 3]]).all()


@pytest.mark.parametrize(
    ("difficulty", "edges", "what"),
    [
        ([0.1], (0.5,), "each of 2 tasks"),
        ([0.1, 1.1], (0.5,), "each of 2 tasks"),
        ([0.1, math.nan], (0.5,), "each of 2 tasks"),
        ([0.1, 0.2], (0.5, 0.5), "rise"),
        ([0.1, 0.2], (1.0,), "rise"),
    ],
)
def test_bins_must_make_sense(difficulty, edges, what):
    with pytest.raises(BadArgument, match=what):
        profile(np.zeros((1, 2, 3)), difficulty, edges)


def test_heating_counts_tasks_and_pairs_them():
    cold = np.zeros((4, 8), dtype=bool)
    hot = np.zeros((4, 16), dtype=bool)
    cold[0, :8] = hot[1, :2] = cold[2, :2] = hot[2, :4] = True
    got = heating(cold, hot)
    assert (got.more, got.fewer, got.tasks) == (0.25, 0.25, 4)
    assert got.gain == pytest.approx((-1 + 0.125) / 4)
    assert got.se == pytest.approx(np.std([-1, 0.125, 0, 0], ddof=1) / 2)
    assert (got.surely_more, got.surely_fewer) == (0, 0.25)


def test_what_chance_alone_does_is_seldom_sure():
    rates = np.random.default_rng(1).beta(0.5, 2, size=2000)
    got = heating(outcomes(rates, 32, 2), outcomes(rates, 32, 3))
    assert got.more > 0.3
    assert 0 < got.surely_more <= 0.05
    assert 0 < got.surely_fewer <= 0.05
    assert abs(got.gain) < 4 * got.se


def test_the_exact_test_agrees_with_a_table():
    cold, hot = np.zeros((1, 10), dtype=bool), np.zeros((1, 10), dtype=bool)
    cold[0, :1] = hot[0, :6] = True
    # Fisher's one-sided p-value of (6, 4; 1, 9) is 0.0286, of (5, 5; 1, 9) 0.0704.
    assert heating(cold, hot).surely_more == 1
    hot[0, 5] = False
    assert heating(cold, hot).surely_more == 0


def test_a_single_task_has_no_error():
    got = heating(np.ones((1, 4)), np.zeros((1, 4)))
    assert math.isnan(got.se)
    assert got.gain == -1


@pytest.mark.parametrize("cold", [np.zeros((2, 3)), np.zeros(3), np.zeros((0, 3))])
def test_heating_needs_the_same_tasks(cold):
    with pytest.raises(BadArgument, match="same tasks"):
        heating(cold, np.zeros((1, 3)))


def test_a_profile_needs_three_axes():
    with pytest.raises(BadArgument, match="temperatures, tasks, rollouts"):
        profile(np.zeros((2, 3)), [0.5, 0.5, 0.5])
