from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.webshop.colors import COLORS, color_or_pair, color_or_text

WORDS = st.sampled_from(COLORS) | st.text(max_size=6)


@pytest.mark.parametrize(
    ("text", "color"),
    [
        ("rose gold", "gold"),
        ("dark green", "dark"),
        ("light pink", "light"),
        ("rectangular", "tan"),
        ("colored", "red"),
        ("black1901", "black"),
        ("washed", "ash"),
        ("yellow white", "white"),
        ("x-large", "x-large"),
        ("Black", "Black"),
        ("", ""),
    ],
)
def test_the_first_color_of_the_list_wins(text: str, color: str) -> None:
    assert color_or_text(text) == color


@pytest.mark.parametrize(
    ("name", "value", "color"),
    [
        ("color", "black", "black"),
        ("color", "black1901", "('color', 'black1901')"),
        ("white", "black", "black"),
        ("tan", "x", "tan"),
        ("red", "red", "red"),
        ("style", "men's", "('style', \"men's\")"),
        ("size", "4\xa0cm", "('size', '4\\xa0cm')"),
    ],
)
def test_a_pair_is_shortened_only_where_a_color_is_all_of_a_half(
    name: str, value: str, color: str
) -> None:
    assert color_or_pair(name, value) == color


@given(st.lists(WORDS, max_size=3).map("".join), WORDS)
def test_both_take_the_first_of_the_list(name: str, value: str) -> None:
    within = [color for color in COLORS if color in value]
    whole = [color for color in COLORS if color in (name, value)]
    assert color_or_text(value) == (within or [value])[0]
    assert color_or_pair(name, value) == (whole or [str((name, value))])[0]


def test_there_are_102_colors() -> None:
    assert len(COLORS) == len(set(COLORS)) == 102
