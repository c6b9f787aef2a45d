from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.harness.tax import Estimate, discoveries, p_value, sharpening_tax_interval

# The example of Benjamini and Hochberg (1995), section 3.2: four finds at 5 %.
PAPER = [
    0.0001,
    0.0004,
    0.0019,
    0.0095,
    0.0201,
    0.0278,
    0.0298,
    0.0344,
    0.0459,
    0.3240,
    0.4262,
    0.5719,
    0.6528,
    0.7590,
    1.0000,
]


def test_the_published_example() -> None:
    found = discoveries(PAPER)
    assert found.rejected.tolist() == [True] * 4 + [False] * 11
    assert (found.found, found.tested, found.rate, found.dependence) == (4, 15, 0.05, "positive")
    assert found.adjusted[3] == pytest.approx(0.0095 * 15 / 4)


def test_any_dependence_finds_less() -> None:
    found = discoveries(PAPER, dependence="any")
    assert found.found == 3
    harmonic = sum(1 / i for i in range(1, 16))
    assert found.adjusted[2] == pytest.approx(0.0019 * 15 / 3 * harmonic)


@given(
    st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=30),
    st.sampled_from(["positive", "any"]),
)
def test_finds_are_those_of_the_step_up_rule(ps: list[float], dependence) -> None:
    found = discoveries(ps, 0.1, dependence)
    known = sorted(p for p in ps if not math.isnan(p))
    m = len(known)
    strict = sum(1 / i for i in range(1, m + 1)) if dependence == "any" else 1
    limits = [p for i, p in enumerate(known, 1) if p * (strict * m) / i <= 0.1]
    cut = max(limits, default=-1)
    assert found.rejected.tolist() == [p <= cut for p in ps]
    assert found.tested == m
    assert np.isnan(found.adjusted).tolist() == [math.isnan(p) for p in ps]
    assert (found.adjusted[~np.isnan(found.adjusted)] <= 1).all()


def test_a_cell_that_cannot_be_judged_costs_the_others_nothing() -> None:
    plain = discoveries([0.01, 0.03, 0.2])
    found = discoveries([math.nan, 0.01, 0.03, math.nan, 0.2])
    assert found.adjusted[[1, 2, 4]].tolist() == plain.adjusted.tolist()
    assert not found.rejected[[0, 3]].any()
    assert discoveries([]).tested == 0
    assert discoveries([math.nan]).found == 0


def test_p_values_agree_with_intervals() -> None:
    assert p_value(Estimate(1.959964, 1.0, 0.0, 4.0)) == pytest.approx(0.05)
    assert p_value(Estimate(-1.959964, 1.0, -4.0, 0.0)) == pytest.approx(0.05)
    assert p_value(Estimate(0.0, 1.0, -2.0, 2.0)) == 1
    assert p_value(Estimate(40.0, 1.0, 38.0, 42.0)) == 0
    rng = np.random.default_rng(0)
    beyond = 0
    for _ in range(100):
        c, d = rng.binomial(8, rng.beta(1, 2, (2, 20)))
        found = sharpening_tax_interval((c, 8), (d, 8), 4)
        tax = found.tax_A
        assert (p_value(tax, found.clusters) < 0.05) == (tax.low > 0 or tax.high < 0)
        assert p_value(tax, found.clusters) > p_value(tax)
        assert p_value(tax, math.inf) == p_value(tax)
        beyond += p_value(tax) < 0.05
    assert 2 < beyond < 20


@pytest.mark.parametrize("se", [math.nan, 0.0])
def test_without_an_error_there_is_no_p_value(se: float) -> None:
    assert math.isnan(p_value(Estimate(0.3, se, math.nan, math.nan)))
    assert math.isnan(p_value(Estimate(math.nan, 0.1, math.nan, math.nan)))


def test_false_finds_are_as_rare_as_asked_for() -> None:
    rng = np.random.default_rng(1)
    z = rng.standard_normal((2000, 42))
    z[:, :12] += 3
    shares = []
    for row in z:
        found = discoveries([p_value(Estimate(x, 1.0, x - 2, x + 2)) for x in row], 0.1)
        shares.append(found.rejected[12:].sum() / max(found.found, 1))
    # In theory 0.1 * 30 / 42.
    assert np.mean(shares) == pytest.approx(0.0714, abs=0.007)


@pytest.mark.parametrize("groups", [1, 0, -3, math.nan, "20"])
def test_an_error_needs_two_groups(groups) -> None:
    with pytest.raises(BadArgument, match="`groups` of at least 2"):
        p_value(Estimate(0.3, 0.1, 0.1, 0.5), groups)


@pytest.mark.parametrize(
    ("ps", "options", "message"),
    [
        ([0.5, 1.5], {}, r"in \[0, 1\], got 1.5"),
        ([-0.1], {}, r"in \[0, 1\]"),
        ([[0.5]], {}, "to be a list, got shape"),
        (0.5, {}, "to be a list, got shape"),
        (["a"], {}, "list of numbers"),
        ([0.5], {"rate": 0}, "`rate` between 0 and 1"),
        ([0.5], {"rate": True}, "`rate` between 0 and 1"),
        ([0.5], {"dependence": "none"}, '"positive" or "any"'),
    ],
)
def test_arguments_are_checked(ps, options, message) -> None:
    with pytest.raises(BadArgument, match=message):
        discoveries(ps, **options)


def test_a_p_value_on_the_line_is_a_find() -> None:
    # In doubles 3 * 0.05 / 3 is above 0.05.
    assert discoveries([0.05] * 3).found == 3
