from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from agentenvs.webshop.audit import findings, unclickable, unreachable
from agentenvs.webshop.records import Goal, Product

if TYPE_CHECKING:
    from agentenvs.webshop.catalog import Catalog

ITEM = Product(
    asin="B000000001",
    title="Acme Rain Boots",
    description="",
    bullets=(),
    prices=(20.0,),
    price_tag="$20.0",
    options={"color": ("black", "black7"), "size": ("10", "10.5")},
    attributes=("rubber sole",),
    category="fashion",
    query="rain boots",
    product_category="Shoes \u203a Boots",
    image="",
    nouns=("acme", "rain", "boots"),
)


def wish(product: Product, **changes: Any) -> Goal:
    same = {
        name: getattr(product, name)
        for name in ("asin", "category", "query", "product_category", "attributes")
    }
    return replace(
        Goal(name=product.title, instruction_text="", price_upper=30.0, **same), **changes
    )


@dataclass
class Shelf:
    """As much of a catalog as an audit looks at: a goal for each of its products."""

    pairs: list[tuple[Product, Goal]]
    name: str = "shelf"
    looked: int = 0

    def goals(self, kind: str) -> Shelf:
        assert kind == "synthetic"
        return self

    def __len__(self) -> int:
        return len(self.pairs)

    def goal(self, index: int) -> Goal:
        self.looked += 1
        return self.pairs[index][1]

    def row(self, index: int) -> int:
        return index

    def product(self, row: int) -> Product:
        return self.pairs[row][0]

    def price(self, row: int) -> float:
        return self.pairs[row][0].prices[0]


def only(*pairs: tuple[Product, Goal], rules: Any = "official") -> Any:
    found = list(findings(Shelf(list(pairs)), rules))  # type: ignore[arg-type]
    assert len(found) == 1
    return found[0]


def test_the_real_goals_out_of_reach(shop_catalog: Catalog) -> None:
    found = list(unreachable(shop_catalog))
    assert len(found) == 458
    assert sum(one.index < 500 for one in found) == 20
    assert len({one.asin for one in found}) == 17
    for one in found:
        assert 0.0 < one.total < 1.0
        assert one.missed
        assert all(reason.endswith("(W2)") for reason in one.missed)
        assert one.task == f"{shop_catalog.name}/synthetic/{one.index}"


def test_no_real_goal_is_out_of_reach_when_fixed(shop_catalog: Catalog) -> None:
    assert list(unreachable(shop_catalog, "fixed")) == []


def test_goals_are_looked_at_one_by_one() -> None:
    broken = wish(ITEM, goal_options={"color": "black7"})
    shelf = Shelf([(ITEM, broken)] * 5)
    stream = unreachable(shelf)  # type: ignore[arg-type]
    assert isinstance(stream, Iterator)
    assert [one.index for one in islice(stream, 2)] == [0, 1]
    assert shelf.looked == 2


def test_an_option_that_misses_says_what_was_compared() -> None:
    goal = wish(ITEM, goal_options={"color": "black7", "size": "10"})
    found = only((ITEM, wish(ITEM)), (ITEM, goal))
    assert (found.task, found.index, found.asin) == ("shelf/synthetic/1", 1, ITEM.asin)
    assert found.total == 0.75
    assert found.missed == (
        "color: 'black7' counts as 'black' when bought, but as 'color black7' when wanted; "
        "they are 59 alike, 86 are needed (W2)",
    )
    assert found.unclickable == ()


def test_a_goal_that_can_be_met_is_no_finding() -> None:
    goal = wish(ITEM, goal_options={"color": "black", "size": "10.5"})
    assert list(findings(Shelf([(ITEM, goal), (ITEM, wish(ITEM))]))) == []  # type: ignore[arg-type]
    assert list(findings(Shelf([]))) == []  # type: ignore[arg-type]


def test_attributes_price_and_kind_are_explained_too() -> None:
    repeats = replace(ITEM, nouns=("boots",) * 11)
    goal = wish(repeats, attributes=("steel toe",), price_upper=19.5)
    found = only((repeats, goal))
    assert found.total == 0.0
    assert found.missed == (
        "attribute 'steel toe' is not among the product's, nor in its texts",
        "it costs 20.00, more than 19.50",
        "its title has 0.091 of its own nouns, counting repeats, so that all counts 0.1 times",
    )


DOUBLE = replace(ITEM, options={"color": ("a", "b"), "style": ("b", "c")})


def test_a_value_of_two_options_is_reported_though_it_is_worth_1() -> None:
    goal = wish(DOUBLE, goal_options={"color": "b", "style": "c"})
    found = only((DOUBLE, goal))
    assert found.total == 1.0
    assert found.missed == ()
    assert found.unclickable == ("color: 'b' chooses 'style', which shares the value (W3)",)
    assert list(unreachable(Shelf([(DOUBLE, goal)]))) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["search", "< prev", "buy now", "reviews", "back to search"])
def test_a_value_called_like_a_button_cannot_be_clicked(value: str) -> None:
    product = replace(ITEM, options={"color": (value, "b")})
    assert unclickable(product, {"color": value}) == [
        f"color: {value!r} is called like a button (W4)"
    ]
    assert unclickable(product, {"color": "b"}) == []
    assert unclickable(product, {"color": value}, "fixed") == []


@pytest.mark.parametrize(
    ("value", "official", "fixed"),
    [
        ("large [tall]", 1, 0),
        ("[tall", 1, 0),
        ("tall[", 0, 0),
        ("a]b", 0, 0),
        ("a\nb", 1, 0),
        ("", 1, 0),
        ("(a)", 0, 0),
    ],
)
def test_what_the_action_grammar_cannot_write(value: str, official: int, fixed: int) -> None:
    product = replace(ITEM, options={"color": (value, "b")})
    assert len(unclickable(product, {"color": value})) == official
    assert len(unclickable(product, {"color": value}, "fixed")) == fixed


def test_shared_values_are_within_reach_when_fixed() -> None:
    chosen = {"color": "b", "style": "b"}
    assert unclickable(DOUBLE, chosen, "fixed") == []
    assert len(unclickable(DOUBLE, chosen)) == 1


def test_progress_is_told() -> None:
    told: list[tuple[int, int, str]] = []
    shelf = Shelf([(ITEM, wish(ITEM))] * 1_001)
    assert list(unreachable(shelf, progress=lambda *news: told.append(news))) == []  # type: ignore[arg-type, arg-type]
    assert [news[:2] for news in told] == [(0, 1_001), (1_000, 1_001), (1_001, 1_001)]
