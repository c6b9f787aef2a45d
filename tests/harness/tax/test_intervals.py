from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import (
    Counts,
    area,
    pass_at_k,
    pass_at_k_interval,
    scalability,
    sharpening_tax,
    sharpening_tax_interval,
)

MEASURES = ("A_base", "A_post", "S_base", "S_post", "tax_A", "tax_S")


def draw(seed: int, size: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 1.2, size)
    q = np.where(rng.random(size) < 0.4, p**2, 1 - (1 - p) ** 3)
    return rng.binomial(n, p), rng.binomial(n, q)


@given(st.integers(0, 10_000), st.integers(2, 16))
def test_values_are_those_of_the_plain_measures(seed: int, k: int) -> None:
    base, post = draw(seed, 30, 16)
    plain = sharpening_tax((base, 16), (post, 16), k)
    found = sharpening_tax_interval((base, 16), (post, 16), k)
    for name in MEASURES:
        assert getattr(found, name).value == pytest.approx(getattr(plain, name), nan_ok=True)
    assert found.pass_base == pass_at_k_interval(base, 16, k)
    assert (found.K, found.tasks, found.confidence) == (k, 30, 0.95)


@pytest.mark.parametrize("k", [2, 8, 16])
def test_standard_errors_agree_with_the_jackknife(k: int) -> None:
    size, n = 300, 16
    base, post = draw(3, size, n)
    found = sharpening_tax_interval((base, n), (post, n), k)
    left_out = [
        sharpening_tax((np.delete(base, i), n), (np.delete(post, i), n), k) for i in range(size)
    ]
    for name in MEASURES:
        values = np.array([getattr(tax, name) for tax in left_out])
        jackknife = math.sqrt((size - 1) * values.var())
        assert getattr(found, name).se == pytest.approx(jackknife, rel=0.02)


def test_linear_measures_have_the_textbook_error() -> None:
    base, post = draw(4, 50, 8)
    found = sharpening_tax_interval((base, 8), (post, 8), 4)
    gap = area(base, 8, 4) - area(post, 8, 4)
    assert found.tax_A.se == pytest.approx(gap.std(ddof=1) / math.sqrt(50))
    hits = pass_at_k(base, 8, 4)
    assert found.pass_base.se == pytest.approx(hits.std(ddof=1) / math.sqrt(50))


def test_pairing_narrows_the_tax_of_arms_that_go_together() -> None:
    rng = np.random.default_rng(9)
    p = rng.beta(0.5, 1.2, 200)
    base, post = rng.binomial(16, p), rng.binomial(16, p)
    paired = sharpening_tax_interval((base, 16), (post, 16), 8).tax_A.se
    apart = sharpening_tax_interval((base, 16), (rng.permutation(post), 16), 8).tax_A.se
    assert paired < 0.8 * apart


def test_confidence_sets_the_width() -> None:
    base, post = draw(5, 40, 8)
    narrow = sharpening_tax_interval((base, 8), (post, 8), 4, 0.5).tax_S
    wide = sharpening_tax_interval((base, 8), (post, 8), 4).tax_S
    assert narrow.se == wide.se
    # Student's quantiles of 39 degrees of freedom.
    assert wide.high - wide.value == pytest.approx(2.022691 * wide.se)
    assert narrow.value - narrow.low == pytest.approx(0.680833 * narrow.se, rel=1e-5)


def test_equal_values_leave_no_spread() -> None:
    found = sharpening_tax_interval(([1] * 7, 3), ([0, 1, 3, 2, 2, 0, 1], 3), 2)
    # A third of a third rounds: equal values must still read as no spread.
    assert all(map(math.isnan, found.A_base[1:]))
    assert all(map(math.isnan, found.S_base[1:]))
    assert found.S_post.se > 0


def test_an_arm_without_spread_is_not_taken_for_exact() -> None:
    base, post = [1, 0, 2, 3] * 6, [0] * 24
    found = sharpening_tax_interval((base, 8), (post, 8), 4)
    assert found.tax_A.value == found.A_base.value > 0
    for name in ("A_post", "S_post", "tax_A", "tax_S"):
        assert all(map(math.isnan, getattr(found, name)[1:])), name
    gap, upper = found.pass_gap, found.pass_post.high
    assert gap.value == found.pass_base.value
    assert 0 < upper < 0.2
    assert gap.low < found.pass_base.low - upper / 4
    assert gap.high == pytest.approx(found.pass_base.high)


def test_two_arms_at_0_leave_the_gap_open() -> None:
    gap = sharpening_tax_interval(([0] * 24, 8), ([0] * 24, 8), 8).pass_gap
    assert gap.value == 0
    assert -0.2 < gap.low == -gap.high < -0.1


def test_equal_arms_leave_the_gap_open() -> None:
    gap = sharpening_tax_interval(([1, 4, 0, 2] * 6, 8), ([1, 4, 0, 2] * 6, 8), 2).pass_gap
    assert gap.value == 0
    assert math.isnan(gap.se)
    assert -0.3 < gap.low < -0.1
    assert 0.1 < gap.high < 0.3


def test_intervals_are_cut_to_what_a_measure_can_be() -> None:
    found = sharpening_tax_interval(([1, 0, 0, 0], 4), ([0, 4, 4, 2], 4), 4)
    assert found.A_base.low == found.S_base.low == 0
    assert found.S_base.value - 1.96 * found.S_base.se < 0


def test_undefined_measures_have_undefined_intervals() -> None:
    found = sharpening_tax_interval(([4, 4, 4], 4), ([1, 2, 0], 4), 2)
    assert all(map(math.isnan, found.S_base))
    assert all(map(math.isnan, found.tax_S))
    assert found.S_post.value == scalability([1, 2, 0], 4, 2)
    assert found.A_post.se > 0
    assert math.isnan(sharpening_tax_interval(([1, 2], 4), ([2, 0], 4), 1).S_base.value)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1, float("nan"), "0.95"])
def test_confidence_is_a_share(confidence) -> None:
    with pytest.raises(BadArgument, match="`confidence` between 0 and 1"):
        pass_at_k_interval([1, 2], 4, 1, confidence)


def test_clusters_are_told_and_widen_the_intervals() -> None:
    base, post = draw(6, 20, 16)
    ids = [f"{task}-{copy}" for task in range(20) for copy in range(3)]
    full = np.full(60, 16)
    arms = [Counts(ids, np.repeat(c, 3), full) for c in (base, post)]
    alone = sharpening_tax_interval((base, 16), (post, 16), 8)
    found = sharpening_tax_interval(*arms, 8, clusters={task: task.split("-")[0] for task in ids})
    assert (found.tasks, found.clusters, found.covers) == (60, 20, ("tasks", "rollouts"))
    for name in ("pass_base", "pass_gap", *MEASURES):
        assert getattr(found, name) == pytest.approx(getattr(alone, name))
    loose = sharpening_tax_interval(*arms, 8)
    assert loose.tax_S.se < 0.6 * found.tax_S.se
    assert (loose.method, loose.clusters) == ("delta", 60)


def test_one_cluster_leaves_shares_alone_with_an_interval() -> None:
    found = sharpening_tax_interval(([1, 4, 3], 8), ([2, 0, 5], 8), 4, clusters=["same"] * 3)
    assert found.clusters == 1
    for name in MEASURES:
        assert all(map(math.isnan, getattr(found, name)[1:])), name
    assert math.isnan(found.pass_base.se)
    assert 0 <= found.pass_base.low < found.pass_base.value < found.pass_base.high <= 1
    assert found.pass_gap.low < found.pass_gap.value < found.pass_gap.high


def test_one_task_has_shares_alone() -> None:
    found = sharpening_tax_interval(([3], 8), ([5], 8), 4)
    assert math.isnan(found.tax_S.se)
    assert not math.isnan(found.tax_S.value)
    assert found.pass_gap.high - found.pass_gap.low > 0.9


def test_clusters_must_fit_the_tasks() -> None:
    with pytest.raises(BadArgument, match="a label in `clusters` for each of 2 tasks, got 3"):
        sharpening_tax_interval(([1, 2], 4), ([2, 0], 4), 2, clusters=[0, 0, 1])


def coverage(size: int, n: int, k: int, rounds: int) -> dict[str, float]:
    truth_base, truth_post = draw(1, 2_000_000, n)
    names = ("pass_base", "pass_gap", *MEASURES)
    truth = sharpening_tax_interval((truth_base, n), (truth_post, n), k)
    held = dict.fromkeys(names, 0)
    for seed in range(rounds):
        base, post = draw(1000 + seed, size, n)
        found = sharpening_tax_interval((base, n), (post, n), k)
        for name in names:
            low, high = getattr(found, name)[2:]
            held[name] += low <= getattr(truth, name).value <= high
    return {name: count / rounds for name, count in held.items()}


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    # Of 400 intervals at 95 %, 370 to 390 hold; five standard deviations are 22.
    shares = coverage(size=200, n=16, k=8, rounds=400)
    assert all(0.895 <= share <= 0.99 for share in shares.values()), shares
