from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import Counts, curve, sharpening_tax, sharpening_theorem
from agentenvs.harness.tax.shares import Estimate

N = 128
Arm = tuple[NDArray[np.int64], int]


def chances(tasks: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return chances of success whose mean is a quarter: the mixture of the cases below."""
    return rng.beta(0.4, 1.2, tasks)


def sharpen(p, to_never: float, to_always: float, rng) -> NDArray[np.float64]:
    coin = rng.random(len(p))
    return np.where(coin < to_never, 0.0, np.where(coin < to_never + to_always, 1.0, p))


def played(p, q, rng, n: int = N) -> tuple[Arm, Arm]:
    return (rng.binomial(n, p), n), (rng.binomial(n, q), n)


def near(estimate: Estimate, truth: float, errors: float = 3.5) -> bool:
    return abs(estimate.value - truth) <= errors * estimate.se


@pytest.mark.parametrize(
    ("to_never", "to_always", "ratio"), [(0.3, 0.2, 0.5555), (0.0, 0.5, 1.0), (0.5, 0.0, 0.4286)]
)
def test_the_theorem_holds_where_it_speaks(to_never: float, to_always: float, ratio) -> None:
    rng = np.random.default_rng(1)
    p = chances(20_000, rng)
    told = sharpening_theorem(*played(p, sharpen(p, to_never, to_always, rng), rng), 32)
    assert near(told.sharpened, to_never + to_always)
    assert near(told.to_never, to_never)
    assert near(told.to_always, to_always)
    assert near(told.unaccounted, 0)
    assert told.predicted.value == pytest.approx(ratio, abs=0.01)
    assert told.observed.value == pytest.approx(ratio, abs=0.015)
    assert near(told.gap, 0)
    assert told.prediction == "holds"
    assert [found.verdict for found in told.assumptions] == ["holds"] * 3


def test_which_way_a_task_goes_may_depend_on_how_hard_it_is() -> None:
    rng = np.random.default_rng(2)
    p = chances(20_000, rng)
    q = np.where(rng.random(len(p)) < 0.5, (rng.random(len(p)) < p).astype(float), p)
    told = sharpening_theorem(*played(p, q, rng), 32)
    assert near(told.sharpened, 0.5)
    assert near(told.to_never, 0.375)
    assert near(told.gap, 0)
    assert [found.verdict for found in told.assumptions] == ["holds"] * 3


def test_what_is_measured_is_what_the_taxes_say() -> None:
    rng = np.random.default_rng(3)
    p = chances(300, rng)
    base, post = played(p, sharpen(p, 0.3, 0.2, rng), rng)
    told, tax = sharpening_theorem(base, post, 16), sharpening_tax(base, post, 16)
    assert told.sharpened.value == pytest.approx(tax.tax_A / tax.A_base)
    assert told.observed.value == pytest.approx(tax.S_post / tax.S_base)
    eps = 1 - base[0].mean() / N
    kept = (1 - told.sharpened.value) * eps
    assert told.predicted.value == pytest.approx(kept / (kept + told.to_never.value))
    bins = told.to_never.value + told.to_always.value
    assert told.unaccounted.value == pytest.approx(told.sharpened.value - bins)
    assert told.gap.value == pytest.approx(told.predicted.value - told.observed.value)


def test_sharpening_easy_tasks_alone_gives_a_negative_tax_and_fails_the_selection() -> None:
    rng = np.random.default_rng(4)
    p = chances(20_000, rng)
    easy = (p > 0.3) & (rng.random(len(p)) < 0.8)
    assert easy.mean() == pytest.approx(0.27, abs=0.01)
    base, post = played(p, np.where(easy, 1.0, p), rng)
    tax = sharpening_tax(base, post, N)
    assert tax.tax_S == pytest.approx(-0.016, abs=0.004)
    told = sharpening_theorem(base, post, N)
    # A share of 0.27 of the tasks, but hardly any of the area.
    assert near(told.sharpened, 0.024)
    assert told.sharpened.high < 0.1
    assert told.prediction == "fails"
    assert told.selection.verdict == "fails"
    # None of the hard tasks was sharpened, most of the easy ones were.
    assert told.selection.estimate.high < -0.5
    assert told.rest.verdict == told.all_the_way.verdict == "holds"


def test_mere_speed_gives_a_positive_tax_without_loss_and_fails_the_rest() -> None:
    rng = np.random.default_rng(5)
    p = chances(20_000, rng)
    base, post = played(p, 1 - (1 - p) ** 3, rng)
    tax = sharpening_tax(base, post, N)
    assert tax.tax_A == pytest.approx(3.3, abs=0.3)
    assert tax.tax_S == pytest.approx(0.011, abs=0.003)
    assert float(curve(*base, [N])[0]) == pytest.approx(0.861, abs=0.01)
    assert float(curve(*post, [N])[0]) == pytest.approx(0.910, abs=0.01)
    told = sharpening_theorem(base, post, N)
    assert told.prediction == "fails"
    assert told.rest.verdict == "fails"
    assert told.rest.estimate.low > 0.2
    assert told.all_the_way.verdict == "holds"


def test_stopping_short_of_certainty_is_named() -> None:
    rng = np.random.default_rng(6)
    p = rng.uniform(0.2, 0.8, 2000)
    q = np.where(rng.random(len(p)) < 0.5, np.where(rng.random(len(p)) < 0.5, 0.02, 0.98), p)
    told = sharpening_theorem(*played(p, q, rng), 64)
    assert told.all_the_way.verdict == "fails"
    assert told.all_the_way.estimate.low > 0.2


def test_each_assumption_says_what_it_is() -> None:
    rng = np.random.default_rng(7)
    p = chances(50, rng)
    told = sharpening_theorem(*played(p, p, rng, 16), 8)
    assert [found.name for found in told.assumptions] == ["selection", "rest", "all the way"]
    assert len({found.claim for found in told.assumptions}) == 3
    assert told.covers == ("tasks", "rollouts")
    assert told.clusters == 50


def test_few_tasks_and_rollouts_leave_it_undecided() -> None:
    rng = np.random.default_rng(8)
    p = chances(20, rng)
    told = sharpening_theorem(*played(p, sharpen(p, 0.2, 0.2, rng), rng, 8), 4)
    assert {found.verdict for found in told.assumptions} == {"undecided"}


def test_the_order_of_the_tasks_does_not_matter_and_n_may_vary() -> None:
    rng = np.random.default_rng(9)
    p, n = chances(60, rng), rng.integers(20, 40, 60)
    c, d = rng.binomial(n, p), rng.binomial(n, sharpen(p, 0.3, 0.2, rng))
    names = [f"t{at}" for at in range(60)]
    order = rng.permutation(60)
    one = sharpening_theorem(Counts(names, c, n), Counts(names, d, n), 16)
    other = sharpening_theorem(
        Counts(names, c, n), Counts([names[at] for at in order], d[order], n[order]), 16
    )
    assert one == other
    assert not math.isnan(one.selection.estimate.se)


def test_clusters_of_tasks_widen_the_intervals() -> None:
    rng = np.random.default_rng(10)
    p = np.repeat(chances(50, rng), 4)
    q = np.repeat(sharpen(p[::4], 0.3, 0.2, rng), 4)
    base, post = played(p, q, rng)
    alone = sharpening_theorem(base, post, 32)
    together = sharpening_theorem(base, post, 32, clusters=np.repeat(np.arange(50), 4).tolist())
    assert together.gap.value == alone.gap.value
    assert together.sharpened.se > 1.5 * alone.sharpened.se
    assert together.clusters == 50


@pytest.mark.parametrize(
    ("base", "post", "k"),
    [
        (([0, 0, 0], 8), ([1, 2, 3], 8), 4),
        (([8, 8, 8], 8), ([8, 8, 8], 8), 4),
        (([1, 2, 3], 8), ([8, 8, 8], 8), 4),
        (([1, 2, 3], 8), ([1, 2, 8], 8), 1),
        (([1], 8), ([2], 8), 4),
        (([1, 0, 2], 2), ([1, 2, 0], 2), 2),
    ],
)
def test_where_nothing_follows_nothing_is_said(base, post, k: int) -> None:
    told = sharpening_theorem(base, post, k)
    assert told.prediction == "undecided"
    assert {found.verdict for found in told.assumptions} <= {"undecided", "holds"}


def test_an_arm_that_is_never_wrong_has_no_ratio_to_observe() -> None:
    told = sharpening_theorem(([1, 2, 3], 8), ([8, 8, 8], 8), 4)
    assert math.isnan(told.observed.value)
    assert told.sharpened.value == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"K": 9}, "`K` of at most n"),
        ({"K": 4, "confidence": 2}, "confidence"),
        ({"K": 4, "clusters": ["a"]}, "label in `clusters`"),
    ],
)
def test_bad_arguments_are_named(options, message: str) -> None:
    with pytest.raises(BadArgument, match=message):
        sharpening_theorem(([1, 2], 8), ([1, 2], 8), **options)


@pytest.mark.parametrize(
    ("tasks", "n", "k"),
    [
        (50, 32, 16),
        pytest.param(200, 32, 16, marks=pytest.mark.slow),
        pytest.param(200, 128, 32, marks=pytest.mark.slow),
    ],
)
def test_intervals_hold_the_truth_as_often_as_they_say(tasks: int, n: int, k: int) -> None:
    rng = np.random.default_rng(11)
    rounds, held = 600, np.zeros(5)
    for _ in range(rounds):
        p = chances(tasks, rng)
        told = sharpening_theorem(*played(p, sharpen(p, 0.3, 0.2, rng), rng, n), k)
        truths = (
            (told.sharpened, 0.5),
            (told.to_never, 0.3),
            (told.gap, 0),
            (told.selection.estimate, 0),
            (told.all_the_way.estimate, 0),
        )
        held += [found.low <= truth <= found.high for found, truth in truths]
    assert ((held / rounds >= 0.92) & (held / rounds <= 0.985)).all()
