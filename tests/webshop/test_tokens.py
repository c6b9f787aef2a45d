from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.webshop import tokens
from agentenvs.webshop.official import OfficialFiles, read_products
from agentenvs.webshop.postings import contents
from agentenvs.webshop.records import Product
from agentenvs.webshop.tokens import WINDOW, Memo, tokenize

ASCII = [chr(point) for point in range(128) if not chr(point).isupper()]
#: one letter of each class of Unicode's annex 29 that the rules tell apart
CLASSES = {
    "a": "letter",
    "ж": "letter",
    "א": "hebrew",
    "1": "digit",
    "_": "join",
    "\u203f": "join",
    "'": "single",
    '"': "double",
    ".": "either",
    "\u2019": "either",
    ":": "between",
    ",": "within",
    "カ": "kana",
    "\u0301": "extend",
    "\xad": "extend",
    "漢": "lone",
    "ひ": "lone",
    " ": "",
    "-": "",
}
LETTERS = ("letter", "hebrew")
WORDY = (*LETTERS, "digit", "kana", "lone")


def words_by_rule(text: str) -> list[str]:
    """Cut `text` where the annex's rules say so, one pair of neighbours at a time."""
    clusters: list[tuple[str, str]] = []
    for letter in text:
        kind = CLASSES[letter]
        if kind == "extend" and clusters:
            clusters[-1] = (clusters[-1][0] + letter, clusters[-1][1])
        else:
            clusters.append((letter, kind))
    kinds = ["", *(kind for _, kind in clusters), "", ""]
    words: list[tuple[str, list[str]]] = []
    for at, (cluster, kind) in enumerate(clusters, start=1):
        if at > 1 and not _breaks(kinds, at):
            words[-1] = (words[-1][0] + cluster, [*words[-1][1], kind])
        else:
            words.append((cluster, [kind]))
    return [word for word, parts in words if any(part in WORDY for part in parts)]


def _breaks(kinds: list[str], at: int) -> bool:
    before, left, right, after = kinds[at - 2 if at > 1 else 0], *kinds[at - 1 : at + 2]
    letters = ("between", "either", "single")
    digits = ("within", "either", "single")
    return not (
        (left in LETTERS and right in LETTERS)
        or (left in LETTERS and right in letters and after in LETTERS)
        or (before in LETTERS and left in letters and right in LETTERS)
        or (left == "hebrew" and right == "single")
        # Lucene's own: the quote belongs to the letter, and so does what follows.
        or (before == "hebrew" and left == "single" and right in (*LETTERS, "digit", "join"))
        or (left == "hebrew" and right == "double" and after == "hebrew")
        or (before == "hebrew" and left == "double" and right == "hebrew")
        or (left in (*LETTERS, "digit") and right in (*LETTERS, "digit"))
        or (before == "digit" and left in digits and right == "digit")
        or (left == "digit" and right in digits and after == "digit")
        or (left == right == "kana")
        or (left in (*LETTERS, "digit", "kana", "join") and right == "join")
        or (left == "join" and right in (*LETTERS, "digit", "kana"))
    )


@given(st.text(st.sampled_from(list(CLASSES)), max_size=24))
def test_breaks_words_where_unicode_does(text: str) -> None:
    found = [word for word in tokens._FULL.findall(text) if not tokens._JOINS.fullmatch(word)]
    assert found == words_by_rule(text)


@given(st.text(st.sampled_from(ASCII), max_size=40))
def test_reads_ascii_alone_as_it_reads_it_among_others(text: str) -> None:
    assert tokens._ASCII.findall(text) == tokens._FULL.findall(text)


@given(st.text(st.characters(exclude_categories=()), max_size=60), st.text(max_size=60))
def test_takes_any_text_and_each_part_alone(left: str, right: str) -> None:
    assert tokenize(f"{left} {right}") == tokenize(left) + tokenize(right)


@given(st.text(max_size=60))
def test_says_the_same_with_a_memo(text: str) -> None:
    memo = Memo(limit=2)
    for _ in range(2):
        assert tokenize(text, memo) == tokenize(text)
    assert len(memo) <= 2


def test_makes_every_recorded_stream(
    recorded: Callable[[str], list[Any]], webshop_data: Path
) -> None:
    memo = Memo()
    read = read_products(OfficialFiles.find(webshop_data / "items_shuffle_1000.json"))
    texts = {item.asin: contents(item) for item in read if isinstance(item, Product)}
    rows = recorded("search_tokens")
    assert len(rows) > 500
    for row in rows:
        text = row["query"] if "query" in row else texts[row["id"]]
        assert tokenize(text, memo) == row["tokens"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Men's shoes", ["men", "shoe"]),
        ("Men\u2019s men\uff07s s's", ["men", "men", "s"]),
        ("3.5 1,299.00 10.5x", ["3.5", "1,299.00", "10.5x"]),
        ("16:9 a:b u.s.a.", ["16", "9", "a:b", "u.s.a"]),
        ("red\uff1ablue", ["red\uff1ablu"]),
        ("The cat and THE hat", ["cat", "hat"]),
        ("foo_bar __ _ _x_", ["foo_bar", "_x_"]),
        ("💃🏻 top™ ★★", ["💃🏻", "top", "™", "★", "★"]),
        ("👩\u200d🚀 🇩🇪🇫🇷 #\ufe0f\u20e3 1\ufe0f\u20e3", None),
        ("東京タワー ひら", ["東", "京", "タワー", "ひ", "ら"]),
        ("ไทยคำ", ["ไทยคำ"]),
        ("naïve café İstanbul", None),
        ("\x00a\x00b\ud800c", ["a", "b", "c"]),
        ("", []),
        (" \t\n", []),
    ],
)
def test_makes_terms(text: str, terms: list[str] | None) -> None:
    found = tokenize(text)
    if terms is not None:
        # "a" is a stop word
        assert [term for term in terms if term != "a"] == found
    else:
        assert len(found) == len(text.split()) + ("🇩🇪🇫🇷" in text)


def test_cuts_long_words_as_the_scanner_does() -> None:
    assert tokenize("x" * 255) == ["x" * 255]
    assert tokenize("x" * 600) == ["x" * 255, "x" * 255, "x" * 90]
    assert tokenize("\U0001d4b6" * 130) == ["\U0001d4b6" * 127, "\U0001d4b6" * 3]
    # The window ends behind the point, which joins nothing then.
    assert tokenize("1" * 254 + ".5") == ["1" * 254, "5"]
    assert tokenize("é" + "1" * 253 + ".5") == ["é" + "1" * 253, "5"]
    assert tokenize("_" * 1000 + "x") == ["_" * 254 + "x"]
    assert tokenize("x" + "_" * 300 + "y") == ["x" + "_" * 254, "_" * 46 + "y"]


@given(
    st.lists(st.sampled_from(["a", "ж", "\U0001d4b6", "\u0301", "_", ".", "1"]), min_size=1),
    st.integers(1, 600),
)
def test_pieces_fit_the_window_and_lose_no_letter(unit: list[str], times: int) -> None:
    word = "".join(unit) * times
    for text in tokens._FULL.findall(word):
        pieces = list(tokens._pieces(text))
        assert all(sum(map(tokens._width, piece)) <= WINDOW for piece in pieces)
        for letter in ("a", "ж", "\U0001d4b6", "1"):
            assert sum(piece.count(letter) for piece in pieces) == text.count(letter)


RUNS = (
    "_ a' 1, \u0301 א' א\" \u200d 👩\u200d #\ufe0f 🇩 é_ _\u0301 \U000e0041 👩\U000e0041 ก カ é 🏻"
)


@pytest.mark.parametrize("start", ["", "a", "_", "#", "א", "👩"])
@pytest.mark.parametrize(
    "unit",
    [*RUNS.split(" "), "\ud800", "\x00", "İ"],
)
def test_reads_long_runs_of_anything(start: str, unit: str) -> None:
    """Anything quadratic would take minutes here."""
    tokenize(start + unit * (20_000 // len(unit)))
