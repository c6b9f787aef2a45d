from __future__ import annotations

import copy
import itertools
import json
import pickle
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument, SourceError
from agentenvs.webshop import _units
from agentenvs.webshop._units import draw_cap, human_units, synthetic_units, write_goals
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.goals import Goals, cap, caps_above
from agentenvs.webshop.records import NO_CAP, Goal

Recorded = Callable[[str], list[Any]]


def bare(text: str) -> str:
    """Return the letters and digits of an instruction, without its price."""
    return "".join(filter(str.isalnum, text.split(", and price lower than")[0]))


class TestCaps:
    @pytest.mark.parametrize(
        ("price", "caps"),
        [
            (0.01, (10, 20, 30, 40)),
            (9.99, (10, 20, 30, 40)),
            (10.0, (20, 30, 40, 50)),
            (955.0, (960, 970, 980, 990)),
            (965.0, (970, 980, 990)),
            (979.99, (980, 990)),
            (980.0, (990,)),
            (990.0, ()),
        ],
    )
    def test_four_at_most_lie_above_a_price(self, price: float, caps: tuple[int, ...]) -> None:
        assert caps_above(price) == caps

    def test_the_larger_of_two_is_drawn(self) -> None:
        rng = random.Random(0)
        drawn = Counter(draw_cap(15.0, rng) for _ in range(6000))
        assert drawn.keys() == {1, 2, 3}
        for place, share in ((1, 1 / 6), (2, 2 / 6), (3, 3 / 6)):
            assert drawn[place] / 6000 == pytest.approx(share, abs=0.03)

    @given(st.floats(0.01, 2000), st.floats(0.01, 2000), st.integers())
    def test_a_cap_moves_along_with_the_price(self, drawn: float, new: float, seed: int) -> None:
        place = draw_cap(drawn, random.Random(seed))
        upper = cap(new, place)
        if new >= 980:
            assert upper == NO_CAP
        else:
            assert new < upper <= new + 40
            assert upper in caps_above(new)

    def test_no_draw_is_made_where_there_is_no_choice(self) -> None:
        rng = random.Random(0)
        before = rng.getstate()
        assert draw_cap(985.0, rng) == -1
        assert rng.getstate() == before
        assert cap(985.0, -1) == NO_CAP


class TestOfficial:
    def test_there_are_as_many_as_the_original_makes(self, shop_catalog: Catalog) -> None:
        synthetic = shop_catalog.goals("synthetic")
        rows = Counter(synthetic.row(i) for i in range(len(synthetic)))
        assert len(synthetic) == 6910
        assert len(rows) == 415
        assert max(rows.values()) == 558
        assert len(shop_catalog.goals("human")) == 13

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("text", "synthetic"),
            ("text_rich", "synthetic"),
            ("url", "synthetic"),
            ("rewards", "synthetic"),
            ("human_text", "human"),
        ],
    )
    def test_every_recorded_goal_is_made_again(
        self,
        shop_catalog: Catalog,
        recorded: Recorded,
        name: str,
        kind: Literal["synthetic", "human"],
    ) -> None:
        header, *rows = recorded(name)
        goals = shop_catalog.goals(kind)
        assert header["n_goals"] == len(goals)
        assert rows
        for row in rows:
            goal = goals.goal(row["goal_idx"])
            assert goal == Goal.of(row["goal"])
            assert goal.as_record() == row["goal"]
            assert f"Instruction: {goal.instruction_text}" == row["instruction_text"]
            bought = shop_catalog.row(goal.asin)
            assert goals.row(row["goal_idx"]) == bought
            assert shop_catalog.price(bought) == row["price_of_goal_item"]

    def test_a_price_table_of_the_same_draws_changes_nothing(
        self, shop_catalog: Catalog, recorded: Recorded
    ) -> None:
        prices = recorded("text")[0]["random_prices"]
        goals = shop_catalog.goals("synthetic")
        for index in range(0, len(goals), 97):
            assert goals.goal(index, prices) == goals.goal(index)

    def test_human_goals_stand_in_the_order_of_the_full_list(
        self, shop_catalog: Catalog, webshop_data: Path
    ) -> None:
        texts = json.loads((webshop_data / "human_goals.json").read_text(encoding="utf-8"))
        order = list(range(len(texts)))
        random.Random(233).shuffle(order)
        first = [texts[order.index(place)] for place in range(13)]
        goals = shop_catalog.goals("human")
        within = list(range(13))
        random.Random(233).shuffle(within)
        for index, place in enumerate(within):
            assert bare(first[place]) == bare(goals.goal(index).instruction_text)


class TestSmall:
    def all(self, catalog: Catalog, kind: Literal["synthetic", "human"]) -> list[Goal]:
        goals = catalog.goals(kind)
        return [goals.goal(index) for index in range(len(goals))]

    def test_every_combination_of_options_is_a_goal(self, small_catalog: Catalog) -> None:
        made = [
            goal.goal_options
            for goal in self.all(small_catalog, "synthetic")
            if goal.asin == "B000000009"
        ]
        expected = itertools.product(("red", "blue", "tan"), ("s", "m"))
        assert sorted(map(str, made)) == sorted(
            str({"color": color, "size": size}) for color, size in expected
        )

    def test_the_order_is_the_shuffled_one(self, small_catalog: Catalog) -> None:
        plain = ["B000000009"] * 6 + ["B000000001", "B000000005"]
        random.Random(233).shuffle(plain)
        assert [goal.asin for goal in self.all(small_catalog, "synthetic")] == plain

    def test_texts_say_options_and_cap(self, small_catalog: Catalog) -> None:
        for goal in self.all(small_catalog, "synthetic"):
            if goal.asin == "B000000009":
                assert isinstance(goal.goal_options, dict)
                color, size = goal.goal_options["color"], goal.goal_options["size"]
                assert goal.instruction_text == (
                    "Find me heat proof kettles with easy grip with "
                    f"color: {color}, and size: {size}, and price lower than "
                    f"{goal.price_upper:.2f} dollars"
                )
            if goal.asin == "B000000005":
                assert goal.instruction_text == "Find me easy care shirts"
                assert goal.price_upper == NO_CAP

    def test_one_cap_a_product_one_a_human_goal(self, small_catalog: Catalog) -> None:
        rng = random.Random(0)
        price = rng.uniform(20.0, 35.0)
        state = rng.getstate()
        caps = {"B000000009": cap(15.0, draw_cap(15.0, rng))}
        caps["B000000001"] = cap(price, draw_cap(price, rng))
        caps["B000000005"] = NO_CAP
        for goal in self.all(small_catalog, "synthetic"):
            assert goal.price_upper == caps[goal.asin]
        rng.setstate(state)
        by_text = {goal.instruction_text[:5]: goal for goal in self.all(small_catalog, "human")}
        assert by_text["a ket"].price_upper == cap(price, draw_cap(price, rng))
        assert by_text["anoth"].price_upper == cap(price, draw_cap(price, rng))
        assert by_text["a shi"].price_upper == NO_CAP
        assert by_text["a shi"].instruction_text == "a shirt that is easy to wash"
        assert by_text["a shi"].goal_options == ("white",)

    def test_weights_are_means_over_the_attributes(self, small_catalog: Catalog) -> None:
        weights = {goal.asin: goal.weight for goal in self.all(small_catalog, "synthetic")}
        assert weights == {
            "B000000009": (1 / 7 + 1 / 6) / 2,
            "B000000001": 1 / 7,
            "B000000005": 1.0,
        }

    def test_given_prices_move_the_cap_of_ranged_products_alone(
        self, small_catalog: Catalog
    ) -> None:
        goals = small_catalog.goals("synthetic")
        prices = {"B000000001": 500.0, "B000000009": 500.0, "elsewhere": 1.0}
        for index in range(len(goals)):
            before, after = goals.goal(index), goals.goal(index, prices)
            if before.asin == "B000000001":
                assert 500 < after.price_upper <= 540
                assert f"lower than {after.price_upper:.2f} dollars" in after.instruction_text
            else:
                assert after == before

    @pytest.mark.parametrize("index", [-1, 8, 10**9])
    def test_other_indices_are_errors(self, small_catalog: Catalog, index: int) -> None:
        goals = small_catalog.goals("synthetic")
        for ask in (goals.goal, goals.row):
            with pytest.raises(BadArgument, match="one of 8 synthetic goals"):
                ask(index)

    def test_copies_share_and_pickles_reopen(self, small_catalog: Catalog) -> None:
        goals = small_catalog.goals("human")
        assert copy.deepcopy(goals) is goals
        again = pickle.loads(pickle.dumps(goals))  # noqa: S301
        assert isinstance(again, Goals)
        assert [again.goal(i) for i in range(3)] == self.all(small_catalog, "human")


class TestDraw:
    def test_the_official_draw_is_off_by_one(self, small_catalog: Catalog) -> None:
        goals = small_catalog.goals("synthetic")
        weights = [goals.goal(index).weight for index in range(len(goals))]
        ends = np.cumsum(weights) / sum(weights)
        assert goals.draw(0.0, "official") == 1
        assert goals.draw(0.0, "fixed") == 0
        for index, end in enumerate(ends[:-1]):
            assert goals.draw(end - 1e-9, "fixed") == index
            assert goals.draw(end - 1e-9, "official") == index + 1
        assert goals.draw(1.0, "official") == goals.draw(1.0, "fixed") == len(goals) - 1

    def test_shares_follow_the_weights(self, shop_catalog: Catalog) -> None:
        goals = shop_catalog.goals("synthetic")
        rng = random.Random(1)
        rows = Counter(goals.row(goals.draw(rng.random(), "fixed")) for _ in range(4000))
        heavy = max(range(len(goals)), key=lambda index: goals.goal(index).weight)
        shares = sum(goals.goal(i).weight for i in range(len(goals)))
        own = sum(
            goals.goal(i).weight for i in range(len(goals)) if goals.row(i) == goals.row(heavy)
        )
        assert rows[goals.row(heavy)] / 4000 == pytest.approx(own / shares, abs=0.005)

    @pytest.mark.parametrize("uniform", [-0.1, 1.1, float("nan")])
    def test_other_numbers_are_errors(self, small_catalog: Catalog, uniform: float) -> None:
        with pytest.raises(BadArgument, match="uniform"):
            small_catalog.goals("human").draw(uniform)


class TestUnits:
    def test_a_product_without_combinations_draws_its_cap_all_the_same(self) -> None:
        with_it = synthetic_units([(0, 0, [0]), (1, 2, [0])], [15.0, 15.0], random.Random(5))
        rng = random.Random(5)
        draw_cap(15.0, rng)
        assert list(with_it.rows) == [1]
        assert list(with_it.draws) == [draw_cap(15.0, rng)]

    def test_an_attribute_asked_for_twice_counts_once_a_goal(self) -> None:
        units = synthetic_units([(0, 2, [7, 7]), (1, 2, [7])], [1.0, 1.0], random.Random(0))
        assert list(units.weights) == [0.25, 0.25]

    def test_a_catalog_may_have_no_goals(self, tmp_path: Path) -> None:
        assert write_goals(tmp_path, "human", human_units([], [], random.Random(0))) == 0

    def test_too_many_goals_are_an_error(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_units, "MAX_GOALS", 3)
        units = synthetic_units([(0, 4, [0])], [1.0], random.Random(0))
        with pytest.raises(SourceError, match="at most 3 synthetic goals, got 4"):
            write_goals(tmp_path, "synthetic", units)
