from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import (
    area,
    curve,
    lone_success_audit,
    scalability,
    sharpening_tax,
    with_false_positives,
)


def test_the_audit_takes_lone_successes_for_mistakes() -> None:
    base, post = ([1, 3, 0, 1, 8, 5], 8), ([0, 1, 2, 0, 8, 8], 8)
    found = lone_success_audit(base, post, 4)
    assert found.before == sharpening_tax(base, post, 4)
    after = ([0, 3, 0, 0, 8, 5], 8), ([0, 0, 2, 0, 8, 8], 8)
    assert found.after == sharpening_tax(*after, 4)
    for pair, arms in ((found.pass_before, (base, post)), (found.pass_after, after)):
        assert pair == pytest.approx([curve(*arm, [4])[0] for arm in arms])
    assert (found.K, found.most, found.tasks) == (4, 1, (2, 1))
    whole = area(*base, 4).sum()
    assert found.share_most[0] == pytest.approx(2 * area(1, 8, 4) / whole)
    assert found.share_few == pytest.approx((1.0, 1.0))


def test_how_many_successes_count_as_few() -> None:
    rng = np.random.default_rng(1)
    c = rng.binomial(64, rng.beta(0.4, 1.2, 300))
    audits = [lone_success_audit((c, 64), (c, 64), 32, most) for most in (1, 3, 8, 64)]
    shares = [audit.share_most[0] for audit in audits]
    assert 0 < shares[0] < shares[1] < shares[2] < shares[3] == pytest.approx(1)
    assert shares[2] == audits[0].share_few[0] < 1
    assert audits[3].after.A_base == 0


def test_an_arm_without_area_has_no_share_to_carry() -> None:
    found = lone_success_audit(([0, 8], 8), ([0, 1], 8), 4)
    assert math.isnan(found.share_most[0])
    assert math.isnan(found.share_few[0])
    assert found.share_most[1] == 1


@pytest.mark.parametrize("most", [0, -1, True, 1.0, "1", None])
def test_most_is_a_number_of_successes(most) -> None:
    with pytest.raises(BadArgument, match="`most` to be an integer of 1 or more"):
        lone_success_audit(([1], 4), ([1], 4), 2, most)


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(st.lists(st.integers(0, n), min_size=1, max_size=4), st.just(n))
    ),
    st.fractions(0, 1, max_denominator=20),
    st.data(),
)
def test_false_passes_against_every_outcome_of_the_grader(task, rate, data) -> None:
    c, n = task
    k = data.draw(st.integers(1, n))
    pass_1 = pass_k = steps = Fraction(0)
    for hits in c:
        fails = n - hits
        for extra in range(fails + 1):
            odds = comb(fails, extra) * rate**extra * (1 - rate) ** (fails - extra) / len(c)
            curve = [1 - Fraction(comb(fails - extra, j), comb(n, j)) for j in range(1, k + 1)]
            pass_1 += odds * curve[0]
            pass_k += odds * curve[-1]
            steps += odds * sum(curve[-1] - level for level in curve)
    found = with_false_positives(c, n, k, float(rate))
    assert found.pass_1 == pytest.approx(float(pass_1), abs=1e-12)
    assert found.pass_K == pytest.approx(float(pass_k), abs=1e-12)
    assert pytest.approx(float(steps), abs=1e-12) == found.A
    if k == 1 or pass_1 == 1:
        assert math.isnan(found.S)
    else:
        assert (
            pytest.approx(float(steps / ((k - 1) * (1 - pass_1))), rel=1e-9, abs=1e-12) == found.S
        )


def test_without_false_passes_nothing_changes() -> None:
    c = np.random.default_rng(2).integers(0, 129, 100)
    found = with_false_positives(c, 128, 64, 0)
    assert pytest.approx(scalability(c, 128, 64), rel=1e-12) == found.S
    assert found.pass_K == pytest.approx(curve(c, 128, [64])[0], rel=1e-12)


def test_published_size_of_the_effect() -> None:
    # 44 of 100 tasks never solved, 30 sometimes, 26 always: 5 false passes in 1,000 rollouts.
    c = [0] * 220 + [64] * 150 + [128] * 130
    assert with_false_positives(c, 128, 128, 0).pass_K == pytest.approx(0.56)
    assert with_false_positives(c, 128, 128, 5e-3).pass_K == pytest.approx(0.768, abs=5e-4)
    rates = (0, 5e-4, 1e-3, 5e-3)
    values = [with_false_positives(c, 128, 128, rate).S for rate in rates]
    assert values == sorted(values)
    assert values[-1] > 10 * values[0]


def test_a_grader_that_passes_everything_leaves_no_failure() -> None:
    found = with_false_positives([0, 3], 8, 4, 1)
    assert (found.pass_1, found.pass_K, found.A) == (1, 1, 0)
    assert math.isnan(found.S)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), True, "0.1", None])
def test_a_rate_is_a_share(rate) -> None:
    with pytest.raises(BadArgument, match="`rate` between 0 and 1"):
        with_false_positives([1], 4, 2, rate)
