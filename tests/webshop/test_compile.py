from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentenvs.errors import BadArgument, SourceError, SourceMissing
from agentenvs.webshop import _build
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.compile import compile_catalog
from agentenvs.webshop.official import OfficialFiles


def compiled(src: Path, dst: Path, **options: Any) -> Catalog:
    return Catalog.open(compile_catalog(src, dst, **{"nouns": "heuristic", **options}))


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class TestMeta:
    def test_says_where_it_comes_from(self, small_catalog: Catalog) -> None:
        meta = small_catalog.meta
        assert meta["name"] == "small"
        assert meta["seed"] == 0
        assert meta["nouns"] == {"kind": "heuristic", "tagger": "heuristic 1"}
        assert meta["sources"].keys() == {"products", "attributes", "human"}
        assert meta["sources"]["products"]["file"] == "items_shuffle.json"
        assert len(meta["sources"]["products"]["sha256"]) == 64

    def test_counts(self, small_catalog: Catalog) -> None:
        assert small_catalog.meta["counts"] == {
            "records": 8,
            "products": 5,
            "ranged": 1,
            "synthetic_goals": 8,
            "synthetic_products": 3,
            "human_goals": 3,
        }

    def test_says_what_was_left_out_and_why(self, small_catalog: Catalog) -> None:
        assert small_catalog.meta["rejected"] == {
            "asin is 'nan' or longer than ten characters": {"count": 1, "asins": ["nan"]},
            "asin seen before": {"count": 1, "asins": ["B000000005"]},
            "no image": {"count": 1, "asins": ["B000000003"]},
        }
        assert small_catalog.meta["unusable"] == {
            "human instruction without attributes": {"count": 1, "asins": ["B000000005"]},
            "no attribute record": {"count": 1, "asins": ["B000000004"]},
        }

    def test_only_the_first_few_are_named(self, small_shop: Path, tmp_path: Path) -> None:
        src = shutil.copytree(small_shop, tmp_path / "src")
        products = json.loads((src / "items_shuffle.json").read_text())
        (src / "items_shuffle.json").write_text(json.dumps(products + ["junk"] * 50))
        left_out = compiled(src, tmp_path / "dst").meta["rejected"]["record is no object"]
        assert left_out == {"count": 50, "asins": ["#8", "#9", "#10", "#11", "#12"]}


class TestFolder:
    def test_the_same_input_gives_the_same_bytes(self, small_shop: Path, tmp_path: Path) -> None:
        first, second = (
            tree(compile_catalog(small_shop, tmp_path / name, name="x", nouns="heuristic"))
            for name in "ab"
        )
        assert first == second

    def test_one_that_holds_the_catalog_is_left_alone(
        self, small_shop: Path, tmp_path: Path
    ) -> None:
        dst = tmp_path / "dst"
        first = compiled(small_shop, dst)
        (dst / "meta.json").touch()
        before = (dst / "meta.json").stat()
        assert compiled(small_shop, dst).digest == first.digest
        assert (dst / "meta.json").stat() == before

    @pytest.mark.parametrize("change", [{"seed": 1}, {"limit": 2}])
    def test_other_settings_replace_it(
        self, small_shop: Path, tmp_path: Path, change: dict[str, Any]
    ) -> None:
        dst = tmp_path / "dst"
        first = compiled(small_shop, dst)
        second = compiled(small_shop, dst, **change)
        assert second.digest != first.digest
        assert [path.name for path in tmp_path.iterdir()] == ["dst"]

    def test_another_name_replaces_it_under_the_same_digest(
        self, small_shop: Path, tmp_path: Path
    ) -> None:
        first = compiled(small_shop, tmp_path / "dst", name="one")
        second = compiled(small_shop, tmp_path / "dst", name="two")
        assert (first.name, second.name) == ("one", "two")
        assert first.digest == second.digest

    def test_a_damaged_catalog_is_replaced(self, small_shop: Path, tmp_path: Path) -> None:
        compiled(small_shop, tmp_path / "dst")
        (tmp_path / "dst" / "meta.json").write_text("{")
        assert len(compiled(small_shop, tmp_path / "dst")) == 5

    def test_a_catalog_with_a_missing_file_is_replaced(
        self, small_shop: Path, tmp_path: Path
    ) -> None:
        compiled(small_shop, tmp_path / "dst")
        (tmp_path / "dst" / "records.bin").unlink()
        assert len(compiled(small_shop, tmp_path / "dst")) == 5

    def test_other_folders_are_left_alone(self, small_shop: Path, tmp_path: Path) -> None:
        (tmp_path / "letters").mkdir()
        (tmp_path / "letters" / "to-mother.txt").write_text("Dear")
        with pytest.raises(BadArgument, match="left alone"):
            compile_catalog(small_shop, tmp_path / "letters", nouns="heuristic")
        with pytest.raises(BadArgument, match="got a file"):
            compile_catalog(small_shop, tmp_path / "letters" / "to-mother.txt", nouns="heuristic")
        assert (tmp_path / "letters" / "to-mother.txt").read_text() == "Dear"

    def test_nothing_is_left_of_a_failure(self, small_shop: Path, tmp_path: Path) -> None:
        src = shutil.copytree(small_shop, tmp_path / "src")
        text = (src / "items_shuffle.json").read_text()
        (src / "items_shuffle.json").write_text(text[: len(text) // 2])
        with pytest.raises(SourceError, match=r"items_shuffle\.json: Truncated .* at byte \d+"):
            compile_catalog(src, tmp_path / "out" / "dst", nouns="heuristic")
        assert not list((tmp_path / "out").iterdir())

    def test_a_catalog_that_cannot_be_replaced_stays(
        self, small_shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = compiled(small_shop, tmp_path / "dst")
        replace = os.replace

        def refused(old: Path, new: Path) -> None:
            if Path(old).name == "catalog":
                raise PermissionError("in use")
            replace(old, new)

        monkeypatch.setattr(os, "replace", refused)
        with pytest.raises(SourceError, match="in use"):
            compiled(small_shop, tmp_path / "dst", seed=5)
        assert Catalog.open(tmp_path / "dst").digest == first.digest
        assert [path.name for path in tmp_path.iterdir()] == ["dst"]

    def test_a_full_disk_is_an_error_that_names_the_folder(
        self, small_shop: Path, tmp_path: Path
    ) -> None:
        resource = pytest.importorskip("resource", reason="files have no limit here")
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        for size in (0, 100, 600, 2000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
            try:
                with pytest.raises(SourceError, match=r"Could not write .*made"):
                    compiled(small_shop, tmp_path / "made")
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert list(tmp_path.iterdir()) == []

    def test_parents_are_made(self, small_shop: Path, tmp_path: Path) -> None:
        assert len(compiled(small_shop, tmp_path / "a" / "b" / "c")) == 5


class TestInput:
    def test_the_limit_slices_before_cleaning(self, small_shop: Path, tmp_path: Path) -> None:
        catalog = compiled(small_shop, tmp_path / "dst", limit=3)
        assert catalog.meta["counts"]["records"] == 3
        assert [catalog.asin(row) for row in range(len(catalog))] == ["B000000009", "B000000001"]
        assert len(catalog.goals("human")) == 2

    def test_the_seed_moves_prices(self, small_shop: Path, tmp_path: Path) -> None:
        one, two = (compiled(small_shop, tmp_path / str(seed), seed=seed) for seed in (0, 1))
        assert one.price(1) != two.price(1)
        assert one.price(0) == two.price(0)

    def test_files_can_be_named_one_by_one(self, small_shop: Path, tmp_path: Path) -> None:
        files = OfficialFiles(small_shop / "items_shuffle.json")
        catalog = Catalog.open(compile_catalog(files, tmp_path / "dst", nouns="heuristic"))
        assert catalog.meta["unusable"]["no attribute record"]["count"] == 5
        assert len(catalog.goals("synthetic")) == len(catalog.goals("human")) == 0

    def test_given_nouns_are_taken_and_completed(self, small_shop: Path, tmp_path: Path) -> None:
        src = shutil.copytree(small_shop, tmp_path / "src")
        (src / "nouns.json").write_text(json.dumps({"B000000001": ["given"]}))
        catalog = compiled(src, tmp_path / "dst", nouns="auto")
        assert catalog.meta["nouns"]["kind"] == "given"
        assert catalog.product(1).nouns == ("given",)
        assert catalog.product(0).nouns == ("red", "tin", "kettle")
        insisted = compiled(src, tmp_path / "other", nouns="heuristic")
        assert insisted.product(1).nouns == ("copper", "kettle")
        assert "nouns" not in insisted.meta["sources"]

    def test_any_tagger_serves(self, small_shop: Path, tmp_path: Path) -> None:
        class Loud:
            name = "loud 2"

            def nouns(self, names: Iterable[str]) -> Iterator[tuple[str, ...]]:
                return iter([(name.upper(),) for name in names])

        class Lazy(Loud):
            def nouns(self, names: Iterable[str]) -> Iterator[tuple[str, ...]]:
                return iter(())

        catalog = compiled(small_shop, tmp_path / "dst", nouns=Loud())
        assert catalog.product(1).nouns == ("COPPER KETTLE",)
        assert catalog.meta["nouns"] == {"kind": "loud", "tagger": "loud 2"}
        with pytest.raises(BadArgument, match="nouns for 5 names, got them for 0"):
            compiled(small_shop, tmp_path / "other", nouns=Lazy())

    def test_a_product_of_too_many_combinations_has_no_goals(
        self, small_shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_build, "MAX_COMBINATIONS", 5)
        catalog = compiled(small_shop, tmp_path / "dst")
        assert len(catalog.goals("synthetic")) == 2
        assert catalog.meta["unusable"]["more than 5 option combinations"]["count"] == 1

    def test_a_file_without_products_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "items_ins_v2.json").write_text("{}")
        for content, reason in (("[]", "it is empty"), ("[1]", "record is no object")):
            (tmp_path / "items_shuffle.json").write_text(content)
            with pytest.raises(SourceError, match=f"no product in .*{reason}"):
                compile_catalog(tmp_path, tmp_path / "dst", nouns="heuristic")

    def test_missing_files_are_named(self, tmp_path: Path) -> None:
        files = OfficialFiles(tmp_path / "items_shuffle.json")
        with pytest.raises(SourceMissing, match=r"items_shuffle\.json"):
            compile_catalog(files, tmp_path / "dst", nouns="heuristic")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"name": "Not/Good"}, "`name` to match"),
            ({"name": 3}, "`name` to match"),
            ({"seed": "0"}, "`seed` to be an int"),
            ({"seed": True}, "`seed` to be an int"),
            ({"limit": 0}, "`limit`"),
            ({"limit": 1.5}, "`limit`"),
            ({"nouns": "best"}, "`nouns`"),
            ({"nouns": 3}, "`nouns`"),
        ],
    )
    def test_wrong_arguments_are_errors(
        self, small_shop: Path, tmp_path: Path, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(BadArgument, match=message):
            compiled(small_shop, tmp_path / "dst", **options)
        assert not (tmp_path / "dst").exists()

    def test_progress_is_told_by_phase(self, small_shop: Path, tmp_path: Path) -> None:
        told: list[tuple[int, int, str]] = []
        compile_catalog(
            small_shop,
            tmp_path / "dst",
            nouns="heuristic",
            progress=lambda done, total, text: told.append((done, total, text)),
        )
        texts = list(dict.fromkeys(text for _, _, text in told))
        assert texts == [
            "checking items_shuffle.json",
            "checking items_ins_v2.json",
            "checking items_human_ins.json",
            "reading attributes",
            "reading human",
            "reading products",
            "drawing goals",
            "indexing products",
        ]
        assert all(0 <= done <= total for done, total, _ in told)
        assert ((small_shop / "items_shuffle.json").stat().st_size,) * 2 in [
            (done, total) for done, total, text in told if text == "reading products"
        ]


def test_default_name_is_that_of_the_folder_and_of_what_changes_the_tasks(
    small_shop: Path, tmp_path: Path
) -> None:
    own = re.sub(r"[^a-z0-9._-]+", "-", small_shop.name.lower())
    for more, name in (({}, own), ({"limit": 2, "seed": 7}, f"{own}-2-seed7")):
        folder = compile_catalog(small_shop, tmp_path / name, nouns="heuristic", **more)
        assert Catalog.open(folder).name == name
