from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.harness.tax import curve, sharpening_tax_interval, tax_parts

arms = st.integers(2, 24).flatmap(
    lambda n: st.tuples(
        st.lists(st.tuples(st.integers(0, n), st.integers(0, n)), min_size=2, max_size=12),
        st.just(n),
    )
)


def rational_gaps(pairs: list[tuple[int, int]], n: int, k: int) -> list[Fraction]:
    """pass@j of base minus that of post, j = 1, ..., k."""
    return [
        sum((Fraction(comb(n - p, j) - comb(n - b, j), comb(n, j)) for b, p in pairs), Fraction(0))
        / len(pairs)
        for j in range(1, k + 1)
    ]


@given(arms, st.data())
def test_the_parts_against_rational_curves(both, data) -> None:
    pairs, n = both
    base, post = zip(*pairs, strict=True)
    k = data.draw(st.integers(1, n))
    found, gaps = tax_parts((base, n), (post, n), k), rational_gaps(pairs, n, k)
    assert found.coverage.value == pytest.approx(float(k * gaps[-1]), abs=1e-11)
    assert found.earliness.value == pytest.approx(float(-sum(gaps)), abs=1e-11)
    together = found.coverage.value + found.earliness.value
    assert together == pytest.approx(found.tax_A.value, abs=1e-11)


def test_all_sorts_of_counts_up_to_24_rollouts() -> None:
    for n in range(1, 25):
        pairs = [(b, p) for b in range(n + 1) for p in (0, n // 3, n)]
        base, post = zip(*pairs, strict=True)
        gaps = rational_gaps(pairs, n, n)
        for k in range(1, n + 1):
            found = tax_parts((base, n), (post, n), k)
            assert found.coverage.value == pytest.approx(float(k * gaps[k - 1]), abs=1e-12)
            assert found.earliness.value == pytest.approx(float(-sum(gaps[:k])), abs=1e-12)


def test_many_rollouts() -> None:
    n, k = 4000, 1500
    base, post = [1, 3, 40, 2000], [0, 1, 3999, 2500]
    found = tax_parts((base, n), (post, n), k)
    gaps = curve(base, n, range(1, k + 1)) - curve(post, n, range(1, k + 1))
    assert found.coverage.value == pytest.approx(k * gaps[-1], rel=1e-10)
    assert found.earliness.value == pytest.approx(-gaps.sum(), rel=1e-10)


def test_the_same_tasks_sooner_cost_no_coverage() -> None:
    rng = np.random.default_rng(5)
    p = rng.beta(0.4, 1.2, 5_000)
    base, post = (rng.binomial(64, q) for q in (p, 1 - (1 - p) ** 3))
    sooner = tax_parts((base, 64), (post, 64), 32)
    assert sooner.tax_A.low > 0
    assert sooner.coverage.high < 0 < sooner.earliness.low
    lost = tax_parts((base, 64), (np.where(rng.random(p.size) < 0.3, 0, base), 64), 32)
    assert lost.earliness.high < 0 < lost.tax_A.low < lost.coverage.low


def test_the_tax_and_its_interval_are_those_of_the_measures() -> None:
    rng = np.random.default_rng(6)
    base, post = rng.integers(0, 9, 40), rng.integers(0, 9, 40)
    labels = (np.arange(40) // 3).tolist()
    found = tax_parts((base, 8), (post, 8), 4, 0.9, labels)
    plain = sharpening_tax_interval((base, 8), (post, 8), 4, 0.9, labels)
    assert found.tax_A == plain.tax_A
    gap = plain.pass_gap
    assert found.coverage.se == pytest.approx(4 * gap.se)
    assert found[4:] == (0.9, "delta", ("tasks", "rollouts"), 14)


def test_an_arm_without_spread_has_no_intervals() -> None:
    found = tax_parts(([1, 0, 2, 3], 8), ([0] * 4, 8), 4)
    for part in (found.tax_A, found.coverage, found.earliness):
        assert all(map(math.isnan, part[1:]))
    assert found.coverage.value > 0 > found.earliness.value
