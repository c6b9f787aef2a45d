from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.fuzz import token_set_ratio
from rapidfuzz.utils import default_process

from agentenvs.webshop.fuzzy import LEAST, likeness, matches_any, prepared

LETTERS = "aabbc dé\xa0Àß\u0130\u4e2d\u200e_-.'1\n\U0001f600Z"
TEXTS = st.text(LETTERS, max_size=16) | st.text(max_size=8)
PHRASES = st.lists(
    st.sampled_from(["wash", "washed", "machine", "a", "10", "10 5", "long", "longer"]), max_size=5
).map(" ".join)


def recipe(one: str, other: str) -> int:
    """Compare two raw texts by the matcher's recipe, word for word."""
    ready = [
        default_process("".join(sign for sign in text if not 0x80 <= ord(sign) <= 0xFF))
        for text in (one, other)
    ]
    return int(round(token_set_ratio(*ready)))  # noqa: RUF046


def common(one: str, other: str) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for sign in one:
        corner = 0
        for place, against in enumerate(other, 1):
            corner, row[place] = (
                row[place],
                corner + 1 if sign == against else max(row[place], row[place - 1]),
            )
    return row[-1]


def by_hand(one: str, other: str) -> int:
    """Work the likeness of two prepared texts out in whole fractions."""
    first, second = set(one.split()), set(other.split())
    if not first or not second:
        return 0
    both = first & second
    if both in (first, second):
        return 100
    left, right = " ".join(sorted(first - both)), " ".join(sorted(second - both))
    shared = len(" ".join(sorted(both)))
    gap = 1 if both else 0
    apart = len(left) + len(right) - 2 * common(left, right)
    shares = [Fraction(apart, 2 * (shared + gap) + len(left) + len(right))]
    if both:
        shares += [
            Fraction(gap + len(rest), 2 * shared + gap + len(rest)) for rest in (left, right)
        ]
    return round(100 - 100 * min(shares))


@given(TEXTS, TEXTS)
def test_likeness_follows_the_recipe_on_any_text(one: str, other: str) -> None:
    assert likeness(prepared(one), prepared(other)) == recipe(one, other)


@given(PHRASES | TEXTS, PHRASES | TEXTS)
def test_likeness_is_what_it_is_by_hand(one: str, other: str) -> None:
    one, other = prepared(one), prepared(other)
    assert likeness(one, other) == by_hand(one, other)


@given(PHRASES | TEXTS, st.lists(PHRASES | TEXTS, max_size=4))
def test_a_match_is_a_likeness_of_more_than_85(wanted: str, offered: list[str]) -> None:
    expected = any(recipe(wanted, text) > 85 for text in offered)
    assert matches_any(prepared(wanted), [prepared(text) for text in offered]) is expected


def test_a_half_rounds_to_the_even_number() -> None:
    half, less = ("a" * 171, "a" * 171 + "b" * 58), ("a" * 171, "a" * 171 + "b" * 59)
    assert token_set_ratio(*half) == 85.5
    assert matches_any(half[0], [half[1]])
    assert token_set_ratio(*less) < 85.5
    assert not matches_any(less[0], [less[1]])


@pytest.mark.parametrize(
    ("raw", "ready"),
    [
        ("  X-Large (Tall)\n", "x large  tall"),
        ("caf\xe9 cr\xe8me", "caf crme"),
        ("army\xa0green", "armygreen"),
        ("\u0141\xf3d\u017a", "\u0142d\u017a"),
        ("under_score", "under score"),
        ("\xe9\xdf", ""),
        ("", ""),
    ],
)
def test_prepared(raw: str, ready: str) -> None:
    assert prepared(raw) == ready


@pytest.mark.parametrize(
    ("wanted", "offered", "found"),
    [
        ("large", ["x large"], True),
        ("10", ["10 5"], True),
        ("10 5", ["10"], True),
        ("105", ["10 5"], True),
        ("106", ["10 5"], False),
        ("", [""], False),
        ("", ["large"], False),
        ("large", [], False),
        ("large", ["", "small", "large"], True),
    ],
)
def test_matches_any(wanted: str, offered: list[str], found: bool) -> None:
    assert matches_any(wanted, offered) is found


def test_the_least_match_is_the_first_whole_number_over_85() -> None:
    assert LEAST == 86
