from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.harness.report import formats
from agentenvs.harness.tax import Estimate

_NAN = math.nan


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.584, "58 %"),
        (0.004, "0.4 %"),
        (0.996, "99.6 %"),
        (0.99999, "over 99.99 %"),
        (1e-6, "under 0.01 %"),
        (_NAN, "undefined"),
    ],
)
def test_percent_never_reads_as_none_or_all_where_it_is_not(share: float, shown: str) -> None:
    assert formats.percent(share).replace("\u00a0", " ") == shown


@given(st.floats(0, 1), st.floats(0, 1))
def test_percents_tell_shares_apart_that_differ(one: float, two: float) -> None:
    first, second = formats.percents(one, two)
    if abs(one - two) > 1e-4:
        assert first != second


def test_numbers_have_a_true_minus_and_no_negative_zero() -> None:
    assert formats.number(-1.25, 1) == "\u22121.2"
    assert formats.number(-1e-12, 2) == "0.00"
    assert formats.signed(0.5, 1) == "+0.5"
    assert formats.signed(-0.5, 1) == "\u22120.5"
    assert formats.signed(0.0, 2) == "0.00"
    assert formats.signed(_NAN, 2) == "undefined"


def test_what_is_not_nothing_never_reads_as_nothing() -> None:
    assert formats.number(-0.001, 2) == "\u22120.001"
    assert formats.signed(0.0001, 2) == "+0.0001"
    edge = Estimate(0.138, 0.06, 0.0016, 0.27)
    assert formats.spread(edge, flip=True).replace("\u00a0", " ") == "\u221227 to \u22120.2"
    assert formats.span(edge, 2, sign=True) == "+0.002 to +0.27"
    assert formats.percent(1e-13, 1) == "0\u00a0%"


@given(st.floats(-1, 1), st.integers(0, 4))
def test_the_sign_of_a_number_is_seen(value: float, digits: int) -> None:
    shown = formats.signed(value, digits)
    if abs(value) > 1e-9:
        assert shown[0] == ("+" if value > 0 else "\u2212")
    assert abs(float(shown.replace("\u2212", "-")) - value) <= 0.500001 * 10**-digits


def test_the_opening_of_a_sentence_has_a_capital_unless_it_is_a_name() -> None:
    assert formats.upper("the trained model") == "The trained model"
    assert formats.upper("scripted:wide") == "scripted:wide"


def test_a_drop_is_told_as_what_was_gained() -> None:
    drop = Estimate(-0.216, 0.02, -0.26, -0.177)
    assert formats.points(drop) == "+22\u00a0points"
    assert formats.spread(drop, flip=True).replace("\u00a0", " ") == "+18 to +26"
    assert formats.spread(drop).replace("\u00a0", " ") == "\u221226 to \u221218"
    assert formats.points(Estimate(0.004, 0, 0, 0)) == "\u22120.4\u00a0points"


def test_missing_intervals_are_named() -> None:
    assert formats.spread(Estimate(0.1, _NAN, _NAN, _NAN)) == ""
    assert formats.span(Estimate(0.1, _NAN, _NAN, _NAN), 2) == "no interval"
    assert formats.span(Estimate(_NAN, _NAN, _NAN, _NAN), 2) == ""
    assert formats.span(Estimate(0.1, 0.1, -0.1, 0.3), 1, sign=True) == "\u22120.1 to +0.3"


def test_counts_agree_in_number() -> None:
    assert formats.count(1, "task") == "1\u00a0task"
    assert formats.count(2000, "try", "tries") == "2,000\u00a0tries"
