from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentenvs.core import Rules
from agentenvs.errors import BadArgument
from agentenvs.webshop import search
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.compile import compile_catalog
from agentenvs.webshop.engine import DEPTH, hits
from agentenvs.webshop.records import Product

RULES: list[Rules] = ["official", "fixed"]


class Shelf:
    """As much of a catalog as a search asks for, and what it was asked."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.asked: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return self.length

    def __getattr__(self, name: str) -> Callable[..., list[int]]:
        def answer(*arguments: Any) -> list[int]:
            self.asked.append((name, *arguments))
            return [7]

        return answer


def found(
    query: str, rules: Rules = "official", length: int = 100
) -> tuple[list[int] | None, list[Any]]:
    shelf = Shelf(length)
    rows = hits(shelf, query.split(" "), rules, np.random.default_rng(0))  # type: ignore[arg-type]
    return rows, shelf.asked


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("red chair", ("top", "red chair", DEPTH)),
        ("", ("top", "", DEPTH)),
        (" ", ("top", " ", DEPTH)),
        (" <r>", ("top", " <r>", DEPTH)),
        ("<r>ed", ("top", "<r>ed", DEPTH)),
        ("<Q> x", ("top", "<Q> x", DEPTH)),
        ("red <c> garden", ("top", "red <c> garden", DEPTH)),
        ("<c> garden", ("in_category", "garden")),
        ("<c> ", ("in_category", "")),
        ("<q> wall art", ("with_query", "wall art")),
        ("<q>  x", ("with_query", " x")),
        ("<q>", ("with_query", "")),
    ],
)
def test_asks_the_catalog(query: str, asked: tuple[Any, ...], rules: Rules) -> None:
    assert found(query, rules) == ([7], [asked])


def test_takes_one_word_of_a_category_under_official_and_all_under_fixed() -> None:
    assert found("<c> home garden") == ([7], [("in_category", "home")])
    assert found("<c> home garden", "fixed") == ([7], [("in_category", "home garden")])


@pytest.mark.parametrize("query", ["<a> long sleeve", "<a>", "<c>"])
def test_fails_where_the_original_does(query: str) -> None:
    assert found(query) == (None, [])
    assert found(query, "fixed")[0] == [7]


def test_finds_an_attribute_under_fixed() -> None:
    assert found("<a> long sleeve", "fixed") == ([7], [("with_attribute", "long sleeve")])


def test_draws_fifty_products() -> None:
    for rules in RULES:
        rows, _ = found("<r> ignored words", rules, 60)
        assert rows is not None
        assert len(set(rows)) == DEPTH
        assert all(type(row) is int and 0 <= row < 60 for row in rows)
    assert found("<r>", length=50)[0] is not None
    assert found("<r>", length=49) == (None, [])
    assert sorted(found("<r>", "fixed", 3)[0] or []) == [0, 1, 2]


def test_draws_by_the_generator_it_is_given() -> None:
    shelf: Any = Shelf(1000)
    rng = np.random.default_rng(1)
    first, second = (hits(shelf, ["<r>"], "official", rng) for _ in range(2))
    assert first != second
    assert first == hits(shelf, ["<r>"], "official", np.random.default_rng(1))


@pytest.fixture(scope="module")
def shop(webshop_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("shop") / "1k"
    source = webshop_data / "items_shuffle_1000.json"
    return Catalog.open(compile_catalog(source, folder, name="1k", nouns="heuristic"))


def test_finds_what_every_recorded_search_found(
    recorded: Callable[[str], list[Any]], shop: Catalog
) -> None:
    for row in recorded("search_top50"):
        wanted = [asin for asin, _ in row["hits"]]
        assert search(shop, row["query"]) == wanted
        assert search(shop, row["query"].upper(), k=3) == wanted[:3]
        rows = hits(shop, row["query"].split(" "), "official", np.random.default_rng(0))
        assert rows is not None
        assert [shop.asin(number) for number in rows] == wanted


@pytest.mark.parametrize("rules", RULES)
def test_finds_groups_whole_and_in_the_order_of_the_source(shop: Catalog, rules: Rules) -> None:
    def rows_where(holds: Callable[[Product], bool]) -> list[int]:
        return [row for row in range(len(shop)) if holds(shop.product(row))]

    rng = np.random.default_rng(0)
    some = shop.product(11)
    by_category = hits(shop, ["<c>", *some.category.split(" ")], rules, rng)
    assert by_category == rows_where(lambda product: product.category == some.category)
    assert len(by_category) > DEPTH
    by_query = hits(shop, ["<q>", *some.query.split(" ")], rules, rng)
    assert by_query == rows_where(lambda product: product.query == some.query)
    wanted = next(a for row in range(len(shop)) for a in shop.product(row).attributes if " " in a)
    assert hits(shop, ["<a>", *wanted.split(" ")], "fixed", rng) == rows_where(
        lambda product: wanted in product.attributes
    )
    assert hits(shop, ["<q>", "no", "such"], rules, rng) == []


def test_opens_a_catalog_by_its_folder(shop: Catalog) -> None:
    assert search(shop.folder, "chair", 5) == search(shop, "chair", 5)


def test_the_modes_of_the_search_bar_are_words_to_a_plain_search(shop: Catalog) -> None:
    assert search(shop, "<q> chair", 5) == search(shop, "q chair", 5)


def test_says_what_is_wrong_with_an_argument(shop: Catalog) -> None:
    with pytest.raises(BadArgument, match="`query` to be a str, got <class 'int'>"):
        search(shop, 3)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="`k` to be a whole number of at least 0, got -1"):
        search(shop, "chair", -1)
