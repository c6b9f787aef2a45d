from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product as combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.webshop.records import NO_CAP, Goal, Product
from agentenvs.webshop.reward import as_bought, kind, option_hits, score

if TYPE_CHECKING:
    from agentenvs.webshop.catalog import Catalog

ITEM = Product(
    asin="B000000001",
    title="Acme Quilted Rain Boots for Garden",
    description="Keeps out WATER all day",
    bullets=("Rubber sole ", "Wipe clean "),
    prices=(20.0,),
    price_tag="$20.0",
    options={"color": ("black", "black7"), "size": ("10", "10.5")},
    attributes=("rubber sole", "easy clean"),
    category="fashion",
    query="rain boots",
    product_category="Shoes \u203a Women \u203a Boots",
    image="",
    nouns=("acme", "rain", "boots", "garden"),
)
WISH = Goal(
    asin=ITEM.asin,
    category=ITEM.category,
    query=ITEM.query,
    name=ITEM.title,
    product_category=ITEM.product_category,
    instruction_text="Find me boots",
    attributes=("rubber sole", "easy clean"),
    price_upper=30.0,
    goal_options={"color": "black", "size": "10"},
)
VALUES = st.sampled_from(["black", "black7", "10", "10.5", "x-large", "\xe9", "+", "navy red"])


def purchases(
    recorded: Callable[[str], list[Any]],
) -> Iterator[tuple[dict[str, Any], str, dict[str, str], float]]:
    """Yield every recorded purchase: its episode, what was bought, and the reward."""
    for name in ("rewards", "text", "human_text", "text_rich", "url"):
        for episode in recorded(name):
            last = episode.get("steps", [{}])[-1]
            if last.get("done"):
                found = re.search(r"/done/[^/]*/(\w+)/(\{.*\})$", last["url"], re.DOTALL)
                assert found
                yield episode, found[1], ast.literal_eval(found[2]), last["reward"]


def test_recorded_purchases_are_worth_what_they_were(
    recorded: Callable[[str], Any], shop_catalog: Catalog
) -> None:
    prices = recorded("prices")
    seen, differ = 0, []
    for episode, asin, chosen, total in purchases(recorded):
        seen += 1
        goal = Goal.of(episode["goal"])
        nouns = shop_catalog.product(shop_catalog.row(goal.asin)).nouns
        product = shop_catalog.product(shop_catalog.row(asin))
        worth = score(product, goal, chosen, prices[asin], nouns)
        wanted = list(episode["reward_info"].items())
        same = list(worth.parts.items()) == wanted and worth.total == total
        if not same or [type(v) for v in worth.parts.values()] != [type(v) for _, v in wanted]:
            differ.append((episode["traj"], worth, total, wanted))
    assert seen >= 150
    assert differ == []


def test_fixed_rules_give_1_for_every_exact_purchase(shop_catalog: Catalog) -> None:
    goals = shop_catalog.goals("synthetic")
    assert len(goals) == 6_910
    short = []
    for index in range(len(goals)):
        goal, row = goals.goal(index), goals.row(index)
        product = shop_catalog.product(row)
        price = shop_catalog.price(row)
        assert isinstance(goal.goal_options, dict)
        worth = score(product, goal, goal.goal_options, price, product.nouns, "fixed")
        if worth.total != 1.0:
            short.append((index, worth))
    assert short == []


@pytest.mark.parametrize("rules", ["official", "fixed"])
def test_every_human_goal_can_be_met(shop_catalog: Catalog, rules: Any) -> None:
    goals = shop_catalog.goals("human")
    assert len(goals) == 13
    for index in range(len(goals)):
        goal, row = goals.goal(index), goals.row(index)
        product = shop_catalog.product(row)
        totals = (
            score(product, goal, chosen, shop_catalog.price(row), product.nouns, rules).total
            for chosen in suitable(product, goal)
        )
        assert 1.0 in totals


def suitable(product: Product, goal: Goal) -> Iterator[dict[str, str]]:
    """Yield choices that take one value that serves for each value wanted."""
    serving = [
        [
            (name, value)
            for name, values in product.options.items()
            for value in values
            if option_hits(replace(goal, goal_options=(wanted,)), {name: value}) == [True]
        ]
        for wanted in goal.goal_options
    ]
    for pairs in combinations(*serving):
        yield dict(pairs)


def test_an_exact_purchase_has_all_parts_in_the_official_order() -> None:
    worth = score(ITEM, WISH, {"color": "black", "size": "10"}, 20.0, ITEM.nouns)
    assert worth.total == 1.0
    assert list(worth.parts.items()) == [
        ("r_type", 1.0),
        ("r_att", 1.0),
        ("w_att", 0.4),
        ("query_match", True),
        ("category_match", True),
        ("title_score", 1.0),
        ("r_option", 1.0),
        ("w_option", 0.4),
        ("r_price", True),
        ("w_price", 0.2),
    ]


@pytest.mark.parametrize("wanted", [{}, ()])
def test_a_goal_without_options_has_no_option_parts(wanted: Any) -> None:
    worth = score(ITEM, replace(WISH, goal_options=wanted), {"size": "10"}, 20.0, ITEM.nouns)
    assert worth.total == 1.0
    assert not {"r_option", "w_option"} & set(worth.parts)
    assert worth.parts["w_price"] == 1 / 3


def test_a_goal_without_attributes_or_options_is_a_matter_of_the_price() -> None:
    goal = replace(WISH, attributes=(), goal_options={})
    assert score(ITEM, goal, {}, 30.0, ITEM.nouns).total == 1.0
    dear = score(ITEM, goal, {}, 30.01, ITEM.nouns)
    assert dear.total == 0.0
    assert dear.parts["r_att"] == 1.0
    assert dear.parts["w_att"] == 0.0
    assert dear.parts["w_price"] == 1.0


def test_no_cap_is_a_cap_that_every_price_keeps() -> None:
    worth = score(ITEM, replace(WISH, price_upper=NO_CAP), {}, 999_999.0, ITEM.nouns)
    assert worth.parts["r_price"] is True


@pytest.mark.parametrize(
    ("attribute", "found"),
    [
        ("rubber soles", True),
        ("garden", True),
        ("wipe clean", True),
        ("sole  wipe", True),
        ("keeps out water", True),
        ("Keeps out", False),
        ("steel toe", False),
    ],
)
def test_attributes_are_found_by_likeness_or_word_for_word(attribute: str, found: bool) -> None:
    worth = score(ITEM, replace(WISH, attributes=(attribute,)), {}, 20.0, ITEM.nouns)
    assert worth.parts["r_att"] == float(found)


ALIEN = {"query": "lamps", "product_category": "Home \u203a Lamps"}


@pytest.mark.parametrize(
    ("goal_nouns", "same", "r_type", "title_score"),
    [
        (("boots", "rain"), {}, 1.0, 1.0),
        (("boots", "boots"), {}, 1.0, 0.5),
        (("boots", *"abcdefghi"), {}, 1.0, 0.1),
        (("boots", *"abcdefghij"), {}, 0.1, 1 / 11),
        (("a", "b"), {}, 0.0, 0.0),
        ((), {}, 1.0, 0.2),
        (("boots", "a", "b", "c"), ALIEN, 1.0, 0.25),
        (("boots", "a", "b", "c", "d"), ALIEN, 0.5, 0.2),
        (("boots", *"abcdefghi"), ALIEN, 0.5, 0.1),
        (("boots", *"abcdefghij"), ALIEN, 0.1, 1 / 11),
        (("a",), ALIEN, 0.0, 0.0),
        ((), ALIEN, 0.5, 0.2),
        ((), {"query": "lamps"}, 1.0, 0.2),
        ((), {"product_category": ""}, 1.0, 0.2),
    ],
)
def test_the_title_overrides_query_and_breadcrumb(
    goal_nouns: tuple[str, ...], same: dict[str, str], r_type: float, title_score: float
) -> None:
    found = kind(ITEM, replace(WISH, **same), goal_nouns)
    assert (found.r_type, found.title_score) == (r_type, title_score)


@pytest.mark.parametrize(
    ("one", "other", "match"),
    [
        ("A \u203a B \u203a C", "A\u203aB", True),
        ("A \u203a B", "B \u203a A \u203a D", True),
        ("A \u203a A", "A \u203a A", False),
        ("A \u203a B", "a \u203a b", False),
        ("A > B", "A > B", False),
        ("A", "A", False),
        ("", "", False),
        (" \u203a A", "A \u203a", True),
    ],
)
def test_two_parts_of_the_breadcrumb_must_agree(one: str, other: str, match: bool) -> None:
    product, goal = replace(ITEM, product_category=one), replace(WISH, product_category=other)
    assert kind(product, goal, ()).category_match is match


def test_a_product_without_nouns_is_of_no_kind() -> None:
    assert kind(replace(ITEM, nouns=()), WISH, ITEM.nouns).r_type == 0.0


@pytest.mark.parametrize(
    ("wanted", "chosen", "official", "fixed"),
    [
        ({"color": "black"}, {"color": "black"}, True, True),
        ({"color": "black7"}, {"color": "black7"}, False, True),
        ({"color": "black7"}, {"color": "black"}, False, False),
        ({"color": "black"}, {"color": "black7"}, True, True),
        ({"color": "black"}, {"size": "black"}, True, False),
        ({"color": "black"}, {}, False, False),
        ({"size": "large"}, {"size": "x-large"}, False, False),
        ({"size": "x-large"}, {"size": "large"}, True, True),
        ({"size": "10"}, {"size": "10.5"}, False, False),
        ({"size": "10.5"}, {"size": "10"}, True, True),
        ({"size": "10.5"}, {"size": "10.5"}, True, True),
        ({"size": "10"}, {"size": "11"}, False, False),
        ({"size": "large"}, {"color": "size"}, True, False),
        ({"color": "caf\xe9"}, {"color": "caf"}, True, True),
        ({"color": "\xe9"}, {"color": "\xe9"}, False, True),
        ({"color": "+"}, {"color": "+"}, False, True),
        ({"color": "+"}, {"color": "-"}, False, False),
        ({"size": "4\xa0cm"}, {"size": "4\xa0cm"}, False, True),
    ],
)
def test_options_of_a_synthetic_goal(
    wanted: dict[str, str], chosen: dict[str, str], official: bool, fixed: bool
) -> None:
    goal = replace(WISH, goal_options=wanted)
    assert option_hits(goal, chosen, "official") == [official]
    assert option_hits(goal, chosen, "fixed") == [fixed]


@pytest.mark.parametrize(
    ("wanted", "chosen", "hits"),
    [
        (("black7",), {"color": "black"}, [True]),
        (("rose gold",), {"color": "gold"}, [True]),
        (("large",), {"size": "x-large"}, [True]),
        (("10",), {"size": "10.5"}, [True]),
        (("10.5", "black"), {"size": "10"}, [True, False]),
        (("black", "black7"), {"color": "black"}, [True, True]),
        (("black",), {}, [False]),
        (("",), {"size": ""}, [False]),
    ],
)
def test_options_of_a_human_goal_have_no_names(
    wanted: tuple[str, ...], chosen: dict[str, str], hits: list[bool]
) -> None:
    goal = replace(WISH, goal_options=wanted)
    assert option_hits(goal, chosen, "official") == hits
    assert option_hits(goal, chosen, "fixed") == hits


@given(st.dictionaries(st.sampled_from(["color", "size", "black", "\xe9"]), VALUES | st.text()))
def test_fixed_rules_accept_what_is_chosen_exactly(wanted: dict[str, str]) -> None:
    goal = replace(WISH, goal_options=wanted)
    assert score(ITEM, goal, wanted, 20.0, ITEM.nouns, "fixed").total == 1.0


@given(
    st.dictionaries(st.text(max_size=3), VALUES),
    st.dictionaries(st.text(max_size=3), VALUES) | st.lists(VALUES).map(tuple),
    st.lists(st.text(max_size=5), max_size=4).map(tuple),
    st.sampled_from(["official", "fixed"]),
)
def test_the_total_is_the_sum_of_its_parts(
    chosen: dict[str, str], wanted: Any, attributes: tuple[str, ...], rules: Any
) -> None:
    goal = replace(WISH, goal_options=wanted, attributes=attributes)
    worth = score(ITEM, goal, chosen, 20.0, ITEM.nouns, rules)
    part = worth.parts
    whole = part["r_att"] * part["w_att"] + part["r_price"] * part["w_price"]
    whole += part.get("r_option", 0.0) * part.get("w_option", 0.0)
    assert worth.total == pytest.approx(part["r_type"] * whole)
    weights = part["w_att"] + part["w_price"] + part.get("w_option", 0.0)
    assert weights == pytest.approx(1.0)


def test_values_are_compared_without_case_or_punctuation() -> None:
    assert as_bought("X-Large (tall)") == "x large  tall"


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(BadArgument, match="`rules` to be 'official' or 'fixed', got 'lenient'"):
        score(ITEM, WISH, {}, 20.0, (), "lenient")  # type: ignore[arg-type]
