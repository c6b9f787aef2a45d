from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.ptgs import heating_premise, mixed

Chances = NDArray[np.float64]


def world(tasks: int, seed: int = 0) -> Chances:
    return np.random.default_rng(seed).beta(0.5, 1.5, tasks)


def played(p: Chances, n: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).binomial(n, p)


@pytest.mark.parametrize(
    ("power", "verdict", "start"),
    [(1.5, "fails", "The premise fails: heat low"), (0.6, "holds", "The premise holds: heat rai")],
)
def test_a_clear_case(power: float, verdict: str, start: str) -> None:
    p = world(300)
    found = heating_premise(played(p, 32, 1), 32, played(p**power, 32, 2), 32)
    assert found.verdict == found.heated.verdict == verdict
    assert found.words.startswith(start)
    assert np.sign(found.heated.change.value) == np.sign(found.heated.mixed_change.value)
    assert (found.heated.higher > found.heated.lower) == (verdict == "holds")
    assert found.group == 16
    assert sum(row.tasks for row in found.bins) == pytest.approx(300)


def test_no_effect_is_undecided_in_every_bin() -> None:
    p = world(200)
    found = heating_premise(played(p, 16, 5), 16, played(p, 16, 6), 16)
    assert {row.verdict for row in found.bins} == {"undecided"}
    assert "may raise or lower" in found.words


def test_rollouts_that_place_a_task_do_not_judge_it() -> None:
    """Tasks that are all alike: the ones that were unlucky are no harder."""
    p = np.full(4000, 0.3)
    c, hot = played(p, 16, 1), played(p, 16, 2)
    found = heating_premise(c, 16, hot, 16)
    hardest = found.bins[0]
    assert hardest.tasks > 50
    assert hardest.change.low < 0 < hardest.change.high
    assert hardest.ref == pytest.approx(0.3, abs=0.02)
    unlucky = c / 16 < 0.05
    assert (hot - c)[unlucky].mean() / 16 > 0.2


def by_hand(c: int, n: int, hot: float, low: float, high: float) -> tuple[float, float, float]:
    """Return the weight, the rate and the win share of one task by going through all halves."""
    rollouts = [1] * c + [0] * (n - c)
    m, weight, rate, wins, ways = n // 2, 0, 0.0, 0, 0
    for first in itertools.combinations(range(n), m):
        ways += 1
        placed = sum(rollouts[at] for at in first)
        left = (c - placed) / (n - m)
        if low <= placed / m < high or (high == 1 and placed == m):
            weight, rate, wins = weight + 1, rate + left, wins + (hot > left)
    return weight / ways, rate / ways, wins / ways


def test_all_halves_are_averaged() -> None:
    c_ref, n_ref, c_hot = [0, 2, 5, 7], [7, 8, 8, 7], [1, 1, 6, 3]
    found = heating_premise(c_ref, n_ref, c_hot, 8)
    for row in found.bins:
        cells = [
            by_hand(c, n, hot / 8, row.low, row.high)
            for c, n, hot in zip(c_ref, n_ref, c_hot, strict=True)
        ]
        weight = sum(cell[0] for cell in cells)
        assert row.tasks == pytest.approx(weight)
        if weight:
            assert row.ref == pytest.approx(sum(cell[1] for cell in cells) / weight)
            assert row.higher == pytest.approx(sum(cell[2] for cell in cells) / weight)


def test_further_rollouts_may_place_the_tasks() -> None:
    found = heating_premise(
        [1, 2, 8], 8, [3, 3, 8], 8, by=([0, 1, 9], [10, 10, 10]), edges=(0, 0.2, 1), group=4
    )
    hard, easy = found.bins
    assert (hard.tasks, easy.tasks) == (2, 1)
    assert hard.ref == pytest.approx(3 / 16)
    assert hard.hot == pytest.approx(6 / 16)
    assert (hard.higher, hard.lower) == (1, 0)
    assert hard.change.se == pytest.approx(0.0625)
    assert math.isnan(easy.change.se)
    assert easy.verdict == "undecided"
    assert found.heated == hard._replace(low=0.0, high=0.5)


def test_mixed_is_what_theorem_3_speaks_of() -> None:
    p = world(2000)
    hot = p**0.7
    found = heating_premise(played(p, 32, 1), 32, played(hot, 32, 2), 32, by=(p * 1e6 // 1, 10**6))
    low = p < 0.5
    assert found.heated.mixed_ref == pytest.approx(mixed(p[low], 16).mean(), abs=0.01)
    assert found.heated.mixed_hot == pytest.approx(mixed(hot[low], 16).mean(), abs=0.01)


def test_success_beyond_a_half_may_leave_fewer_mixed_groups() -> None:
    c, hot = np.tile([3, 4, 3, 4], 10), np.tile([15, 16, 16, 14], 10)
    found = heating_premise(c, 16, hot, 16)
    assert found.verdict == "holds"
    assert found.heated.mixed_change.high < 0


@pytest.mark.parametrize("power", [1.0, 1.5])
def test_intervals_hold_the_truth(power: float) -> None:
    """95 % intervals of the heated tasks over 300 rounds; the truth from many tasks."""
    p = world(200_000, seed=9)
    first = np.random.default_rng(8).binomial(8, p)
    truth = (p**power - p)[first / 8 < 0.5].mean()
    rng, held = np.random.default_rng(3), 0
    for _ in range(300):
        q = rng.beta(0.5, 1.5, 40)
        found = heating_premise(rng.binomial(16, q), 16, rng.binomial(16, q**power), 16)
        held += found.heated.change.low <= truth <= found.heated.change.high
    assert 0.91 <= held / 300 <= 0.99


def test_nothing_solved_decides_nothing() -> None:
    found = heating_premise(np.zeros(50), 16, np.zeros(50), 16)
    assert found.verdict == "undecided"
    assert math.isnan(found.heated.change.low)
    assert "interval unknown" in found.words
    assert found.bins[-1].tasks == 0
    assert math.isnan(found.bins[-1].ref)


def test_nothing_to_heat() -> None:
    found = heating_premise([16, 16], 16, [16, 15], 16)
    assert found.words == "The premise is undecided: no task lies below 0.5."
    assert found.verdict == "undecided"


@given(data=st.data(), tasks=st.integers(1, 6))
def test_rows_stay_in_their_ranges(data: st.DataObject, tasks: int) -> None:
    n = data.draw(st.lists(st.integers(2, 40), min_size=tasks, max_size=tasks))
    c = [data.draw(st.integers(0, most)) for most in n]
    hot = [data.draw(st.integers(0, most)) for most in n]
    found = heating_premise(c, n, hot, n)
    assert sum(row.tasks for row in found.bins) == pytest.approx(tasks)
    for row in (*found.bins, found.heated):
        if row.tasks < 1e-12:
            continue
        for value in (row.ref, row.hot, row.higher, row.lower, row.mixed_ref, row.mixed_hot):
            assert -1e-9 <= value <= 1 + 1e-9
        assert row.change.value == pytest.approx(row.hot - row.ref, abs=1e-9)
        assert row.mixed_change.value == pytest.approx(row.mixed_hot - row.mixed_ref, abs=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"c_hot": [1]}, "got 2 at T_ref, 1 hot"),
        ({"c_hot": [1, 9]}, "In `hot`: Expected 0 <= c <= n, got c = 9 with n = 8"),
        ({"c_ref": [1, 1.5]}, "In `ref`: Expected `c` to hold whole numbers, got 1.5"),
        ({"c_ref": 1}, "Expected `ref` to list one or more tasks"),
        ({"n_ref": [8, 1], "c_ref": [1, 1]}, "`n_ref` of at least 2"),
        ({"by": ([1], [8])}, "Expected 2 tasks in `by`, got 1"),
        ({"by": ([9, 1], 8)}, "In `by`"),
        ({"group": 5}, "`group` of at most 4, got 5"),
        ({"edges": (0, 0.5)}, r"`edges` that rise from 0 to 1, got \(0, 0.5\)"),
        ({"edges": (0, 0.5, 0.5, 1)}, "`edges` that rise"),
        ({"target": 1.0}, "`target` to be above 0 and below 1"),
        ({"confidence": 95}, "`confidence` to be above 0 and below 1, got 95"),
    ],
)
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    given = {"c_ref": [1, 2], "n_ref": 8, "c_hot": [2, 2], "n_hot": 8}
    with pytest.raises(BadArgument, match=message):
        heating_premise(**(given | change))
