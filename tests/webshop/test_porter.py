from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.webshop import porter
from agentenvs.webshop.porter import stem

ENDINGS = [*porter._STEP_2, *porter._STEP_3, *porter._STEP_4]
ENDINGS += ["ed", "ing", "eed", "y", "s", "sses", "ies", "e", "ll", "at", "bl", "iz", "bb", "zz"]
starts = st.text("aeioubcdlstwxyz", max_size=6)
inflected = st.builds(
    lambda start, endings: start + "".join(endings),
    starts,
    st.lists(st.sampled_from(ENDINGS), max_size=3),
)
anything = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=("Cs",)), min_size=1)


@pytest.fixture(scope="module")
def oracle() -> object:
    module = pytest.importorskip("nltk.stem.porter")
    return module.PorterStemmer(mode=module.PorterStemmer.MARTIN_EXTENSIONS)


def agree(oracle: object, word: str) -> None:
    assert stem(word) == oracle.stem(word, to_lowercase=False)  # type: ignore[attr-defined]


@given(word=(inflected | anything).filter(bool))
def test_agrees_with_the_oracle(oracle: object, word: str) -> None:
    agree(oracle, word)


def test_agrees_with_the_oracle_on_every_word_of_a_corpus(
    oracle: object, webshop_data: Path
) -> None:
    text = "".join(
        (webshop_data / name).read_text(encoding="utf-8").lower()
        for name in ("items_shuffle_1000.json", "items_ins_v2_1000.json", "human_goals.json")
    )
    words = set(re.findall(r"\w+", text))
    assert len(words) > 20_000
    for word in words:
        agree(oracle, word)


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("feed", "feed"),
        ("agreed", "agre"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("filing", "file"),
        ("happy", "happi"),
        ("sky", "sky"),
        ("vietnamization", "vietnam"),
        ("possibly", "possibl"),
        ("archaeology", "archaeolog"),
        ("adoption", "adopt"),
        ("onion", "onion"),
        ("controlling", "control"),
        ("rate", "rate"),
        ("us", "us"),
        ("a", "a"),
        ("", ""),
    ],
)
def test_follows_the_rules(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


def test_counts_letters_as_utf_16_does() -> None:
    letter = "\U0001d4b6"
    assert stem(f"{letter}s") == letter
    assert stem(f"a{letter}{letter}ing") == f"a{letter}{letter}"
    assert stem(f"{letter}aling") == f"{letter}ale"


def test_is_linear_in_a_run_of_y() -> None:
    assert stem("y" * 100_000 + "s").startswith("yyy")
