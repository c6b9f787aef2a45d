from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.errors import BadArgument, SourceError, SourceMissing
from agentenvs.webshop import _stream
from agentenvs.webshop._side import SideFile, attributes_of, human_wishes
from agentenvs.webshop._stream import array, members
from agentenvs.webshop.official import (
    NO_ATTRIBUTES,
    OfficialFiles,
    Rejected,
    clean,
    read_products,
)
from agentenvs.webshop.records import Product


def official(**changes: Any) -> dict[str, Any]:
    """Return a record in the official format."""
    record = {
        "name": "Tin Kettle",
        "full_description": "Holds water.",
        "pricing": "$12.90",
        "images": ["https://example.org/a.jpg", "https://example.org/b.jpg"],
        "product_category": "Home \u203a Kitchen",
        "average_rating": 4.5,
        "small_description": ["Light ", "Loud "],
        "customization_options": "",
        "asin": "B000000001",
        "category": "garden",
        "query": " Tea Kettles ",
        "page": 3,
    }
    return record | changes


def cleaned(**changes: Any) -> Product:
    product = clean(official(**changes))
    assert isinstance(product, Product)
    return product


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


class TestClean:
    def test_keeps_what_the_pages_show(self) -> None:
        product = cleaned()
        assert product.asin == "B000000001"
        assert product.title == "Tin Kettle"
        assert product.description == "Holds water."
        assert product.bullets == ("Light ", "Loud ")
        assert product.attributes == NO_ATTRIBUTES
        assert product.query == "tea kettles"
        assert product.image == "https://example.org/a.jpg"

    @pytest.mark.parametrize(
        ("pricing", "prices", "tag"),
        [
            ("", (100.0,), "$100.0"),
            (None, (100.0,), "$100.0"),
            ("$12.90", (12.9,), "$12.9"),
            ("$1,299.00", (1299.0,), "$1299.0"),
            ("from $5 - $7.50", (5.0, 7.5), "$5.0 to $7.5"),
            ("$9.99$1$2", (9.99, 1.0), "$9.99 to $1.0"),
        ],
    )
    def test_reads_prices(self, pricing: str, prices: tuple[float, ...], tag: str) -> None:
        product = cleaned(pricing=pricing)
        assert (product.prices, product.price_tag) == (prices, tag)

    def test_a_missing_price_reads_as_an_empty_one(self) -> None:
        record = official()
        del record["pricing"]
        product = clean(record)
        assert isinstance(product, Product)
        assert product.prices == (100.0,)

    def test_a_single_bullet_may_be_a_bare_text(self) -> None:
        assert cleaned(small_description="One").bullets == ("One",)

    def test_rewrites_options(self) -> None:
        groups = {
            "Color": [{"value": " Red/White "}, {"value": "ROSE"}, {"value": "rose"}],
            "Size": None,
            "Fit Type": [],
            "COLOR": [{"value": "Last"}],
        }
        assert cleaned(customization_options=groups).options == {"color": ("last",), "fit type": ()}
        del groups["COLOR"]
        options = cleaned(customization_options=groups).options
        assert options["color"] == ("red | white", "rose", "rose")

    @pytest.mark.parametrize("groups", ["", None, {}])
    def test_there_may_be_no_options(self, groups: Any) -> None:
        assert cleaned(customization_options=groups).options == {}

    def test_lone_surrogates_are_replaced(self) -> None:
        assert cleaned(name="a \ud83d b").title == "a \ufffd b"
        assert cleaned(name="a \U0001f600").title == "a \U0001f600"

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"asin": None}, "no asin"),
            ({"asin": ""}, "no asin"),
            ({"asin": 7}, "no asin"),
            ({"asin": "nan"}, "asin is 'nan' or longer than ten characters"),
            ({"asin": "B0000000012"}, "asin is 'nan' or longer than ten characters"),
            ({"asin": "B0\n"}, "asin with unprintable characters"),
            ({"name": ["x"]}, "name is no text"),
            ({"full_description": 3}, "full_description is no text"),
            ({"small_description": {}}, "small_description is no list"),
            ({"small_description": ["a", 1]}, "small_description is no text"),
            ({"pricing": 12.5}, "pricing is no text"),
            ({"pricing": "12.50"}, "pricing without $"),
            ({"pricing": "$"}, "pricing without a number"),
            ({"pricing": "$1.2.3"}, "pricing without a number"),
            ({"pricing": "$" + "9" * 400}, "pricing without a number"),
            ({"images": []}, "no image"),
            ({"images": None}, "no image"),
            ({"images": [None]}, "image is no text"),
            ({"customization_options": ["x"]}, "customization_options is no object"),
            ({"customization_options": {"a": "x"}}, "option values are no list"),
            ({"customization_options": {"a": ["x"]}}, "option value is no object"),
            ({"customization_options": {"a": [{}]}}, "option value is no text"),
            ({"query": None}, "no query"),
            ({"query": 1}, "query is no text"),
            ({"category": []}, "category is no text"),
        ],
    )
    def test_says_why_a_record_makes_no_product(self, changes: Any, reason: str) -> None:
        assert clean(official(**changes)) == reason

    @pytest.mark.parametrize("key", ["name", "full_description", "category", "product_category"])
    def test_texts_may_be_null_but_not_missing(self, key: str) -> None:
        record = official(**{key: None})
        assert isinstance(clean(record), Product)
        del record[key]
        assert clean(record) == f"no {key}"

    @pytest.mark.parametrize("record", [None, 3, "x", [], [official()]])
    def test_refuses_what_is_no_object(self, record: Any) -> None:
        assert clean(record) == "record is no object"

    @given(
        st.dictionaries(
            st.sampled_from(sorted(official())),
            st.recursive(
                st.none() | st.booleans() | st.floats() | st.text(max_size=6),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["value", "a"]), inner, max_size=2)
                ),
                max_leaves=6,
            ),
            max_size=4,
        )
    )
    def test_never_raises(self, changes: dict[str, Any]) -> None:
        assert isinstance(clean(official(**changes)), Product | str)


class TestReadProducts:
    def files(self, folder: Path, records: list[Any]) -> OfficialFiles:
        return OfficialFiles(write(folder / "items_shuffle.json", records))

    def test_keeps_the_order_and_drops_repeats(self, tmp_path: Path) -> None:
        records = [
            official(asin="B2"),
            official(asin="nan"),
            official(asin="B1"),
            official(asin="B2", name="again"),
            "junk",
        ]
        found = list(read_products(self.files(tmp_path, records)))
        assert [item.asin for item in found if isinstance(item, Product)] == ["B2", "B1"]
        assert [item for item in found if isinstance(item, Rejected)] == [
            Rejected("asin is 'nan' or longer than ten characters", "nan"),
            Rejected("asin seen before", "B2"),
            Rejected("record is no object", "#4"),
        ]

    def test_a_rejected_record_does_not_take_the_asin(self, tmp_path: Path) -> None:
        records = [official(images=[]), official()]
        found = list(read_products(self.files(tmp_path, records)))
        assert isinstance(found[1], Product)

    def test_the_limit_counts_before_anything_is_dropped(self, tmp_path: Path) -> None:
        files = self.files(tmp_path, [official(asin="nan"), official(), official(asin="B2")])
        assert len(list(read_products(files, limit=2))) == 2
        with pytest.raises(BadArgument, match="limit"):
            list(read_products(files, limit=0))

    def test_the_official_sample_is_taken_whole(self, webshop_data: Path) -> None:
        files = OfficialFiles.find(webshop_data / "items_shuffle_1000.json")
        found = list(read_products(files))
        assert len(found) == 1000
        assert not any(isinstance(item, Rejected) for item in found)


class TestFind:
    def test_takes_the_files_of_one_kind(self, tmp_path: Path) -> None:
        for kind in ("", "_1000"):
            write(tmp_path / f"items_shuffle{kind}.json", [])
            write(tmp_path / f"items_ins_v2{kind}.json", {})
        write(tmp_path / "items_human_ins.json", {})
        files = OfficialFiles.find(tmp_path / "items_shuffle_1000.json")
        assert files.attributes == tmp_path / "items_ins_v2_1000.json"
        assert files.human == tmp_path / "items_human_ins.json"
        assert files.nouns is None
        assert list(files.named()) == ["products", "attributes", "human"]
        with pytest.raises(BadArgument, match=r"items_shuffle\.json, items_shuffle_1000\.json"):
            OfficialFiles.find(tmp_path)

    def test_says_what_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(SourceMissing, match="found none"):
            OfficialFiles.find(tmp_path)
        with pytest.raises(SourceMissing, match="no file or folder"):
            OfficialFiles.find(tmp_path / "nothing")
        write(tmp_path / "items_shuffle.json", [])
        with pytest.raises(SourceMissing, match=r"items_ins_v2\.json"):
            OfficialFiles.find(tmp_path)


class TestStream:
    @pytest.fixture(autouse=True)
    def small_chunks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_stream, "_CHUNK", 7)

    @given(
        value=st.lists(
            st.recursive(
                st.none() | st.integers() | st.floats(allow_nan=False) | st.text(),
                lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
                max_leaves=8,
            )
        ),
        indent=st.sampled_from([None, 1]),
        ascii_only=st.booleans(),
    )
    def test_reads_what_json_reads(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        value: list[Any],
        indent: int | None,
        ascii_only: bool,
    ) -> None:
        path = tmp_path_factory.mktemp("stream") / "a.json"
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
        path.write_bytes(text.encode("utf-8", "replace"))
        expected = json.loads(path.read_bytes())
        assert list(array(path)) == expected
        path.write_bytes(b'{"k": %s, "k": 1}' % path.read_bytes())
        assert list(members(path)) == [("k", expected), ("k", 1)]

    def test_takes_what_only_python_writes(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.json", "\ufeff[NaN, Infinity, 1" + "0" * 60 + ', "\\ud83d"]')
        nan, infinite, large, lone = array(path)
        assert nan != nan
        assert infinite == float("inf")
        assert large == 10**60
        assert lone == "\ud83d"

    def test_numbers_may_be_cut_anywhere(self, tmp_path: Path) -> None:
        for pad in range(8):
            path = write(tmp_path / "a.json", "[" + " " * pad + "0.125, -1.5e+3, 12345678901234]")
            assert list(array(path)) == [0.125, -1500.0, 12345678901234]
        with pytest.raises(SourceError, match="Expected a comma .*, got 'x', at byte 2"):
            list(array(write(tmp_path / "a.json", "[1x" + "1, " * 99)))

    def test_tells_the_bytes_read(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.json", list(range(20)))
        told: list[int] = []
        assert list(array(path, told.append)) == list(range(20))
        assert told == sorted(told)
        assert told[-1] == path.stat().st_size

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('[{"a": 1}, {"b": ', "Truncated or malformed JSON .* at byte 17"),
            ('[{"a": 1}, {"b": x}, 1]', "malformed JSON .* at byte 17"),
            ('["ä", x]', "malformed JSON .* at byte 7"),
            (
                "[1, 2",
                "Expected a comma or the end of the array, got the end of the file, at byte 5",
            ),
            ("[1 2]", "Expected a comma .*, got '2', at byte 3"),
            ("[1,]", "malformed JSON .* at byte 3"),
            ("[1] []", r"Expected the end of the file, got '\[', at byte 4"),
            ('{"a": 1}', "Expected an array, got '{', at byte 0"),
            ("", "Expected an array, got the end of the file"),
            ("[" * 100_000, "cannot be read"),
        ],
    )
    def test_says_where_a_file_is_broken(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(SourceError, match=message):
            list(array(write(tmp_path / "a.json", text)))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[]", "Expected an object"),
            ('{"a" 1}', "Expected a colon after the key, got '1'"),
            ("{1: 1}", "Expected a key, got 1"),
            ('{"a": 1,}', "malformed JSON"),
            ('{"a": 1', "Expected a comma or the end of the object"),
        ],
    )
    def test_says_where_an_object_is_broken(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(SourceError, match=message):
            list(members(write(tmp_path / "a.json", text)))

    def test_an_endless_entry_is_given_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_stream, "MAX_ENTRY", 100)
        with pytest.raises(SourceError, match="too long"):
            list(array(write(tmp_path / "a.json", '["' + "x" * 10_000)))

    def test_other_encodings_are_errors(self, tmp_path: Path) -> None:
        path = tmp_path / "a.json"
        path.write_bytes('["ä"]'.encode("latin-1"))
        with pytest.raises(SourceError, match="not UTF-8"):
            list(array(path))

    def test_no_file_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(SourceMissing):
            list(array(tmp_path / "a.json"))


class TestSide:
    def test_the_last_of_equal_keys_counts(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.json", '{"B1": [1], "B2": {"x": "\\ud83d"}, "B1": [2]}')
        with SideFile(path, tmp_path / "scratch") as side:
            assert len(side) == 2
            assert side.get("B1") == [2]
            assert side.get("B2") == {"x": "\ud83d"}
            assert side.get("B3") is None

    def test_no_file_reads_as_an_empty_one(self, tmp_path: Path) -> None:
        with SideFile(None, tmp_path / "scratch") as side:
            assert side.get("B1") is None

    @pytest.mark.parametrize(
        ("record", "attributes", "wish", "complaint"),
        [
            (None, NO_ATTRIBUTES, None, ["no attribute record"]),
            ([], NO_ATTRIBUTES, None, ["attribute record malformed"]),
            ({}, NO_ATTRIBUTES, None, ["attribute record malformed"]),
            ({"attributes": ["a", 1]}, NO_ATTRIBUTES, None, ["attribute record malformed"]),
            ({"attributes": []}, (), None, []),
            ({"attributes": ["a"], "instruction": None}, ("a",), None, []),
            ({"attributes": ["a"], "instruction": "x"}, ("a",), None, ["instruction malformed"]),
            (
                {"attributes": ["a"], "instruction": "x", "instruction_attributes": []},
                ("a",),
                None,
                ["instruction malformed"],
            ),
            (
                {"attributes": ["a", "b"], "instruction": "x", "instruction_attributes": ["b"]},
                ("a", "b"),
                ("x", ("b",)),
                [],
            ),
        ],
    )
    def test_reads_attribute_records(
        self, record: Any, attributes: Any, wish: Any, complaint: list[str]
    ) -> None:
        complaints: list[str] = []
        assert attributes_of(record, complaints.append) == (attributes, wish)
        assert complaints == complaint

    def test_reads_human_instructions(self) -> None:
        good = {"instruction": "x.", "instruction_attributes": ["a"], "instruction_options": []}
        complaints: list[str] = []
        found = human_wishes(
            [good, good | {"instruction_attributes": []}, good | {"instruction": 1}, 7],
            complaints.append,
        )
        assert found == (("x.", ("a",), ()),)
        assert complaints == [
            "human instruction without attributes",
            "human instruction malformed",
            "human instruction malformed",
        ]
        assert human_wishes({}, complaints.append) == ()
        assert human_wishes(None, complaints.append) == ()
        assert len(complaints) == 4
