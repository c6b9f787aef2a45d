import re

import pytest

from agentenvs import sources
from agentenvs.errors import UnknownName


def test_bfcl_is_pinned() -> None:
    entry = sources.source("bfcl")
    assert (entry.version, entry.size) == ("2026.3.23", 1_925_664)
    assert entry.sha256.startswith("3bb6dfa5f0c68ad4")
    assert entry.digest == "9f44d8be5c02fb5cbee4831b544e05d51d69665e0767bd692e4d3e1e2f7ac8a3"
    assert len(entry.files) == 27
    assert entry.variable == "AGENTENVS_BFCL"


@pytest.mark.parametrize("name", sources.names())
def test_every_entry_is_well_formed(name: str) -> None:
    entry = sources.source(name)
    assert entry.name == name
    for form in entry.forms:
        assert (form.name, form.variable) == (name, entry.variable)
        assert len(form.by_path) == len(form.files)
        assert not form.plain or form.size == sum(file.size for file in form.files)
    assert len({form.version for form in entry.forms}) == len(entry.forms)
    for file in (file for form in entry.forms for file in form.files):
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.size > 0
        assert not file.path.startswith("/")
        assert ".." not in file.path.split("/")


def test_webshop_is_pinned_as_two_sources_and_a_variant() -> None:
    small, full = sources.members("webshop")
    assert (small.name, small.variable) == ("webshop-1k", "AGENTENVS_WEBSHOP_1K")
    assert (full.name, full.variable) == ("webshop-full", "AGENTENVS_WEBSHOP_FULL")
    assert (small.size, full.size) == (9_751_660, 5_671_153_047)
    assert small.by_path["items_human_ins.json"] is full.by_path["items_human_ins.json"]
    (variant,) = small.variants
    assert variant.way is None
    assert variant.digest != small.digest
    assert not full.variants


def test_an_unknown_name_gets_a_suggestion() -> None:
    for ask in (sources.open_source, sources.pull, sources.verify):
        with pytest.raises(UnknownName, match="Did you mean 'bfcl'"):
            ask("bfcll")


def test_public_names_are_complete() -> None:
    assert sorted(sources.__all__) == sources.__all__
    assert all(hasattr(sources, name) for name in sources.__all__)
