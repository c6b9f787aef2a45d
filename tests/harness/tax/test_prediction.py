from __future__ import annotations

import math

import numpy as np
import pytest

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import Counts, sharpening_tax, spearman, split_half

N = 16


def cells(amount: int, tasks: int = 40, seed: int = 0, spread: float = 1.0):
    """Return cells whose post arms lose more and more tasks and solve the others sooner."""
    rng = np.random.default_rng(seed)
    found = []
    for at in range(amount):
        p = rng.beta(0.5, 1.5, tasks)
        lost = rng.random(tasks) < spread * at / amount
        q = np.where(lost, 0, 1 - (1 - p) ** 2)
        found.append(((rng.binomial(N, p), N), (rng.binomial(N, q), N)))
    return found


def test_with_all_rollouts_on_both_sides_the_experiment_is_its_own_reliability() -> None:
    made = cells(8)
    told = split_half(made, early_rollouts=N, early_K=8, late_K=8, splits=40)
    assert told.rho.mean == pytest.approx(told.reliability_early)
    assert told.rho.mean == pytest.approx(told.reliability_late)
    assert told.ceiling == pytest.approx(told.rho.mean)


def test_each_half_is_what_the_measure_gives_on_it() -> None:
    # With two tasks a half is one task, so that there are two splits and both can be listed.
    rng = np.random.default_rng(3)
    made = [((rng.integers(1, 12, 2), 12), (rng.integers(1, 12, 2), 12)) for _ in range(6)]
    told = split_half(made, early_rollouts=12, early_K=4, late_K=8, splits=30)
    possible = []
    for first in (0, 1):
        early, late = (
            [
                sharpening_tax((b[at : at + 1], n), (p[at : at + 1], n), k).tax_S
                for (b, n), (p, _) in made
            ]
            for at, k in ((first, 4), (1 - first, 8))
        )
        possible.append(spearman(early, late).rho)
    assert set(np.round(told.rhos, 12)) == set(np.round(possible, 12))


def test_early_rollouts_are_drawn_without_replacement_and_without_bias() -> None:
    # S is a ratio, but with one and the same pass@1 in all tasks of an arm it has no bias to
    # speak of; the mean over splits is then that of all rollouts.
    base, post = (np.tile([2, 6], 100), N), (np.tile([10, 12], 100), N)
    told = split_half([(base, post)] * 2, early_rollouts=8, early_K=4, late_K=4, splits=400)
    whole = sharpening_tax(base, post, 4).tax_S
    assert told.early == pytest.approx([whole] * 2, abs=0.004)
    assert told.late == pytest.approx([whole] * 2, abs=0.002)


def test_what_differs_is_found_and_noise_is_not() -> None:
    strong = split_half(cells(20, tasks=200), early_K=4, late_K=8, splits=30)
    assert strong.rho.mean > 0.8
    assert strong.rho.mean < strong.ceiling + 0.1
    assert strong.over_cells.low > 0.5
    rng = np.random.default_rng(5)
    p = rng.beta(0.5, 1.5, 200)
    same = [((rng.binomial(N, p), N), (rng.binomial(N, p), N)) for _ in range(30)]
    nothing = split_half(same, early_K=4, late_K=8, splits=30)
    assert nothing.over_cells.low < 0 < nothing.over_cells.high
    assert abs(nothing.rho.mean) < 0.4


def test_fewer_late_rollouts_make_the_late_tax_less_reliable() -> None:
    made = cells(20, tasks=60)
    whole = split_half(made, early_K=4, late_K=8, splits=60)
    few = split_half(made, early_K=4, late_K=8, late_rollouts=8, splits=60)
    assert few.reliability_late < whole.reliability_late
    assert few.reliability_early == pytest.approx(whole.reliability_early)


def test_the_same_arguments_give_the_same_and_another_seed_other_halves() -> None:
    made = cells(6)
    one, again = (split_half(made, splits=20, late_K=8) for _ in range(2))
    assert one.rhos.tolist() == again.rhos.tolist()
    assert one.rhos.tolist() != split_half(made, splits=20, late_K=8, seed=1).rhos.tolist()


def test_cells_of_one_base_are_halved_alike() -> None:
    # All cells are the same, tasks differ: any halves that are alike give taxes that tie.
    rng = np.random.default_rng(2)
    cell = ((rng.integers(1, N, 30), N), (rng.integers(1, N, 30), N))
    told = split_half([cell] * 5, early_rollouts=N, late_K=8, splits=10)
    assert np.isnan(told.rhos).all()
    assert len(set(told.late)) == 1


def test_fewer_than_four_cells_have_no_correlation() -> None:
    told = split_half(cells(3), splits=5, late_K=8)
    assert math.isnan(told.rho.mean)
    assert math.isnan(told.over_cells.rho)
    assert math.isnan(told.ceiling)
    assert told.cells == 3
    assert np.isfinite(told.early).all()


def test_a_cell_that_never_fails_is_left_out_and_counted() -> None:
    made = [*cells(5), ((np.full(40, N), N), (np.full(40, N), N))]
    told = split_half(made, splits=7, late_K=8)
    assert told.undefined == 7
    assert math.isnan(told.early[-1])
    assert np.isfinite(told.rhos).all()


def test_counts_are_matched_by_task_id_and_n_may_vary() -> None:
    rng = np.random.default_rng(4)
    made, shuffled = [], []
    for _ in range(5):
        n = rng.integers(N, 2 * N, 20)
        c, d = rng.binomial(n, 0.3), rng.binomial(n, 0.5)
        order = rng.permutation(20)
        names = [f"t{at}" for at in range(20)]
        made.append(((c, n), (d, n)))
        shuffled.append(
            (Counts(names, c, n), Counts([names[at] for at in order], d[order], n[order]))
        )
    one, two = (split_half(which, splits=9, late_K=8) for which in (made, shuffled))
    assert one.rhos.tolist() == two.rhos.tolist()
    assert one.tasks == (20,) * 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"early_rollouts": 17}, "`early_rollouts` of at most n"),
        ({"early_K": 9}, "`early_K` of at most n"),
        ({"early_K": 1}, "`early_K` of at least 2"),
        ({"late_K": 17}, "`late_K` of at most n"),
        ({"late_K": 9, "late_rollouts": 8}, "`late_K` of at most n"),
        ({"splits": 0}, "`splits` of 1"),
        ({"splits": True}, "`splits` of 1"),
        ({"seed": -1}, "`seed` to be an integer"),
        ({"confidence": 1.5}, "confidence"),
    ],
)
def test_bad_arguments_are_named(options, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        split_half(cells(4), **{"late_K": 8, **options})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "one or more `cells`"),
        ([*cells(2), (([1], 4), ([1], 4))], "In cell 2: expected two tasks"),
        ([*cells(1), (([1, 2], 4), ([1, 5], 4))], "In cell 1: .*c = 5 with n = 4"),
        ([*cells(1), (([1, 2], 4), ([1], 4))], "In cell 1: .*same tasks"),
        ([5], "In cell 0: expected a pair"),
        ([(([1, 2], 4),)], "In cell 0: expected a pair"),
    ],
)
def test_cells_that_make_no_sense_are_named(wrong, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        split_half(wrong)
