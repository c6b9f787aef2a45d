from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html import unescape
from typing import Any

import numpy as np
import pytest

from agentenvs.harness.report.costs import between, cost, cost_span, way
from agentenvs.harness.report.gather import Findings, find
from agentenvs.harness.report.sections_pilot import pilot_part
from agentenvs.harness.report.sections_use import routing_section
from agentenvs.harness.tax import Estimate

pytestmark = pytest.mark.usefixtures("few_pilots")

_INF = float("inf")
_NAN = float("nan")


@cache
def _found(**more: Any) -> Findings:
    rng = np.random.default_rng(2)
    rate = rng.beta(0.5, 1.2, 80)
    base = rng.binomial(32, rate), 32
    post = rng.binomial(32, np.where(rng.random(80) < 0.7, 1 - (1 - rate) ** 4, 0)), 32
    return find(base, post, **more)


def _rows(html: str) -> list[list[str]]:
    lines = re.findall(r"<tr>(.*?)</tr>", html)
    return [
        [
            unescape(re.sub("<[^>]+>", " ", cell)).strip()
            for cell in re.findall(r"<t[hd].*?</t[hd]>", line)
        ]
        for line in lines
    ]


def _text(found: Findings) -> str:
    return unescape(re.sub("<[^>]+>", " ", "".join(pilot_part(found)))).replace("\u00a0", " ")


def test_ways_are_told_in_words() -> None:
    found = _found()
    assert way(found, "base@24+post@4") == "24 tries before and 4 after"
    assert way(found, "post@1+base@3") == "1 try after and 3 before"
    assert way(found, "post@1") == "1 try, after"


def test_costs_have_intervals() -> None:
    assert between(1.0, 12.25) == "1 to 12.2"
    assert between(-2.0, _INF) == "\u22122 or more"
    assert between(-_INF, 2.0) == "2 or less"
    assert between(_NAN, _NAN) == between(-_INF, _INF) == "no interval"
    assert (cost(_INF), cost(_NAN), cost(120.4)) == ("", "", "120")


def test_the_cost_of_other_tasks_ends_where_tries_end() -> None:
    found = _found(target=0.7, price=(2.0, 1.0))
    (routing,) = found.routes
    option = routing.base.option
    assert option is not None
    arm = routing.base
    ends = [(3, 9, "6 to 18"), (3, None, "6 to more than 64"), (None, None, "more than 64")]
    for low, high, told in ends:
        changed = routing._replace(base=arm._replace(k_low=low, k_high=high))
        assert cost_span(changed, option) == told
    assert cost_span(routing._replace(base=arm._replace(k_low=3, k_high=3)), option) == ""


def test_both_tables_name_the_same_way_for_the_share_that_the_pilot_is_asked_about() -> None:
    for found in (_found(), _found(target=0.4)):
        assert found.pilot is not None
        routing = next(one for one in found.routes if one.target == found.pilot.target)
        assert routing.best is not None
        name = way(found, str(routing.best))
        first, second = routing_section(found).split("<h3>")
        assert name in first
        assert f"one model: {name}" in second
        asked = "no share was asked about" in second
        assert asked is (found.target is None)


def test_a_mixture_is_named_and_not_passed_off_as_one_model() -> None:
    found = _found()
    assert found.pilot is not None
    both = found.pilot.both
    assert both is not None
    rows = _rows("".join(pilot_part(found)))
    assert [row[0] for row in rows].count(f"both models: {way(found, both.name)}") == 1


def test_pilots_that_see_no_way_are_not_told_as_agreeing() -> None:
    found = _found()
    assert found.pilot is not None
    pilot = found.pilot._replace(
        base_k=None,
        post_k=None,
        both=None,
        shares=(0.11, 0.0, 0.0),
        share_none=0.89,
        agreement=0.89,
    )
    told = _text(replace(found, pilot=pilot))
    assert "no number of tries of one model is seen to be enough here: 89 % of such pilots" in told
    assert "the others name one that falls short" in told
    assert "choose what the other tries" not in told
    assert "not reached" in told


def test_agreement_is_not_sold_as_being_right() -> None:
    told = _text(_found())
    assert "That is not how likely the choice is right for other tasks" in told
    assert "the pilot's own tries are not in them" in told


@pytest.mark.parametrize(
    ("saving", "needed", "told"),
    [
        ((2.0, -1.0, 5.0), (8.0, 3.2, _INF), "so that it may save nothing). The pilot has paid"),
        ((2.0, 1.0, 5.0), (8.0, 3.2, 16.0), "served 8 times (3.2 to 16)."),
        ((-1.0, -2.0, 3.0), (_INF, 5.3, _INF), "saves nothing over the cheapest"),
    ],
)
def test_what_a_pilot_saves_has_an_interval(
    saving: tuple[float, float, float], needed: tuple[float, float, float], told: str
) -> None:
    found = _found()
    assert found.pilot is not None

    def estimate(value: float, low: float, high: float) -> Estimate:
        return Estimate(value, _NAN, low, high)

    pilot = found.pilot._replace(saving=estimate(*saving), break_even=estimate(*needed))
    assert pilot.matched is not None
    assert told in _text(replace(found, pilot=pilot))
    alone = pilot._replace(matched=None, saving=estimate(_INF, _NAN, _NAN))
    assert "Nothing without a pilot is seen to solve as many" in _text(replace(found, pilot=alone))
