from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenvs.errors import BadArgument, SourceError
from agentenvs.webshop import postings
from agentenvs.webshop.postings import Postings, contents, quantized, write_index
from agentenvs.webshop.records import Product

FILES = [f"{name}.npy" for name in postings._FILES]


def product(**changes: object) -> Product:
    plain = Product(
        asin="B000000001",
        title="Red Chair",
        description="Sits WELL.",
        bullets=("Four legs ", "Second"),
        prices=(1.0,),
        price_tag="$1.0",
        options={"color": ("red", "dark red"), "size": ("xl",)},
        attributes=(),
        category="garden",
        query="chairs",
        product_category="",
        image="",
    )
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def terms(index: Postings) -> list[str]:
    return [index._terms[number].decode() for number in range(len(index._terms))]


def built(folder: Path, docs: list[str]) -> Postings:
    named = [(f"{number:09d}", text) for number, text in enumerate(docs)]
    return Postings(folder, write_index(folder, named))


def test_joins_what_a_product_is_found_by() -> None:
    assert contents(product()) == (
        "red chair sits well. four legs  color: red, dark red, and size: xl"
    )
    assert contents(product(title="", description="", bullets=(), options={})) == "   "


@given(st.integers(0, 1 << 40))
def test_keeps_lengths_as_a_byte_does(length: int) -> None:
    kept = quantized(length)
    assert kept <= length
    assert quantized(kept) == kept
    assert length < 40 or (length - kept) * 8 < length


def test_tells_apart_256_lengths_in_32_bits() -> None:
    steps = {quantized(24 + (lead << shift)) for shift in range(27) for lead in range(16)}
    steps |= set(range(24))
    assert len([step for step in steps if step <= 2**31 - 1]) == 256 - 8
    # from Lucene's table
    assert [quantized(length) for length in (39, 40, 41, 42, 56, 59, 60, 107)] == [
        39,
        40,
        40,
        42,
        56,
        56,
        60,
        104,
    ]


def test_finds_every_term_and_no_other(tmp_path: Path) -> None:
    index = built(tmp_path, ["zebra apple", "apple 3.5", "", "東 apple apple"])
    assert terms(index) == ["3.5", "appl", "zebra", "東"]
    places = {term: index.find(term) for term in terms(index)}
    assert {term: index.docs[place].tolist() for term, place in places.items() if place} == {
        "3.5": [1],
        "appl": [0, 1, 3],
        "zebra": [0],
        "東": [3],
    }
    for term in ("", "app", "apple", "zebras", "\x00", "\U0010ffff", "3"):
        assert index.find(term) is None


def test_saturates_as_lucene_does(tmp_path: Path) -> None:
    index = built(tmp_path, ["a1 a1 a1 b1", "b1 b1", "b1"])
    one = np.float32(1)
    average = np.float32(7 / 3)
    norm = one / (np.float32(0.9) * ((one - np.float32(0.4)) + np.float32(0.4) * 4 / average))
    place = index.find("a1")
    assert place is not None
    assert index.saturations[place].tolist() == [float(one + np.float32(3) * norm)]


def test_counts_what_it_holds(tmp_path: Path) -> None:
    meta = write_index(tmp_path, [("A", "one two two"), ("B", "of the"), ("C", "two")])
    assert meta == {
        "format": 1,
        "documents": 3,
        "filled": 2,
        "terms": 2,
        "postings": 3,
        "tokens": 4,
    }


@pytest.mark.parametrize("docs", [[], [""], ["", "the", "  "]])
def test_takes_documents_without_terms(tmp_path: Path, docs: list[str]) -> None:
    index = built(tmp_path, docs)
    assert len(index.docs) == 0
    assert index.find("x") is None


def test_takes_long_documents_and_frequent_terms(tmp_path: Path) -> None:
    index = built(tmp_path, ["x1 " * 70_000, "x1 y1"])
    place = index.find("x1")
    assert place is not None
    norm = postings._norms(postings.array("q", [70_000, 2]), 70_002, 2)
    assert index.saturations[place][0] == np.float32(1) + np.float32(70_000) * norm[0]
    assert (index.saturations > 1).all()


@settings(max_examples=40)
@given(docs=st.lists(st.text(st.sampled_from("ab1é東 _"), max_size=12), max_size=12))
def test_is_the_same_however_often_it_spills(
    docs: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    once, often = tmp_path_factory.mktemp("once"), tmp_path_factory.mktemp("often")
    built(once, docs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "CHUNK", 3)
        built(often, docs)
    for name in FILES:
        assert (once / name).read_bytes() == (often / name).read_bytes()
    assert sorted(path.name for path in often.iterdir()) == sorted(FILES)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="disk space cannot be reserved")
def test_takes_its_room_on_disk_before_it_writes(tmp_path: Path) -> None:
    made = postings._room(tmp_path / "a.npy", np.int32, (1 << 18,))
    assert made.shape == (1 << 18,)
    assert (tmp_path / "a.npy").stat().st_blocks * 512 >= 1 << 20


@pytest.mark.parametrize("asins", [["B", "A"], ["A", "A"], ["a", "B"]])
def test_refuses_documents_out_of_order(tmp_path: Path, asins: list[str]) -> None:
    with pytest.raises(BadArgument, match=f"ascending order of asins, got {asins[1]!r}"):
        write_index(tmp_path, [(asin, "x") for asin in asins])
    assert list(tmp_path.iterdir()) == []


def test_refuses_more_documents_than_scores_tell_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "MAX_DOCUMENTS", 2)
    with pytest.raises(BadArgument, match="at most 2 documents"):
        write_index(tmp_path, [("A", ""), ("B", ""), ("C", "")])


def test_refuses_files_that_do_not_fit(tmp_path: Path) -> None:
    meta = write_index(tmp_path, [("A", "one two")])
    with pytest.raises(SourceError, match="format 1 .* got 2"):
        Postings(tmp_path, {**meta, "format": 2})
    with pytest.raises(SourceError, match="Expected 9 entries .*posting_docs"):
        Postings(tmp_path, {**meta, "postings": 9})
    np.save(tmp_path / "posting_docs.npy", np.zeros(2, np.int64))
    with pytest.raises(SourceError, match="one row of int32"):
        Postings(tmp_path, meta)
    (tmp_path / "posting_docs.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(SourceError, match="Could not open .*posting_docs"):
        Postings(tmp_path, meta)
    (tmp_path / "posting_docs.npy").unlink()
    with pytest.raises(SourceError, match="Could not open .*posting_docs"):
        Postings(tmp_path, meta)
