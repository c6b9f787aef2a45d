from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from agentenvs.webshop.records import Product
from agentenvs.webshop.site.pictures import Pictures

PLAIN = Product(
    asin="A000000001",
    title="Something",
    description="",
    bullets=(),
    prices=(1.0,),
    price_tag="$1.0",
    options={},
    attributes=(),
    category="garden",
    query="",
    product_category="",
    image="",
)


@pytest.fixture(scope="module")
def pictures() -> Pictures:
    return Pictures()


def shapes(svg: str) -> str:
    return re.sub(r"style=\"[^\"]*\"|rotate\([^)]*\)", "", svg)


def colours(svg: str) -> str:
    found = re.search(r'style="([^"]*)"', svg)
    assert found is not None
    return found[1]


def test_a_picture_is_the_same_each_time(pictures: Pictures) -> None:
    assert pictures.draw(PLAIN) == Pictures().draw(PLAIN)


def test_a_picture_is_well_formed_and_asks_for_nothing(pictures: Pictures) -> None:
    hostile = replace(PLAIN, asin='"><script>', title="<b> red & 'lamp'", query="</svg>")
    for product in (PLAIN, hostile):
        svg = pictures.draw(product)
        ElementTree.fromstring(svg)  # noqa: S314
        assert "script" not in svg
        assert "href" not in svg
        assert "url(" not in svg


def test_the_leaf_name_decides_the_shape_by_its_last_word(pictures: Pictures) -> None:
    lamp = replace(PLAIN, query="table lamps")
    assert shapes(pictures.draw(lamp)) == shapes(pictures.draw(replace(PLAIN, query="lamps")))
    assert shapes(pictures.draw(lamp)) != shapes(pictures.draw(replace(PLAIN, query="tables")))


def test_the_title_decides_where_the_leaf_name_says_nothing(pictures: Pictures) -> None:
    lamp = replace(PLAIN, title="A lamp for shoes")
    assert shapes(pictures.draw(lamp)) == shapes(pictures.draw(replace(PLAIN, query="lamps")))


def test_the_category_decides_where_no_word_does(pictures: Pictures) -> None:
    drawn = {
        shapes(pictures.draw(replace(PLAIN, category=category)))
        for category in ("beauty", "electronics", "fashion", "garden", "grocery", "else")
    }
    assert len(drawn) == 6


def test_the_chosen_colour_shows(pictures: Pictures) -> None:
    shirt = replace(PLAIN, title="Blue shirt")
    assert colours(pictures.draw(shirt)) != colours(pictures.draw(shirt, {"color": "light green"}))
    assert colours(pictures.draw(shirt, {"size": "x"})) == colours(pictures.draw(shirt))
    assert colours(pictures.draw(shirt, {"size": "red tag", "color": "blue"})) == colours(
        pictures.draw(shirt)
    )


def test_products_without_a_colour_differ(pictures: Pictures) -> None:
    drawn = {colours(pictures.draw(replace(PLAIN, asin=f"A{at:09}"))) for at in range(50)}
    assert len(drawn) > 4
