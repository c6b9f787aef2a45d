from __future__ import annotations

import copy
import math
import pickle
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.errors import BadArgument
from agentenvs.webshop import bm25
from agentenvs.webshop.bm25 import Index
from agentenvs.webshop.official import OfficialFiles, read_products
from agentenvs.webshop.postings import contents, quantized, write_index
from agentenvs.webshop.records import Product
from agentenvs.webshop.tokens import tokenize


def built(folder: Path, docs: list[str]) -> Index:
    named = [(f"{number:09d}", text) for number, text in enumerate(docs)]
    return Index.open(folder, write_index(folder, named))


def by_the_formula(docs: list[str], query: str, k: int) -> list[tuple[int, float]]:
    """BM25 as it is written down, one document and one term at a time."""
    one, k1, b = np.float32(1), np.float32(0.9), np.float32(0.4)
    bags = [Counter(tokenize(text)) for text in docs]
    lengths = [sum(bag.values()) for bag in bags]
    filled = sum(length > 0 for length in lengths)
    average = np.float32(sum(lengths) / max(filled, 1))
    scored = []
    for number, bag in enumerate(bags):
        score = 0.0
        for term, times in Counter(tokenize(query)).items():
            holding = sum(term in other for other in bags)
            if term not in bag:
                continue
            idf = np.float32(math.log(1 + (filled - holding + 0.5) / (holding + 0.5)))
            weight = np.float32(times) * idf
            length = np.float32(quantized(lengths[number]))
            norm = one / (k1 * ((one - b) + b * length / average))
            score += float(weight - weight / (one + np.float32(bag[term]) * norm))
        if score:
            scored.append((-float(np.float32(score)), number))
    return [(number, -score) for score, number in sorted(scored)[:k]]


@pytest.fixture(scope="module")
def thousand(
    webshop_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[str], Index]:
    """Return the asins of the 1,000 products in order, and their index."""
    read = read_products(OfficialFiles.find(webshop_data / "items_shuffle_1000.json"))
    docs = sorted((item.asin, contents(item)) for item in read if isinstance(item, Product))
    folder = tmp_path_factory.mktemp("index")
    return [asin for asin, _ in docs], Index.open(folder, write_index(folder, docs))


def test_finds_what_every_recorded_search_found(
    recorded: Callable[[str], list[Any]], thousand: tuple[list[str], Index]
) -> None:
    asins, index = thousand
    rows = recorded("search_top50")
    assert len(rows) > 500
    for row in rows:
        found = index.scored(row["query"], 50)
        assert [asins[number] for number, _ in found] == [asin for asin, _ in row["hits"]]
        for (_, score), (_, wanted) in zip(found, row["hits"], strict=True):
            assert round(score, 4) == pytest.approx(wanted, abs=1.01e-4)


words = st.text(st.sampled_from("abc"), min_size=1, max_size=2)
texts = st.lists(words, max_size=9).map(" ".join)
WAYS = {
    "whole": {"_SPARSE": 0, "_BATCH": 1 << 20},
    "few": {"_SPARSE": 0.0001, "_BATCH": 1 << 20},
    "by term": {"_SPARSE": 16, "_BATCH": 0},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("block", [2, 256])
@settings(max_examples=40)
@given(docs=st.lists(texts, max_size=20), query=texts, k=st.integers(0, 12))
def test_is_the_formula_whichever_way_it_adds_up(
    docs: list[str],
    query: str,
    k: int,
    way: str,
    block: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    index = built(tmp_path_factory.mktemp("index"), docs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25, "_BLOCK", block)
        for name, value in WAYS[way].items():
            patch.setattr(bm25, name, value)
        assert index.scored(query, k) == by_the_formula(docs, query, k)
        assert index.top(query, k) == [number for number, _ in by_the_formula(docs, query, k)]


def test_orders_equal_scores_by_number(tmp_path: Path) -> None:
    index = built(tmp_path, ["x1 y1"] * 700 + ["x1 x1"] + ["x1 y1"] * 700)
    assert index.top("x1", 4) == [700, 0, 1, 2]
    assert index.top("x1", 5000) == [700, *range(700), *range(701, 1401)]


def test_counts_a_repeated_term(tmp_path: Path) -> None:
    index = built(tmp_path, ["red", "blue", "green"])
    assert index.top("red blue blue", 2) == [1, 0]
    (_, twice), (_, once) = index.scored("red blue blue", 2)
    assert twice == pytest.approx(2 * once)


@pytest.mark.parametrize("query", ["", " ", "the of", "unheard-of", "\x00", "\ud800", "___", "é"])
def test_finds_nothing_without_a_known_term(tmp_path: Path, query: str) -> None:
    index = built(tmp_path, ["a red chair", ""])
    assert index.top(query, 50) == []
    assert index.scored(query, 50) == []


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    index = built(tmp_path, [])
    assert len(index) == 0
    assert index.top("chair", 50) == []


def test_hits_a_term_that_every_document_holds(tmp_path: Path) -> None:
    index = built(tmp_path, ["x1"] * 999 + ["x1 " * 100_000])
    assert sorted(index.top("x1", 1000)) == list(range(1000))


def test_takes_a_hundred_thousand_characters(thousand: tuple[list[str], Index]) -> None:
    _, index = thousand
    many = " ".join(index._postings._terms[number].decode() for number in range(12_000))[:100_000]
    assert len(index.top(many, 50)) == 50
    assert index.top("chair " + " ".join(f"q{n:x}q" for n in range(14_000)), 50) == index.top(
        "chair", 50
    )
    assert index.top("chair " * 16_000, 50) == index.top("chair", 50)


def test_is_shared_by_copies_and_travels_by_path(tmp_path: Path) -> None:
    index = built(tmp_path, ["a red chair", "red tables"])
    assert copy.deepcopy(index) is index
    packed = pickle.dumps(index)
    assert len(packed) < 1000
    assert pickle.loads(packed).top("the red table", 50) == [1, 0]  # noqa: S301


def test_answers_many_threads(thousand: tuple[list[str], Index]) -> None:
    _, index = thousand
    fresh = Index.open(index.folder, index.meta)
    queries = [f"{color} {item}" for color in ("red", "blue", "oak") for item in ("bed", "lamp")]
    alone = [index.top(query, 50) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: [fresh.top(query, 50) for query in queries], range(50)):
            assert found == alone


def test_says_what_is_wrong_with_an_argument(tmp_path: Path) -> None:
    index = built(tmp_path, ["a red chair"])
    with pytest.raises(BadArgument, match="`query` to be a str, got <class 'bytes'>"):
        index.top(b"chair", 5)  # type: ignore[arg-type]
    for wrong in (-1, 2.0, True, None):
        with pytest.raises(BadArgument, match=f"`k` to be a whole number .* got {wrong}"):
            index.top("chair", wrong)  # type: ignore[arg-type]
