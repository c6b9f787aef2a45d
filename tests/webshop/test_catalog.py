from __future__ import annotations

import copy
import json
import pickle
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument, SourceError, SourceMismatch, SourceMissing
from agentenvs.webshop import _record
from agentenvs.webshop._store import Groups, write_groups
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.compile import compile_catalog
from agentenvs.webshop.goals import Wishes


@pytest.fixture
def copied(small_catalog: Catalog, tmp_path: Path) -> Path:
    """Return a folder with a copy of the small catalog, to be damaged."""
    return shutil.copytree(small_catalog.folder, tmp_path / "copied")


class TestRows:
    def test_stand_in_the_order_of_the_source(self, small_catalog: Catalog) -> None:
        asins = [small_catalog.asin(row) for row in range(len(small_catalog))]
        assert asins == ["B000000009", "B000000001", "B000000005", "B000000002", "B000000004"]
        assert [small_catalog.row(asin) for asin in asins] == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize(
        "asin",
        ["", "B", "B000000003", "b000000009", "B0000000090", "B000000009\0", "\ud83d", "ß" * 99],
    )
    def test_unknown_asins_have_none(self, small_catalog: Catalog, asin: str) -> None:
        assert small_catalog.row(asin) == -1

    def test_cards_show_what_result_pages_show(self, small_catalog: Catalog) -> None:
        assert small_catalog.card(1) == ("B000000001", "Copper Kettle", "$20.0 to $35.0")

    def test_products_come_back_whole(self, small_catalog: Catalog) -> None:
        product = small_catalog.product(0)
        assert product.title == "Red Tin Kettle"
        assert product.options == {"size": ("s", "m"), "color": ("red", "blue", "tan")}
        assert product.bullets == ("Boils water ", "Pours well ")
        assert product.attributes == ("heat proof", "easy grip")
        assert product.nouns == ("red", "tin", "kettle")
        assert small_catalog.product(4).attributes == ("DUMMY_ATTR",)
        assert small_catalog.product(3).attributes == ()

    @pytest.mark.parametrize("row", [-1, 5, 10**12])
    def test_other_rows_are_errors(self, small_catalog: Catalog, row: int) -> None:
        for ask in (
            small_catalog.product,
            small_catalog.card,
            small_catalog.asin,
            small_catalog.price,
            small_catalog.price_range,
        ):
            with pytest.raises(BadArgument, match="row from 0 to 4"):
                ask(row)


class TestPrices:
    def test_ranged_ones_are_drawn_within_their_range(self, small_catalog: Catalog) -> None:
        assert [small_catalog.price_range(row) for row in range(5)] == [False, True] + [False] * 3
        assert 20 <= small_catalog.price(1) <= 35
        assert [small_catalog.price(row) for row in (0, 2, 3, 4)] == [15.0, 985.0, 975.0, 100.0]

    def test_a_table_replaces_draws_alone(self, small_catalog: Catalog) -> None:
        prices = {"B000000001": 21, "B000000009": 1.0}
        assert small_catalog.price(1, prices) == 21.0
        assert small_catalog.price(0, prices) == 15.0
        assert small_catalog.price(1, {}) == small_catalog.price(1)

    def test_the_default_seed_draws_the_recorded_prices(
        self, shop_catalog: Catalog, recorded: Callable[[str], Any]
    ) -> None:
        prices = recorded("prices")
        assert len(prices) == 1000
        drawn = {asin: shop_catalog.price(shop_catalog.row(asin)) for asin in prices}
        assert drawn == prices


class TestGroups:
    def test_rows_by_category_query_and_attribute(self, small_catalog: Catalog) -> None:
        assert small_catalog.in_category("fashion") == [2, 3]
        assert small_catalog.with_query("kettles") == [0, 1, 4]
        assert small_catalog.with_attribute("heat proof") == [0, 1]
        assert small_catalog.with_attribute("DUMMY_ATTR") == [4]
        for ask in (
            small_catalog.in_category,
            small_catalog.with_query,
            small_catalog.with_attribute,
        ):
            assert ask("nothing") == ask("") == ask("\ud83d") == []

    def test_the_official_sample_is_grouped_whole(self, shop_catalog: Catalog) -> None:
        sizes = {
            kind: len(shop_catalog.in_category(kind))
            for kind in ("beauty", "electronics", "garden", "fashion", "grocery")
        }
        assert sum(sizes.values()) == 1000
        assert sizes["beauty"] == 238
        for row in range(0, 1000, 50):
            product = shop_catalog.product(row)
            assert row in shop_catalog.with_query(product.query)
            assert all(row in shop_catalog.with_attribute(text) for text in product.attributes)

    @given(st.dictionaries(st.text(max_size=5), st.lists(st.integers(0, 9), max_size=3)))
    def test_find_what_was_written(
        self, tmp_path_factory: pytest.TempPathFactory, groups: dict[str, list[int]]
    ) -> None:
        folder = tmp_path_factory.mktemp("groups")
        write_groups(folder, "g", groups)
        read = Groups(folder, "g")
        for key, rows in groups.items():
            assert read.rows(key) == rows
        assert read.rows("no such key") == []


class TestSearch:
    def test_finds_rows_best_first(self, small_catalog: Catalog) -> None:
        assert small_catalog.top("copper kettle", 5)[0] == 1
        assert len(small_catalog.top("kettle", 1)) == 1
        assert small_catalog.top("zebra", 5) == []

    def test_long_queries_are_answered_but_not_kept(self, small_catalog: Catalog) -> None:
        catalog = Catalog.open(small_catalog.folder)
        assert catalog.top("copper kettle " * 5000, 5)[0] == 1
        assert catalog._hits.cache_info().currsize == 0
        assert catalog.row("x" * 100_000) == -1
        assert catalog._row.cache_info().currsize == 0

    def test_answers_are_the_callers_own(self, small_catalog: Catalog) -> None:
        small_catalog.top("kettle", 5).clear()
        assert small_catalog.top("kettle", 5)

    def test_equal_scores_stand_in_the_order_of_asins(
        self, tmp_path: Path, small_shop: Path
    ) -> None:
        src = shutil.copytree(small_shop, tmp_path / "src")
        first = json.loads((src / "items_shuffle.json").read_text())[0]
        copies = [first | {"asin": asin} for asin in ("B3", "B1", "B2")]
        (src / "items_shuffle.json").write_text(json.dumps(copies))
        catalog = Catalog.open(compile_catalog(src, tmp_path / "dst", nouns="heuristic"))
        assert [catalog.asin(row) for row in catalog.top("kettle", 9)] == ["B1", "B2", "B3"]


class TestSharing:
    def test_copies_are_the_same_object(self, small_catalog: Catalog) -> None:
        assert copy.copy(small_catalog) is small_catalog
        assert copy.deepcopy({"catalog": small_catalog})["catalog"] is small_catalog

    def test_pickles_hold_the_path(self, small_catalog: Catalog) -> None:
        small_catalog.product(0)
        packed = pickle.dumps(small_catalog)
        assert len(packed) < 1000
        again = pickle.loads(packed)  # noqa: S301
        assert again.digest == small_catalog.digest
        assert again.product(0) == small_catalog.product(0)

    def test_a_pickle_refuses_another_catalog(self, copied: Path, small_shop: Path) -> None:
        packed = pickle.dumps(Catalog.open(copied))
        compile_catalog(small_shop, copied, seed=5, nouns="heuristic")
        with pytest.raises(SourceMismatch, match="replaced"):
            pickle.loads(packed)  # noqa: S301

    def test_an_open_catalog_outlives_its_folder(self, copied: Path) -> None:
        catalog = Catalog.open(copied)
        shutil.rmtree(copied)
        assert catalog.product(3).title == "Silk Scarf"
        assert catalog.top("scarf", 1) == [3]

    def test_threads_read_side_by_side(self, shop_catalog: Catalog) -> None:
        expected = [shop_catalog.product(row) for row in range(len(shop_catalog))]
        fresh = Catalog.open(shop_catalog.folder)
        wrong: list[int] = []

        def read(start: int) -> None:
            for step in range(len(expected)):
                row = (start + 7 * step) % len(expected)
                asin = expected[row].asin
                if fresh.product(row) != expected[row] or fresh.row(asin) != row:
                    wrong.append(row)

        threads = [threading.Thread(target=read, args=(101 * n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong

    def test_a_cache_is_shared_by_its_name(self, small_catalog: Catalog) -> None:
        catalog = Catalog.open(small_catalog.folder)
        first = catalog.kept("texts")
        assert catalog.kept("texts") is first
        assert catalog.kept(("texts", 2)) is not first


class TestNounsOf:
    def test_uses_the_catalogs_kind_of_tagger(self, small_catalog: Catalog) -> None:
        assert small_catalog.nouns_of("A Kettle that boils") == ("kettle", "boils")

    def test_agrees_with_what_was_compiled(self, shop_catalog: Catalog) -> None:
        product = shop_catalog.product(11)
        assert shop_catalog.nouns_of(product.title) == product.nouns


class TestDamage:
    def test_no_catalog_is_missing(self, tmp_path: Path) -> None:
        for folder in (tmp_path, tmp_path / "nothing"):
            with pytest.raises(SourceMissing, match="Expected a compiled catalog"):
                Catalog.open(folder)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("{", "Could not read"),
            ("[]", "does not"),
            ('{"format": "something"}', "does not"),
            ("[" * 100_000, "Could not read"),
        ],
    )
    def test_foreign_folders(self, copied: Path, content: str, message: str) -> None:
        (copied / "meta.json").write_text(content)
        with pytest.raises(SourceError, match=message):
            Catalog.open(copied)

    def test_other_versions(self, copied: Path) -> None:
        meta = json.loads((copied / "meta.json").read_text())
        (copied / "meta.json").write_text(json.dumps(meta | {"version": 99}))
        with pytest.raises(SourceError, match="got version 99: compile it again"):
            Catalog.open(copied)

    @pytest.mark.parametrize("key", ["name", "digest", "counts", "files", "index", "nouns"])
    def test_missing_metadata(self, copied: Path, key: str) -> None:
        meta = json.loads((copied / "meta.json").read_text())
        del meta[key]
        (copied / "meta.json").write_text(json.dumps(meta))
        with pytest.raises(SourceError, match="damaged"):
            Catalog.open(copied)

    @pytest.mark.parametrize("value", [None, -1, 4, 1e400, "x", [], {}])
    @pytest.mark.parametrize(
        "keys",
        [
            ("counts", "products"),
            ("files", "prices.npy"),
            *(("index", key) for key in ("format", "documents", "terms", "postings")),
        ],
    )
    def test_wrong_metadata(self, copied: Path, keys: tuple[str, str], value: object) -> None:
        meta = json.loads((copied / "meta.json").read_text())
        meta[keys[0]][keys[1]] = value
        (copied / "meta.json").write_text(json.dumps(meta))
        with pytest.raises(SourceError):
            Catalog.open(copied)

    def test_damaged_headers(self, copied: Path) -> None:
        path = copied / "prices.npy"
        path.write_bytes(path.read_bytes().replace(b"}", b"(", 1))
        with pytest.raises(SourceError, match="Could not open"):
            Catalog.open(copied)

    def test_every_missing_or_truncated_file_is_noticed(self, copied: Path) -> None:
        files = [path for path in copied.rglob("*") if path.is_file() and path.name != "meta.json"]
        assert len(files) > 20
        for path in files:
            whole = path.read_bytes()
            path.write_bytes(whole[:-1])
            with pytest.raises(SourceError, match="damaged"):
                Catalog.open(copied)
            path.unlink()
            with pytest.raises(SourceError, match="lacks a file"):
                Catalog.open(copied)
            path.write_bytes(whole)
        assert len(Catalog.open(copied)) == 5

    def test_overwritten_records(self, copied: Path) -> None:
        for name in ("records.bin", "cards.bin"):
            size = (copied / name).stat().st_size
            (copied / name).write_bytes(b"\xff" * size)
        catalog = Catalog.open(copied)
        for ask in (catalog.product, catalog.card):
            with pytest.raises(SourceError, match="damaged"):
                ask(0)

    @given(st.binary(max_size=60))
    def test_no_bytes_break_the_reader(self, data: bytes) -> None:
        for read in (_record.entry_of, _record.card_of):
            with pytest.raises(SourceError):
                read(data)


def test_records_come_back_as_they_were_written(shop_catalog: Catalog) -> None:
    for row in range(0, 1000, 40):
        product, wishes = shop_catalog.entry(row)
        assert isinstance(wishes, Wishes)
        assert _record.entry_of(_record.encode(product, wishes)) == (product, wishes)
