from __future__ import annotations

import numpy as np
import pytest

from agentenvs.core import Rules
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.pages import Shop
from agentenvs.webshop.site.breakdown import breakdown


@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_parts_add_up_to_the_score(odd_shop: Catalog, rules: Rules) -> None:
    shop, rng = Shop(odd_shop, rules=rules), np.random.default_rng(0)
    goals = odd_shop.goals("synthetic")
    for index in range(len(goals)):
        goal = goals.goal(index)
        state = shop.start()
        state.page, state.asin, state.row = "item", "B000000001", odd_shop.row("B000000001")
        state.options = {"color": "red"}
        assert breakdown(shop.view(state), goal, rules, "/") is None
        shop.click(state, "buy now", goal, rng)
        told = breakdown(shop.view(state), goal, rules, "/there")
        assert told is not None
        assert state.score is not None
        factor, *terms = told.parts
        lines = [line.hit for term in terms for line in term.lines]
        assert factor.share * sum(map(bool, lines)) / len(lines) == pytest.approx(state.score.total)
        assert told.sum.endswith(f"= {state.score.total:.4g}")
        assert told.href == "/there"


def test_a_goal_without_a_cap_says_so(odd_shop: Catalog) -> None:
    from dataclasses import replace

    from agentenvs.webshop.records import NO_CAP

    shop = Shop(odd_shop)
    goal = replace(odd_shop.goals("human").goal(0), price_upper=NO_CAP)
    state = shop.start()
    state.page, state.asin, state.row = "item", "C000000004", odd_shop.row("C000000004")
    shop.click(state, "buy now", goal, np.random.default_rng(0))
    told = breakdown(shop.view(state), goal, "official", "/")
    assert told is not None
    assert "asked for no limit" in told.parts[-1].lines[0].text
