from __future__ import annotations

import subprocess
import sys

import pytest

from agentenvs import sources
from agentenvs.bfcl.simulators import DOC_FILES, MODULES, simulator
from agentenvs.errors import UnknownName


def test_unknown_class_is_named(official_bfcl: None) -> None:
    with pytest.raises(UnknownName, match="MathAPI"):
        simulator(sources.open_source("bfcl"), "MathApi")


@pytest.mark.parametrize("name", MODULES)
def test_classes_load_under_a_private_name(official_bfcl: None, name: str) -> None:
    found = simulator(sources.open_source("bfcl"), name)
    assert found.__name__ == name
    assert found.__module__.startswith("_agentenvs_bfcl_")


def test_loading_twice_gives_the_same_class(official_bfcl: None) -> None:
    tree = sources.open_source("bfcl")
    assert simulator(tree, "TicketAPI") is simulator(tree, "TicketAPI")


def test_docs_and_methods_match_one_to_one(official_bfcl: None) -> None:
    from agentenvs.bfcl.toolbox import official_class

    tree = sources.open_source("bfcl")
    seen: list[str] = []
    for name in DOC_FILES:
        tool_class = official_class(tree, name)
        assert sorted(tool_class.functions) == sorted(doc["name"] for doc in tool_class.docs)
        seen += tool_class.functions
    assert len(seen) == len(set(seen)) == 128


def test_the_official_package_is_never_imported(official_bfcl: None) -> None:
    code = (
        "import sys\n"
        "from agentenvs import bfcl\n"
        "assert bfcl.verdict('multi_turn_base_0', bfcl.gold('multi_turn_base_0')).valid\n"
        "print([name for name in sys.modules if name.startswith('bfcl_eval')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
